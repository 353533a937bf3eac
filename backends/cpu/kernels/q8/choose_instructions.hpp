// Chooses the instruction set on which the quantized kernels run. Each family of kernels has a
// table of routines for each set.
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
  kNeonI8mm,    ///< with products of matrices of bytes, too
};
inline constexpr int kInstructionsCount = 6;

/// Returns every set that this processor can execute, best first; never empty.
[[nodiscard]] Span<const Instructions> UsableInstructions();

/// Returns the best of them, or what OverrideInstructions chose.
[[nodiscard]] Instructions ChosenInstructions();

/// Makes ops that are loaded from now on use `instructions`, one of the usable sets; null chooses
/// the best again. It is for tests and benchmarks, and no other thread may load meanwhile.
void OverrideInstructions(const Instructions* instructions);

[[nodiscard]] const char* InstructionsName(Instructions instructions);

/// Returns whether the processor has AVX-512 VBMI (byte permutations), which not every processor
/// with VNNI has.
[[nodiscard]] bool HasVbmi();

}  // namespace tenon::cpu::q8
