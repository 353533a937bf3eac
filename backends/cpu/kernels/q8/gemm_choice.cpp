#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {

const ProductRoutines& ProductRoutinesOf(Instructions instructions) {
#if defined(__x86_64__)
  if (instructions == Instructions::kAvx512Vnni) return kAvx512VnniProductRoutines;
  if (instructions == Instructions::kAvx2) return kAvx2ProductRoutines;
#elif defined(__aarch64__)
  if (instructions == Instructions::kNeonDot) return kNeonDotProductRoutines;
  if (instructions == Instructions::kNeon) return kNeonProductRoutines;
#endif
  static_cast<void>(instructions);
  return kGenericProductRoutines;
}

}  // namespace tenon::cpu::q8
