#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {

ProgramChoice LayerNormChoice(const KernelSetup& setup) {
  std::string options;
  if (setup.op.AttributesAs<LayerNormAttributes>().rms != 0) options += "-DRMS ";
  if (setup.op.HasInput(LayerNormInput::kBias)) options += "-DBIAS";
  const TensorView& y = setup.op.Output();
  return ForRowGroup(setup, y.dims[y.rank - 1], {"layer_norm.cl", options, "layer_norm"},
                     "layer_norm_group");
}

Status LayerNormRun(const KernelCall& call) {
  using In = LayerNormInput;
  const TensorView& x = call.op.Input(In::kX);
  const TensorView& y = call.op.Output();
  const int axis = y.rank - 1;
  if (y.Elements() == 0) return OkStatus();
  LoopNest<2> rows;
  for (int k = 0; k < axis; ++k) rows.Add(y.dims[k], y.strides[k], x.strides[k]);
  rows.Simplify();
  const RowLoops<2> loops(rows);
  // A step along an axis of one element is never made.
  const bool is_step = y.dims[axis] > 1;
  const Int4 along = {{y.dims[axis], is_step ? y.strides[axis] : 1, is_step ? x.strides[axis] : 1,
                       call.op.Input(In::kScale).strides[0]}};
  const bool has_bias = call.op.HasInput(In::kBias);
  const int32_t bias_step = has_bias ? call.op.Input(In::kBias).strides[0] : 0;
  Launch launch(call);
  return ForEachLaunch(rows, [&](const int64_t(&offsets)[2]) {
    launch.From(0).Output(0, offsets[0]).Input(In::kX, offsets[1]).Input(In::kScale, 0);
    if (has_bias) launch.Input(In::kBias, 0);
    launch.Value(loops.dims)
        .Value(loops.strides[0])
        .Value(loops.strides[1])
        .Value(along)
        .Value(bias_step)
        .Value(call.op.AttributesAs<LayerNormAttributes>().epsilon);
    return EnqueueRows(call, launch, loops.Positions(), y.dims[axis]);
  });
}

}  // namespace tenon::opencl
