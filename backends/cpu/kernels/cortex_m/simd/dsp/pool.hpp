#pragma once

#include "backends/cpu/kernels/cortex_m/routines.hpp"

namespace tenon::cpu::dsp {

[[nodiscard]] const cortex_m::PoolRoutines& Pool();

}  // namespace tenon::cpu::dsp
