#include "backends/cpu/kernels/cortex_m/simd/helium/routines.hpp"

#include "backends/cpu/kernels/cortex_m/simd/generic/routines.hpp"

namespace tenon::cpu::cortex_m::helium {

const ProductRoutines& Products() { return generic::Products(); }
const DepthwiseRoutines& Depthwise() { return generic::Depthwise(); }

}  // namespace tenon::cpu::cortex_m::helium
