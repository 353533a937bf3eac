#include "backends/fpga/caps/fpga_caps.hpp"

#include "backends/fpga/caps/supports.hpp"
#include "runtime/ops/constant_caps.hpp"

namespace tenon::fpga {

Span<const KernelCaps> Kernels() {
#define TENON_KERNEL(...) TENON_KERNEL_CAPS("fpga", __VA_ARGS__, ),
  static constexpr KernelCaps kKernels[] = {
#include "backends/fpga/caps/kernels.inc"
  };
#undef TENON_KERNEL
  return kKernels;
}

BackendCaps FpgaCaps() { return {"fpga", Kernels()}; }

}  // namespace tenon::fpga
