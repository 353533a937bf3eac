// A cap on the instruction sets that kernels use, to measure and test as on a lesser processor.
#pragma once

#include <strings.h>

#include <cstdlib>

namespace tenon::cpu {

/// False if the environment variable TENON_MAX_CPU_ISA is "avx2", or "AVX2" as oneDNN has it:
/// kernels then use no AVX-512, though the processor has it. Read when kernels are first chosen,
/// and not again. oneDNN has a variable of its own, ONEDNN_MAX_CPU_ISA.
[[nodiscard]] inline bool MayUseAvx512() {
  const char* most = std::getenv("TENON_MAX_CPU_ISA");
  return most == nullptr || strcasecmp(most, "avx2") != 0;
}

}  // namespace tenon::cpu
