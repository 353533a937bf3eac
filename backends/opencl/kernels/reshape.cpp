#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"

namespace tenon::opencl {
namespace {

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
  const bool by_rows = y.Elements() == 0 || FindCommonLoops(y, setup.op.Input(0), 1, nest);
  return {"move.cl", WordOption(y), by_rows ? "move" : "reshape"};
}

Status ReshapeRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> nest;
  if (FindCommonLoops(y, x, 1, nest)) {
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
