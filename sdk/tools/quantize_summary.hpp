// What quantization came to, for people.
#pragma once

#include <string>

#include "converter/quantize/quantize_model.hpp"

namespace tenon::tool {

/// A few lines; with `verbose` one more for every op.
[[nodiscard]] std::string QuantizeSummary(const converter::QuantizationReport& report,
                                          bool verbose);

}  // namespace tenon::tool
