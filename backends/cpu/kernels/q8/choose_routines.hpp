// The routines of the chosen instruction set.
#pragma once

#include "backends/cpu/kernels/q8/byte_routines.hpp"

namespace tenon::cpu::q8 {

/// For ops that are loaded now.
[[nodiscard]] const ByteRoutines& ChosenRoutines();

}  // namespace tenon::cpu::q8
