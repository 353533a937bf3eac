// Chooses the instruction set on which the vector kernels run.
#pragma once

#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/base/span.hpp"

namespace tenon::cpu::f32 {

/// Returns every table of routines that this processor can execute, best first; never empty.
[[nodiscard]] Span<const Routines* const> UsableRoutines();

/// Returns the best of them, or what OverrideRoutines chose.
[[nodiscard]] const Routines& ChosenRoutines();

/// Makes ops that are loaded from now on use `routines`; null chooses the best again. It is for
/// tests and benchmarks, and no other thread may load meanwhile.
void OverrideRoutines(const Routines* routines);

}  // namespace tenon::cpu::f32
