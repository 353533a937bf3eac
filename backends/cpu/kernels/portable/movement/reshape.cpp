#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr int64_t kFewElements = 1024;

/// Walks both shapes in row-major order, element by element.
void CopyInOrder(const TensorView& y, const TensorView& x) {
  const auto bytes = static_cast<size_t>(DTypeBytes(y.dtype));
  LoopNest<1> to;
  LoopNest<1> from;
  for (int k = 0; k < y.rank; ++k) to.Add(y.dims[k], ByteStride(y, k));
  for (int k = 0; k < x.rank; ++k) from.Add(x.dims[k], ByteStride(x, k));
  Odometer<1> target(to, to.rank, {{y.As<char>()}}, 0);
  Odometer<1> source(from, from.rank, {{x.As<char>()}}, 0);
  for (int64_t i = y.Elements(); i > 0; --i) {
    std::memcpy(target.cursor().at[0], source.cursor().at[0], bytes);
    target.Next();
    source.Next();
  }
}

}  // namespace

Status ReshapeRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const int bytes = DTypeBytes(y.dtype);
  // A streaming network's step takes microseconds, and finding the loops more than copying its row.
  if (y.Elements() <= kFewElements && x.IsRowMajor() && y.IsRowMajor()) {
    std::memcpy(y.data, x.data, static_cast<size_t>(y.Elements() * bytes));
    return OkStatus();
  }
  LoopNest<2> nest;
  // The copy chooses the order of the loops.
  if (!FindCommonLoops(y, x, bytes, nest)) {
    CopyInOrder(y, x);
    return OkStatus();
  }
  CopyStrided(nest, bytes, y.data, x.data, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
