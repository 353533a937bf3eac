// Finds kernels of the CPU by their ids, for tests and benchmarks: those of its backend, and
// oneDNN's where the program is linked with them.
#pragma once

#include <string_view>

#include "backends/cpu/cpu_backend.hpp"
#ifdef TENON_HAS_ONEDNN
#include "backends/cpu/kernels/onednn/onednn_table.hpp"
#endif

namespace tenon::cpu::testing {

/// Null if this build has no such kernel.
[[nodiscard]] inline const KernelEntry* KernelNamed(std::string_view id) {
  for (const KernelEntry& kernel : CpuBackend().kernels) {
    if (id == kernel.id) return &kernel;
  }
#ifdef TENON_HAS_ONEDNN
  for (const KernelEntry& kernel : OneDnnKernels()) {
    if (id == kernel.id) return &kernel;
  }
#endif
  return nullptr;
}

}  // namespace tenon::cpu::testing
