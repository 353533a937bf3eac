#include "backends/opencl/caps/opencl_caps.hpp"

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

BackendCaps OpenclCaps() { return {"opencl", Kernels()}; }

}  // namespace tenon::opencl
