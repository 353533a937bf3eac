// The routines with the DSP instructions of Armv7E-M (Cortex-M4 and M7).
#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::cortex_m::dsp {

[[nodiscard]] const ProductRoutines& Products();
[[nodiscard]] const DepthwiseRoutines& Depthwise();

}  // namespace tenon::cpu::cortex_m::dsp
