#include "backends/opencl/kernel_table.hpp"

#include "backends/opencl/caps/supports.hpp"
#include "backends/opencl/kernels/entry.hpp"
#include "backends/opencl/kernels/kernels.hpp"
#include "runtime/ops/rows.hpp"

namespace tenon::opencl {
namespace {

// In the order of caps/opencl_caps.cpp; a test compares them.
constexpr KernelEntry kKernels[] = {
    Entry<UnarySupports>("opencl.unary.rows", kUnaryRow, Load<UnaryChoice>, UnaryRun),
};

}  // namespace

Span<const KernelEntry> KernelTable() { return kKernels; }

}  // namespace tenon::opencl
