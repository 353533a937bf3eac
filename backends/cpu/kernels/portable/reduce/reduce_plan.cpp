#include "backends/cpu/kernels/portable/reduce/reduce_plan.hpp"

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

void AddReduced(ReducePlan& plan, int32_t dim, ptrdiff_t stride) {
  plan.reduced_count *= dim;
  if (dim == 1) return;
  int place = plan.reduced++;
  for (; place > 0 && plan.reduced_x[place - 1] < stride; --place) {
    plan.reduced_dims[place] = plan.reduced_dims[place - 1];
    plan.reduced_x[place] = plan.reduced_x[place - 1];
  }
  plan.reduced_dims[place] = dim;
  plan.reduced_x[place] = stride;
}

/// Takes the kept dimension that lies closest in x as the lanes.
void TakeLanes(ReducePlan& plan) {
  int best = -1;
  for (int i = 0; i < plan.kept; ++i) {
    if (best < 0 || plan.kept_x[i] < plan.kept_x[best]) best = i;
  }
  if (best < 0) return;
  plan.lane_dim = plan.kept_dims[best];
  plan.lane_x = plan.kept_x[best];
  plan.lane_y = plan.kept_y[best];
  --plan.kept;
  for (int i = best; i < plan.kept; ++i) {
    plan.kept_dims[i] = plan.kept_dims[i + 1];
    plan.kept_x[i] = plan.kept_x[i + 1];
    plan.kept_y[i] = plan.kept_y[i + 1];
  }
}

/// Takes the innermost reduced dimension out, with those that continue it without a gap.
void TakeRun(ReducePlan& plan) {
  if (plan.reduced == 0) return;
  --plan.reduced;
  plan.run_dim = plan.reduced_dims[plan.reduced];
  plan.run_x = plan.reduced_x[plan.reduced];
  while (plan.reduced > 0 && plan.reduced_x[plan.reduced - 1] == plan.run_dim * plan.run_x) {
    --plan.reduced;
    plan.run_dim *= plan.reduced_dims[plan.reduced];
  }
}

}  // namespace

ReducePlan PlanReduction(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ReduceAttributes>();
  const TensorView& x = call.Input(0);
  const TensorView& y = call.Output();
  ReducePlan plan;
  int y_axis = 0;
  for (int axis = 0; axis < x.rank; ++axis) {
    const bool reduced = ((attributes.axes_mask >> axis) & 1) != 0;
    if (reduced) {
      AddReduced(plan, x.dims[axis], x.strides[axis]);
      y_axis += attributes.keep_dims != 0 ? 1 : 0;
      continue;
    }
    if (x.dims[axis] != 1) {
      plan.kept_dims[plan.kept] = x.dims[axis];
      plan.kept_x[plan.kept] = x.strides[axis];
      plan.kept_y[plan.kept++] = y.strides[y_axis];
    }
    ++y_axis;
  }
  TakeLanes(plan);
  TakeRun(plan);
  return plan;
}

}  // namespace tenon::cpu::portable
