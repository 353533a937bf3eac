// The header that goes with a plan in C: what a program has to know before it runs.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

/// What the plan's first byte must be aligned to, so that all its constants are.
[[nodiscard]] uint32_t PlanMemoryAlignment(const PlanView& plan);

/// The header's text from the include guard on, for a plan of one program. See c_source.hpp.
[[nodiscard]] std::string CHeaderText(const PlanView& plan, const std::string& identifier);

}  // namespace tenon::converter
