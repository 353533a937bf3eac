#include "backends/opencl/kernel_table.hpp"

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/caps/tile_shapes.hpp"
#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/tile.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {

Span<const KernelEntry> KernelTable() {
#define TENON_KERNEL(op, Op, implementation, facts, ...) \
  Entry<(facts).supports, (facts).activations>(          \
      (facts).Named("opencl." #op "." #implementation, OpKind::k##Op), k##Op##Row, __VA_ARGS__),
  static constexpr KernelEntry kKernels[] = {
#include "backends/opencl/caps/kernels.inc"
  };
#undef TENON_KERNEL
  return kKernels;
}

}  // namespace tenon::opencl
