#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/movement/copy_strided.hpp"

namespace tenon::cpu::portable {
namespace {

/// A tensor's dimensions from the innermost outwards, one at a time and in pieces: a dimension of
/// 12 can be taken as 4 and then 3.
class DimensionReader {
 public:
  explicit DimensionReader(const TensorView& view) : view_(view), axis_(view.rank) { Advance(); }

  [[nodiscard]] bool done() const { return axis_ < 0; }
  [[nodiscard]] int32_t left() const { return left_; }
  [[nodiscard]] ptrdiff_t stride() const { return stride_; }

  /// Takes the innermost `count` of what is left, which `count` divides.
  void Take(int32_t count) {
    left_ /= count;
    stride_ *= count;
    if (left_ == 1) Advance();
  }

 private:
  void Advance() {
    do {
      --axis_;
    } while (axis_ >= 0 && view_.dims[axis_] == 1);
    if (axis_ < 0) return;
    left_ = view_.dims[axis_];
    stride_ = ByteStride(view_, axis_);
  }

  const TensorView& view_;
  int axis_;
  int32_t left_ = 1;
  ptrdiff_t stride_ = 0;
};

/// Loops that both shapes are made of, so that reshaping becomes a strided copy. False where there
/// are none ([4, 6] to [6, 4]). Their order does not matter: the copy chooses its own.
bool FindCommonLoops(const TensorView& y, const TensorView& x, LoopNest<2>& nest) {
  DimensionReader to(y);
  DimensionReader from(x);
  while (!to.done()) {
    const int32_t count = to.left() < from.left() ? to.left() : from.left();
    if (to.left() % count != 0 || from.left() % count != 0) return false;
    nest.Add(count, to.stride(), from.stride());
    to.Take(count);
    from.Take(count);
  }
  return true;
}

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

Status ReshapeCheck(const KernelSetup& setup) { return CheckResult(ReshapeSupports(setup.op)); }

Status ReshapeRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const int bytes = DTypeBytes(y.dtype);
  LoopNest<2> nest;
  if (x.IsRowMajor() && y.IsRowMajor()) {
    nest.Add(static_cast<int32_t>(y.Elements()), bytes, bytes);
  } else if (!FindCommonLoops(y, x, nest)) {
    CopyInOrder(y, x);
    return OkStatus();
  }
  CopyStrided(nest, bytes, y.data, x.data, call.parallel);
  return OkStatus();
}

}  // namespace tenon::cpu::portable
