#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/copy_strided.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"

namespace tenon::cpu::portable {
namespace {

/// True if both hold the elements in the same order without gaps.
bool IsOnePiece(const TensorView& a, const TensorView& b) {
  return (a.IsRowMajor() && b.IsRowMajor()) || (a.IsChannelsLast() && b.IsChannelsLast());
}

}  // namespace

Status CopyCheck(const KernelSetup& setup) { return CheckResult(CopySupports(setup.op)); }

Status CopyRun(const KernelCall& call) {
  constexpr int64_t kWorthThreads = 1 << 16;
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const int64_t bytes = y.Elements() * DTypeBytes(y.dtype);
  if (bytes <= kWorthThreads && IsOnePiece(x, y)) {  // where a start is most of the work
    if (bytes > 0) std::memmove(y.data, x.data, static_cast<size_t>(bytes));
    return OkStatus();
  }
  CopyView(y, x, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
