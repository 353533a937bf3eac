// Summarises the decisions of a conversion as text (`tenon convert`).
#pragma once

#include <string>

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// Returns one line per decision. `verbose` adds single layers, passes and the final graph.
[[nodiscard]] std::string Summary(const Conversion& conversion, bool verbose);

}  // namespace tenon::converter
