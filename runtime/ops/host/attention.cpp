// Attention.
#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

using In = AttentionInput;

constexpr std::array kAttentionFields = {
    FloatField("scale", offsetof(AttentionAttributes, scale)),
    IntField("transpose_k", offsetof(AttentionAttributes, transpose_k)),
};

OpWork AttentionWork(const OpCall& call) {
  const TensorView& q = call.Input(In::kQ);
  const TensorView& v = call.Input(In::kV);
  const int64_t keys = v.dims[v.rank - 2];
  const int64_t depth = q.dims[q.rank - 1];
  const int64_t scores = q.Elements() / depth * keys;
  OpWork work = GemmWork(call, scores * depth + call.Output().Elements() * keys, 0);
  work.elementary_ops += scores * (kSoftmaxCost + (call.HasInput(In::kMask) ? kPlainCost : 0));
  return work;
}

/// Along everything but the values' columns: each part would compute all scores.
bool AttentionSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  const int32_t rank = call.Output().rank;
  if (!IsAxisOf(call.Output(), axis) || axis == rank - 1) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = BroadcastInput(call, i, axis);
  if (axis == rank - 2) inputs[In::kK] = inputs[In::kV] = Whole();
  return true;
}

}  // namespace

constexpr OpHostRow kAttentionHostRow = {
    .text = TextOf<AttentionAttributes>(kAttentionFields),
    .traits = {.new_axes = true},
    .work = AttentionWork,
    .split = {kEveryAxis, ImageAxis, AttentionSplit},
};

}  // namespace tenon
