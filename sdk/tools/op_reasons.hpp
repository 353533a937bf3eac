// Why an op of a plan is what it is and where it is, in lines for people.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "sdk/tools/predicted_times.hpp"

namespace tenon::tool {

/// `plan` is what ReadPlanJson gives, `op` the number of an op of its first program,
/// `times` what PredictedTimes gives. Where the plan
/// records no decisions, the last line says so.
[[nodiscard]] std::vector<std::string> ReasonsOf(const nlohmann::ordered_json& plan, size_t op,
                                                 const std::vector<PredictedTime>& times);

}  // namespace tenon::tool
