// Which instruction set the vector kernels run on.
#pragma once

#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu::f32 {

/// Every table of routines that this processor can execute, best first; never empty.
[[nodiscard]] Span<const Routines* const> UsableRoutines();

/// The best of them, or what OverrideRoutines chose.
[[nodiscard]] const Routines& ChosenRoutines();

/// Makes ops loaded from now on use `routines` (null: the best again). For tests and benchmarks;
/// not while another thread loads.
void OverrideRoutines(const Routines* routines);

}  // namespace tenon::cpu::f32
