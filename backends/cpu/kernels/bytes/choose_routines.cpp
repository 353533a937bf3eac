#include "backends/cpu/kernels/bytes/choose_routines.hpp"

#include "backends/cpu/kernels/quantized/choose_instructions.hpp"

namespace tenon::cpu::bytes {

const ByteRoutines& ChosenRoutines() {
#if defined(__x86_64__)
  switch (quantized::ChosenInstructions()) {
    case quantized::Instructions::kAvx512Vnni:
      return quantized::HasVbmi() ? kAvx512VbmiByteRoutines : kAvx512ByteRoutines;
    case quantized::Instructions::kAvx2:
      return kAvx2ByteRoutines;
    default:
      break;
  }
#elif defined(__aarch64__)
  if (quantized::ChosenInstructions() != quantized::Instructions::kGeneric) {
    return kNeonByteRoutines;
  }
#endif
  return kGenericByteRoutines;
}

}  // namespace tenon::cpu::bytes
