// From sums to bytes for every rounding and any factor, one at a time: what instruction sets
// without a way of their own take, and those that have one for the rare forms that it does not
// cover.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m {

void FinishOneByOne(const Rescale& rescale, const SumBlock& block);

}  // namespace tenon::cpu::cortex_m
