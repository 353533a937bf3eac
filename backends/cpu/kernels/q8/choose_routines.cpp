#include "backends/cpu/kernels/q8/choose_routines.hpp"

#include "backends/cpu/kernels/q8/choose_instructions.hpp"

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

}  // namespace tenon::cpu::q8
