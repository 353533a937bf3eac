// Declares the routines in Helium, the vector extension of Armv8.1-M (Cortex-M55 and later).
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

[[nodiscard]] const GemmRoutines& Gemms();
[[nodiscard]] const DepthwiseRoutines& Depthwise();
[[nodiscard]] const BinaryRoutines& Binary();
[[nodiscard]] const PoolRoutines& Pool();
[[nodiscard]] const LookupRoutines& Lookup();

}  // namespace tenon::cpu::cortex_m::helium
