// Finds the tables of routines of an instruction set.
#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/choose_instructions.hpp"
#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {

const ByteRoutines& ChosenRoutines() {
#if defined(__x86_64__)
  switch (ChosenInstructions()) {
    case Instructions::kAvx512Vnni:
      return HasVbmi() ? kAvx512VbmiByteRoutines : kAvx512ByteRoutines;
    case Instructions::kAvx2:
      return kAvx2ByteRoutines;
    default:
      break;
  }
#elif defined(__aarch64__)
  if (ChosenInstructions() != Instructions::kGeneric) {
    return kNeonByteRoutines;
  }
#endif
  return kGenericByteRoutines;
}

const ByteRoutines& WideRoutines() {
#if defined(__x86_64__)
  // Every processor with AVX-512 has AVX2.
  if (ChosenInstructions() == Instructions::kAvx512Vnni) return kAvx2ByteRoutines;
#endif
  return ChosenRoutines();
}

const GemmRoutines& GemmRoutinesOf(Instructions instructions) {
#if defined(__x86_64__)
  if (instructions == Instructions::kAvx512Vnni) return kAvx512VnniGemmRoutines;
  if (instructions == Instructions::kAvx2) return kAvx2GemmRoutines;
#elif defined(__aarch64__)
  if (instructions == Instructions::kNeonI8mm) return kNeonI8mmGemmRoutines;
  if (instructions == Instructions::kNeonDot) return kNeonDotGemmRoutines;
  if (instructions == Instructions::kNeon) return kNeonGemmRoutines;
#endif
  static_cast<void>(instructions);
  return kGenericGemmRoutines;
}

}  // namespace tenon::cpu::q8
