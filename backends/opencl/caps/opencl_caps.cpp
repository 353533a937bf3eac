#include "backends/opencl/caps/opencl_caps.hpp"

#include <cstring>
#include <vector>

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/caps/quantized_caps.hpp"
#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/caps/tile_shapes.hpp"
#include "runtime/ops/constant_caps.hpp"

namespace tenon::opencl {

Span<const KernelCaps> Kernels() {
#define TENON_KERNEL(...) TENON_KERNEL_CAPS("opencl", __VA_ARGS__),
  static constexpr KernelCaps kKernels[] = {
#include "backends/opencl/caps/kernels.inc"
  };
#undef TENON_KERNEL
  return kKernels;
}

namespace {

/// "gpu": no convolution in Winograd's way, whose pieces are for a CPU's caches: on an H200 tiles
/// are 7 to 30 times as fast (docs/results-opencl.md).
Span<const KernelCaps> KernelsOfSet(const char* set) {
  static const std::vector<KernelCaps> kConvolutions = [] {
    std::vector<KernelCaps> convolutions;
    for (const KernelCaps& caps : Kernels()) {
      if (caps.kind == OpKind::kConv && caps.supports != ConvWinogradSupports) {
        convolutions.push_back(caps);
      }
    }
    return convolutions;
  }();
  if (std::strcmp(set, "gpu") != 0) return {};
  return {kConvolutions.data(), kConvolutions.size()};
}

}  // namespace

BackendCaps OpenclCaps() { return {"opencl", Kernels(), KernelsOfSet}; }

}  // namespace tenon::opencl
