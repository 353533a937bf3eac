// What is inside a plan file, as JSON (`tenon inspect --json`) and for people.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

/// Everything in the plan's first program. Keys as in the contract; more may be added.
/// Errors (kInput): the file cannot be opened as a plan.
[[nodiscard]] Result<nlohmann::ordered_json> InspectPlan(const std::vector<uint8_t>& file);

/// The same for a terminal.
[[nodiscard]] std::string DescribeInspection(const nlohmann::ordered_json& inspection);

}  // namespace tenon::converter
