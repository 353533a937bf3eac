// Declares the routines in plain C++, for any processor.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::generic {

[[nodiscard]] const GemmRoutines& Gemms();
[[nodiscard]] const DepthwiseRoutines& Depthwise();
[[nodiscard]] const BinaryRoutines& Binary();
[[nodiscard]] const PoolRoutines& Pool();
[[nodiscard]] const LookupRoutines& Lookup();

/// Is BinaryRoutines::add, one element at a time; vector loops use it for their last elements too.
void Add(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y, int8_t* z,
         ptrdiff_t count);

}  // namespace tenon::cpu::cortex_m::generic
