// Every decision of a conversion and every figure that it predicts, as JSON (`convert --json`).
#pragma once

#include <nlohmann/json.hpp>

#include "converter/pipeline.hpp"

namespace tenon::converter {

[[nodiscard]] nlohmann::ordered_json DecisionsJson(const Conversion& conversion);

}  // namespace tenon::converter
