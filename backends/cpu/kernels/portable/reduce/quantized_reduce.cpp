#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "backends/cpu/kernels/portable/reduce/reduce_plan.hpp"

namespace tenon::cpu::portable {
namespace {

/// Adds one run of each lane; bytes as they are but for the flip. Sums wrap.
void AddRuns(const ReducePlan& plan, const uint8_t* x, int lanes, uint32_t flip, uint32_t* totals) {
  if (plan.lane_x == 1 && lanes == kReduceLanes) {
    for (int i = 0; i < plan.run_dim; ++i, x += plan.run_x) {
      for (int lane = 0; lane < kReduceLanes; ++lane) totals[lane] += x[lane] ^ flip;
    }
    return;
  }
  for (int lane = 0; lane < lanes; ++lane) {
    const uint8_t* run = x + lane * plan.lane_x;
    uint32_t total = 0;
    for (int i = 0; i < plan.run_dim; ++i) total += run[i * plan.run_x] ^ flip;
    totals[lane] += total;
  }
}

}  // namespace

Status QuantizedReduceRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedReduceAttributes>();
  const TensorView& y = call.op.Output();
  if (y.Elements() == 0) return OkStatus();
  const auto* x = call.op.Input(0).As<const uint8_t>();
  const auto flip = static_cast<uint32_t>(SignFlip(call.op.Input(0).dtype));
  const ReducePlan plan = PlanReduction(call.op);
  const uint32_t zero = (flip + static_cast<uint32_t>(attributes.x_zero_point)) *
                        static_cast<uint32_t>(plan.reduced_count);
  ForEachReduction(plan, call.parallel, [&](const Reduction& block) {
    uint32_t totals[kReduceLanes] = {};
    ForEachRun(plan, [&](ptrdiff_t offset) {
      AddRuns(plan, x + block.x + offset, block.lanes, flip, totals);
    });
    uint8_t* out = y.As<uint8_t>() + block.y;
    for (int i = block.first; i < block.lanes; ++i) {
      const auto sum = static_cast<int32_t>(totals[i] - zero);
      out[i * plan.lane_y] = OutputByte(
          attributes.output, Rescaled(attributes.scale, attributes.output.rounding, sum));
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
