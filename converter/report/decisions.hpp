// Every decision of a conversion and every figure that it predicts, as JSON (`convert --json`).
#pragma once

#include <nlohmann/json.hpp>

#include "converter/driver/pipeline.hpp"

namespace tenon::converter {

/// "source", "search" or "random".
[[nodiscard]] const char* Name(OrderMode mode);

[[nodiscard]] nlohmann::ordered_json DecisionsJson(const Conversion& conversion);

}  // namespace tenon::converter
