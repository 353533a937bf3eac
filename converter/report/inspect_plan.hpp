// Describes the content of a plan file, as JSON (`tenon inspect --json`) and as text.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

/// Describes everything in the plan's first program. The contract defines the keys; more may be
/// added. Errors (kInput): the file cannot be opened as a plan.
[[nodiscard]] Result<nlohmann::ordered_json> InspectPlan(const std::vector<uint8_t>& file);

/// Formats the same for a terminal.
[[nodiscard]] std::string DescribeInspection(const nlohmann::ordered_json& inspection);

}  // namespace tenon::converter
