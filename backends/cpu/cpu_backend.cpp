#include "backends/cpu/cpu_backend.hpp"

#include <iterator>

#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "backends/cpu/kernels/define_kernels.hpp"
#include "backends/cpu/kernels/f32/kernels.hpp"
#include "backends/cpu/kernels/f32/packed_weights.hpp"
#include "backends/cpu/kernels/portable/portable_table.hpp"
#include "backends/cpu/kernels/q8/gemm_weights.hpp"
#include "backends/cpu/kernels/q8/kernels.hpp"
#include "backends/cpu/kernels/thread_pool.hpp"

namespace tenon::cpu {

#define TENON_KERNEL(...) TENON_DEFINE_KERNEL(__VA_ARGS__)
#include "backends/cpu/caps/q8.inc"
#include "backends/cpu/caps/q8_winograd.inc"
// (in the order of kernels.inc)
#include "backends/cpu/caps/f32.inc"
#undef TENON_KERNEL

// The others are defined where firmware and oneDNN's headers find them.
#define TENON_KERNEL(...) TENON_DECLARE_KERNEL(__VA_ARGS__)
extern "C" {
#include "backends/cpu/caps/kernels.inc"
}
#undef TENON_KERNEL

const Backend& CpuBackend() {
#define TENON_KERNEL(...) TENON_KERNEL_ADDRESS(__VA_ARGS__)
  static constexpr const KernelEntry* kKernels[] = {
#include "backends/cpu/caps/kernels.inc"
  };
#undef TENON_KERNEL
  static const Backend kBackend = {
      "cpu", {kKernels, std::size(kKernels)}, MakeThreadPool, FreeThreadPool};
  return kBackend;
}

const Backend& CpuPortableBackend() {
  static const Backend kBackend = {"cpu", PortableKernels(), nullptr, nullptr};
  return kBackend;
}

}  // namespace tenon::cpu
