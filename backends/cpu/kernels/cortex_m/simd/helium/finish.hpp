#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

/// ProductRoutines::finish. `sums` of the last outputs may be read up to a multiple of four.
void Finish(const Rescale& rescale, const SumBlock& block);

}  // namespace tenon::cpu::cortex_m::helium
