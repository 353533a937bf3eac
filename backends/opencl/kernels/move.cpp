// These ops move elements without looking at their values.
#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Copies input `input`, from `x_start` on, to the output from `y_start` on.
Status Move(const KernelCall& call, LoopNest<2>& nest, int input = 0, int64_t x_start = 0,
            int64_t y_start = 0) {
  if (nest.Elements() == 0) return OkStatus();
  nest.Simplify();
  nest.LengthenRows();
  return LaunchRows(call, nest, {RowOperand{-1, y_start}, RowOperand{input, x_start}});
}

}  // namespace

ProgramChoice MoveChoice(const KernelSetup& setup) { return MoveProgram(setup.op); }

Status CopyRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) nest.Add(y.dims[k], y.strides[k], x.strides[k]);
  return Move(call, nest);
}

Status ConcatRun(const KernelCall& call) {
  const int axis = call.op.AttributesAs<ConcatAttributes>().axis;
  const TensorView& y = call.op.Output();
  int64_t start = 0;
  for (int i = 0; i < call.op.InputCount(); ++i) {
    const TensorView& x = call.op.Input(i);
    LoopNest<2> nest;
    for (int k = 0; k < y.rank; ++k) nest.Add(x.dims[k], y.strides[k], x.strides[k]);
    TENON_RETURN_IF_ERROR(Move(call, nest, i, 0, start));
    start += int64_t{x.dims[axis]} * y.strides[axis];
  }
  return OkStatus();
}

Status SliceRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<SliceAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  int64_t start = 0;
  for (int k = 0; k < y.rank; ++k) {
    start += int64_t{attributes.begins[k]} * x.strides[k];
    // Where one element is taken, the step is any number, and none is made.
    const int64_t step = y.dims[k] > 1 ? int64_t{attributes.steps[k]} * x.strides[k] : 0;
    nest.Add(y.dims[k], y.strides[k], step);
  }
  return Move(call, nest, 0, start);
}

Status TransposeRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<TransposeAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], y.strides[k], x.strides[attributes.permutation[k]]);
  }
  return Move(call, nest);
}

Status ExpandRun(const KernelCall& call) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], y.strides[k], BroadcastStride(x, y.rank, k));
  }
  return Move(call, nest);
}

}  // namespace tenon::opencl
