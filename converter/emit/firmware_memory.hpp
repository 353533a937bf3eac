// What memory beside the arenas firmware gives for a plan, known before it runs.
#pragma once

#include <cstddef>

#include "runtime/format/plan_view.hpp"

namespace tenon::converter {

// Upper bounds for targets with 32-bit addresses, from the plan's counts; the sizes of the
// runtime's own structures that they stand for are held by tests/firmware/state_bytes.cpp.

/// Of tenon_plan_state_size and tenon_session_state_size together, both rounded up to 16.
[[nodiscard]] size_t FirmwareStateBytes(const PlanView& plan);

/// Of tenon_plan_scratch_size.
[[nodiscard]] size_t FirmwareScratchBytes(const PlanView& plan);

}  // namespace tenon::converter
