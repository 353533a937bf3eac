// Hostile versions of real plans: a plan file as structs, and seeded changes of what they say.
#pragma once

#include <random>
#include <vector>

#include "tests/unit/runtime/format/plan_fixture.hpp"

namespace tenon::test {

/// What a plan file of one program says; `Write` gives a file that says the same.
[[nodiscard]] PlanSpec ReadSpec(const std::vector<uint8_t>& file);

/// One change of any number in the plan, towards values on which parsers and kernels stumble.
void MutateAnything(PlanSpec& spec, std::mt19937& random);

/// One change of where tensors lie or when ops run, which never changes what the ops compute: a
/// runtime that accepts the plan must give the same results.
void MutatePlacement(PlanSpec& spec, std::mt19937& random);

/// One change of segments, waits, stages or channels, or of what segments say they exchange: the
/// same holds.
void MutateSchedule(PlanSpec& spec, std::mt19937& random);

}  // namespace tenon::test
