// What was decided in a conversion, for people (`tenon convert`).
#pragma once

#include <string>

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// A line for each thing that was decided. `verbose`: single layers, passes and the final graph
/// too.
[[nodiscard]] std::string Summary(const Conversion& conversion, bool verbose);

}  // namespace tenon::converter
