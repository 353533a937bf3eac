#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Launches the call's function for each line along `axis`, a work-item each or, with `shares`, as
/// the device has it, with `extras` behind it.
template <typename... Extras>
Status LaunchLines(const KernelCall& call, int axis, bool shares, const Extras&... extras) {
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> rows;
  for (int k = 0; k < y.rank; ++k) {
    if (k != axis) rows.Add(y.dims[k], y.strides[k], x.strides[k]);
  }
  rows.Simplify();
  const RowLoops<2> loops(rows);
  // A step along an axis of one element is never made.
  const bool is_step = y.dims[axis] > 1;
  const Int4 along = {
      {y.dims[axis], is_step ? y.strides[axis] : 1, is_step ? x.strides[axis] : 1, 0}};
  Launch launch(call);
  return ForEachLaunch(rows, [&](const int64_t(&offsets)[2]) {
    TakeRows(launch, loops, offsets).Value(along);
    (launch.Value(extras), ...);
    return shares ? EnqueueRows(call, launch, loops.Positions(), y.dims[axis])
                  : launch.Enqueue(loops.Positions(), kSmallGroup);
  });
}

}  // namespace

ProgramChoice SoftmaxChoice(const KernelSetup& setup) {
  const int axis = setup.op.AttributesAs<SoftmaxAttributes>().axis;
  return ForRowGroup(setup, setup.op.Output().dims[axis], SoftmaxProgram(setup.op),
                     "softmax_group");
}

Status SoftmaxRun(const KernelCall& call) {
  return LaunchLines(call, call.op.AttributesAs<SoftmaxAttributes>().axis, /*shares=*/true);
}

ProgramChoice QuantizedSoftmaxChoice(const KernelSetup& setup) {
  const auto& attributes = setup.op.AttributesAs<QuantizedSoftmaxAttributes>();
  const bool fixed = attributes.output.rounding == Rounding::kFixedPoint;
  return {"quantized_softmax.cl", fixed ? "-DQUANTIZED -DFIXED" : "-DQUANTIZED",
          "quantized_softmax"};
}

Status QuantizedSoftmaxRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedSoftmaxAttributes>();
  return LaunchLines(call, attributes.softmax.axis, /*shares=*/false,
                     SignFlip(call.op.Input(0).dtype), attributes.least_difference,
                     attributes.output_scale, attributes.scale, attributes.output);
}

}  // namespace tenon::opencl
