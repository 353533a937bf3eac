// The record of a conversion's decisions, which may follow a plan's last section
// (docs/plan-format.md). Runtimes never look at it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "converter/status.hpp"
#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

/// Appends `json` to a plan file that has no record. Errors (kInternal): `file` is no plan.
[[nodiscard]] Status AppendDecisions(std::string_view json, std::vector<uint8_t>& file);

/// Returns the text of the record, empty where the plan has none. Errors (kInput): it is damaged.
[[nodiscard]] Result<std::string> ReadDecisions(const PlanView& plan);

}  // namespace tenon::converter
