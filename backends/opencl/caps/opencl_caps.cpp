#include "backends/opencl/caps/opencl_caps.hpp"

#include "backends/opencl/caps/conv_caps.hpp"
#include "backends/opencl/caps/matmul_caps.hpp"
#include "backends/opencl/caps/row_caps.hpp"

namespace tenon::opencl {
namespace {

constexpr size_t kMostRows = 64;

/// The rows of every group of kernels, best first.
struct Rows {
  KernelCaps rows[kMostRows] = {};
  size_t count = 0;

  void Append(Span<const KernelCaps> group) {
    for (const KernelCaps& caps : group) {
      if (count < kMostRows) rows[count++] = caps;
    }
  }
};

// In the order of kernel_table.cpp; a test compares them.
Rows Compose() {
  Rows rows;
  rows.Append(ConvCaps());
  rows.Append(MatMulCaps());
  rows.Append(RowCaps());
  return rows;
}

}  // namespace

Span<const KernelCaps> Kernels() {
  static const Rows kRows = Compose();
  return {kRows.rows, kRows.count};
}

BackendCaps OpenclCaps() { return {"opencl", Kernels(), nullptr}; }

}  // namespace tenon::opencl
