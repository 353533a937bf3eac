#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/loop_nest.hpp"

namespace tenon::opencl {
namespace {

/// A tensor's dimensions from the innermost outwards, one at a time and in pieces: a dimension of
/// 12 can be taken as 4 and then 3.
class DimensionReader {
 public:
  explicit DimensionReader(const TensorView& view) : view_(view), axis_(view.rank) { Advance(); }

  [[nodiscard]] bool done() const { return axis_ < 0; }
  [[nodiscard]] int32_t left() const { return left_; }
  [[nodiscard]] int32_t stride() const { return stride_; }

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
    stride_ = view_.strides[axis_];
  }

  const TensorView& view_;
  int axis_;
  int32_t left_ = 1;
  int32_t stride_ = 0;
};

/// Loops that both shapes are made of, so that reshaping becomes a strided copy. False where there
/// are none ([4, 6] to [6, 4]).
bool FindCommonLoops(const TensorView& y, const TensorView& x, LoopNest<2>& nest) {
  if (x.IsRowMajor() && y.IsRowMajor()) {
    nest.Add(static_cast<int32_t>(y.Elements()), 1, 1);
    return true;
  }
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

struct Int8 {
  int32_t v[8];
};

Int8 Right(const TensorView& view, const int32_t* values, int32_t missing) {
  Int8 right;
  for (int k = 0; k < 8; ++k) {
    const int own = k - (8 - view.rank);
    right.v[k] = own >= 0 ? values[own] : missing;
  }
  return right;
}

}  // namespace

ProgramChoice ReshapeChoice(const KernelSetup& setup) {
  LoopNest<2> nest;
  const TensorView& y = setup.op.Output();
  const bool by_rows = y.Elements() == 0 || FindCommonLoops(y, setup.op.Input(0), nest);
  return {"move.cl", WordOption(y), by_rows ? "move" : "reshape"};
}

Status ReshapeRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  if (FindCommonLoops(y, x, nest)) {
    nest.Simplify();
    nest.LengthenRows();
    return LaunchRows(call, nest, {RowOperand{}, RowOperand{0}});
  }
  const auto count = static_cast<int32_t>(y.Elements());
  return Launch(call)
      .Output()
      .Input(0)
      .Value(count)
      .Value(Right(y, y.dims, 1))
      .Value(Right(y, y.strides, 0))
      .Value(Right(x, x.dims, 1))
      .Value(Right(x, x.strides, 0))
      .Enqueue(static_cast<size_t>(count), kRowGroup);
}

}  // namespace tenon::opencl
