#include "backends/cpu/caps/cpu_caps.hpp"

#include <cstring>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/caps/f32_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "backends/cpu/caps/onednn_caps.hpp"
#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/caps/q8_caps.hpp"
#include "backends/cpu/caps/q8_gemm_caps.hpp"
#include "backends/cpu/caps/q8_winograd_caps.hpp"
#include "runtime/ops/constant_caps.hpp"
#include "runtime/ops/kernel_name.hpp"

namespace tenon::cpu {
namespace {

#define TENON_KERNEL(...) TENON_KERNEL_CAPS("cpu", __VA_ARGS__),
constexpr KernelCaps kKernels[] = {
#include "backends/cpu/caps/kernels.inc"
};

/// Our own fast kernels, for every processor of an operating system.
constexpr KernelCaps kVector[] = {
#include "backends/cpu/caps/q8.inc"
// (in the order of kernels.inc)
#include "backends/cpu/caps/f32.inc"
};

constexpr KernelCaps kOneDnn[] = {
#include "backends/cpu/caps/onednn.inc"
};
#undef TENON_KERNEL

}  // namespace

Span<const KernelCaps> Kernels() { return kKernels; }

Span<const KernelCaps> OneDnnCaps() { return kOneDnn; }

Span<const KernelCaps> KernelsOfSet(const char* set) {
  return std::strcmp(set, "vector") == 0 ? kVector : CortexMCaps(set);
}

const KernelCaps* CapsNamed(const char* name) {
  for (const Span<const KernelCaps> kernels :
       {Kernels(), CortexMCaps("helium"), CortexMCaps("dsp"), OneDnnCaps()}) {
    for (const KernelCaps& caps : kernels) {
      if (NamesKernel(name, caps.id)) return &caps;
    }
  }
  return nullptr;
}

BackendCaps CpuCaps() { return {"cpu", Kernels(), KernelsOfSet}; }

}  // namespace tenon::cpu
