// Tests of the runtime as firmware has it, on the build machine.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/support/made_plan.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"

namespace tenon::test {

inline std::vector<uint8_t> PlanOf(std::string_view text) { return MakePlan(text).plan; }

}  // namespace tenon::test
