// The routines in plain C++, for any processor.
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::generic {

[[nodiscard]] const ProductRoutines& Products();
[[nodiscard]] const DepthwiseRoutines& Depthwise();
[[nodiscard]] const BinaryRoutines& Binary();
[[nodiscard]] const PoolRoutines& Pool();
[[nodiscard]] const LookupRoutines& Lookup();

}  // namespace tenon::cpu::cortex_m::generic
