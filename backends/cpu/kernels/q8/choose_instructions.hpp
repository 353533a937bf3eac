// Which instruction set the quantized kernels run on. Each family of kernels has a table of
// routines for each of them.
#pragma once

#include <cstdint>

#include "runtime/base/span.hpp"

namespace tenon::cpu::q8 {

enum class Instructions : uint8_t {
  kGeneric,     ///< what every processor of the target has
  kAvx2,        ///< with FMA
  kAvx512Vnni,  ///< AVX-512 F, VL, DQ, BW and VNNI
  kNeon,        ///< of 64-bit Arm, which always has it
  kNeonDot,     ///< with dot products of bytes
};
inline constexpr int kInstructionsCount = 5;

/// Every set that this processor can execute, best first; never empty.
[[nodiscard]] Span<const Instructions> UsableInstructions();

/// The best of them, or what OverrideInstructions chose.
[[nodiscard]] Instructions ChosenInstructions();

/// Makes ops loaded from now on use `instructions` (null: the best again), one of the usable ones.
/// For tests and benchmarks; not while another thread loads.
void OverrideInstructions(const Instructions* instructions);

[[nodiscard]] const char* InstructionsName(Instructions instructions);

/// AVX-512 VBMI (byte permutations), which not every processor with VNNI has.
[[nodiscard]] bool HasVbmi();

}  // namespace tenon::cpu::q8
