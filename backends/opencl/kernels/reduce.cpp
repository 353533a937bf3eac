#include "backends/opencl/kernels/kernels.hpp"
#include "backends/opencl/kernels/row_launch.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::opencl {
namespace {

/// Loops over the outputs, and over what each is made of.
struct ReducePlan {
  LoopNest<2> kept;     ///< y, x
  LoopNest<1> reduced;  ///< x; the innermost is the run
  int64_t count = 1;    ///< elements that one output is made of

  /// Neighbouring outputs are neighbours in x too: vectors of them are reduced together.
  [[nodiscard]] bool by_rows() const {
    return kept.rank > 0 && kept.strides[1][kept.rank - 1] == 1 &&
           kept.strides[0][kept.rank - 1] == 1;
  }
};

ReducePlan MakeReducePlan(const OpCall& op) {
  const auto& attributes = op.AttributesAs<ReduceAttributes>();
  const TensorView& x = op.Input(0);
  const TensorView& y = op.Output();
  ReducePlan plan;
  int y_axis = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    if ((attributes.axes_mask >> axis & 1) != 0) {
      plan.count *= x.dims[axis];
      plan.reduced.Add(x.dims[axis], x.strides[axis]);
      y_axis += attributes.keep_dims != 0 ? 1 : 0;
    } else {
      plan.kept.Add(x.dims[axis], y.strides[y_axis], x.strides[axis]);
      ++y_axis;
    }
  }
  plan.kept.Simplify();
  plan.reduced.Simplify();
  return plan;
}

/// The loops over what one output is made of, as reduce.cl takes them.
struct Runs {
  Int8 dims;
  Int8 strides;
  Int4 run = {{1, 1, 1, 0}};  ///< how many, length, step

  explicit Runs(const LoopNest<1>& reduced) {
    for (int32_t& dim : dims.v) dim = 1;
    for (int k = 0; k + 1 < reduced.rank; ++k) {
      run.v[0] *= reduced.dims[k];
      dims.v[9 - reduced.rank + k] = reduced.dims[k];
      strides.v[9 - reduced.rank + k] = static_cast<int32_t>(reduced.strides[0][k]);
    }
    if (reduced.rank > 0) {
      run.v[1] = reduced.dims[reduced.rank - 1];
      run.v[2] = static_cast<int32_t>(reduced.RowStride(0));
    }
  }
};

/// Launches the call's function for `items` work-items of the plan, or, with `shares`, for as many
/// outputs as the device has it, with `extras` behind the runs.
template <typename... Extras>
Status LaunchReduction(const KernelCall& call, const ReducePlan& plan, size_t items, bool shares,
                       const Extras&... extras) {
  const Runs runs(plan.reduced);
  const RowLoops<2> loops(plan.kept);
  Launch launch(call);
  return ForEachLaunch(plan.kept, [&](const int64_t(&offsets)[2]) {
    TakeRows(launch, loops, offsets).Value(runs.dims).Value(runs.strides).Value(runs.run);
    (launch.Value(extras), ...);
    return shares ? EnqueueRows(call, launch, items, plan.count)
                  : launch.Enqueue(items, kSmallGroup);
  });
}

}  // namespace

ProgramChoice ReduceChoice(const KernelSetup& setup) {
  const auto function = static_cast<int>(setup.op.AttributesAs<ReduceAttributes>().function);
  const std::string options = "-DFUNCTION=" + std::to_string(function);
  const ReducePlan plan = MakeReducePlan(setup.op);
  if (plan.by_rows()) return {"reduce.cl", options, "reduce_rows"};
  return ForRowGroup(setup, plan.count, {"reduce.cl", options, "reduce_each"}, "reduce_group");
}

Status ReduceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const ReducePlan plan = MakeReducePlan(call.op);
  const size_t items = RowLoops<2>(plan.kept).WorkItems(plan.by_rows() ? RowLaunch(call).piece : 1);
  return LaunchReduction(call, plan, items, /*shares=*/!plan.by_rows(),
                         static_cast<float>(plan.count));
}

ProgramChoice QuantizedReduceChoice(const KernelSetup&) {
  return {"quantized_reduce.cl", "-DQUANTIZED", "quantized_reduce"};
}

Status QuantizedReduceRun(const KernelCall& call) {
  if (call.op.Output().Elements() == 0) return OkStatus();
  const auto& attributes = call.op.AttributesAs<QuantizedReduceAttributes>();
  const ReducePlan plan = MakeReducePlan(call.op);
  return LaunchReduction(call, plan, RowLoops<2>(plan.kept).WorkItems(1), /*shares=*/false,
                         SignFlip(call.op.Input(0).dtype), attributes.x_zero_point,
                         attributes.scale, attributes.output);
}

}  // namespace tenon::opencl
