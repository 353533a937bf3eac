// The routines of the instruction set that kernels/quantized chose.
#pragma once

#include "backends/cpu/kernels/bytes/byte_routines.hpp"

namespace tenon::cpu::bytes {

/// For ops that are loaded now.
[[nodiscard]] const ByteRoutines& ChosenRoutines();

}  // namespace tenon::cpu::bytes
