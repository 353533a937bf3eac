#include "backends/opencl/kernel_table.hpp"

#include "backends/opencl/kernels/conv_kernels.hpp"
#include "backends/opencl/kernels/row_table.hpp"

namespace tenon::opencl {
namespace {

constexpr size_t kMostKernels = 64;

/// The kernels of every group, best first.
struct Table {
  KernelEntry kernels[kMostKernels] = {};
  size_t count = 0;

  void Append(Span<const KernelEntry> group) {
    for (const KernelEntry& kernel : group) {
      if (count < kMostKernels) kernels[count++] = kernel;
    }
  }
};

// In the order of caps/opencl_caps.cpp; a test compares them.
Table Compose() {
  Table table;
  table.Append(ConvKernels());
  table.Append(MatMulKernels());
  table.Append(RowKernels());
  return table;
}

}  // namespace

Span<const KernelEntry> KernelTable() {
  static const Table kTable = Compose();
  return {kTable.kernels, kTable.count};
}

}  // namespace tenon::opencl
