#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice CumSumChoice(const KernelSetup& setup) {
  const bool exclusive = setup.op.AttributesAs<CumSumAttributes>().exclusive != 0;
  return {"cum_sum.cl", exclusive ? "-DEXCLUSIVE" : "", "cum_sum"};
}

Status CumSumRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<CumSumAttributes>();
  const int axis = attributes.axis;
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> rows;
  for (int k = 0; k < y.rank; ++k) {
    if (k != axis) rows.Add(y.dims[k], y.strides[k], x.strides[k]);
  }
  rows.Simplify();
  const RowLoops<2> loops(rows);
  const int direction = attributes.reverse != 0 ? -1 : 1;
  const int64_t first = attributes.reverse != 0 ? y.dims[axis] - 1 : 0;
  const Int4 along = {{y.dims[axis], direction * y.strides[axis], direction * x.strides[axis], 0}};
  Launch launch(call);
  return ForEachLaunch(rows, [&](const int64_t(&offsets)[2]) {
    return launch.From(0)
        .Output(0, offsets[0] + first * y.strides[axis])
        .Input(0, offsets[1] + first * x.strides[axis])
        .Value(loops.dims)
        .Value(loops.strides[0])
        .Value(loops.strides[1])
        .Value(along)
        .Enqueue(loops.Positions(), kSmallGroup);
  });
}

}  // namespace tenon::opencl
