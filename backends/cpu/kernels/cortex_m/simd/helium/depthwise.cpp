#include "backends/cpu/kernels/cortex_m/simd/generic/routines.hpp"
#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

const DepthwiseRoutines& Depthwise() { return generic::Depthwise(); }

}  // namespace tenon::cpu::cortex_m::helium
