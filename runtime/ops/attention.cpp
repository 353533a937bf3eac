// Attention.
#include <cmath>

#include "runtime/ops/rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {
namespace {

using In = AttentionInput;

/// True if the dimensions before the last two are equal.
bool SameBatches(const Shape& a, const Shape& b) {
  if (a.rank != b.rank) return false;
  for (int32_t k = 0; k < a.rank - 2; ++k) {
    if (a[k] != b[k]) return false;
  }
  return true;
}

Status InferAttention(const OpCall& call, OutputType* outputs) {
  const auto& attributes = call.AttributesAs<AttentionAttributes>();
  TENON_RETURN_IF_ERROR(CheckFloatOperands(call));
  TENON_ENSURE(IsFlag(attributes.transpose_k), kInvalidArgument, "transpose_k must be 0 or 1");
  TENON_ENSURE(std::isfinite(attributes.scale), kInvalidArgument, "the scale must be finite");
  const Shape q = call.Input(In::kQ).shape();
  const Shape k = call.Input(In::kK).shape();
  const Shape v = call.Input(In::kV).shape();
  TENON_ENSURE(q.rank >= 2 && SameBatches(q, k) && SameBatches(q, v), kInvalidArgument,
               "queries, keys and values must have one rank of 2 or more, and alike batches");
  const int32_t keys = v[v.rank - 2];
  const int32_t depth = q[q.rank - 1];
  TENON_ENSURE(k[k.rank - 2 + attributes.transpose_k] == keys &&
                   k[k.rank - 1 - attributes.transpose_k] == depth,
               kInvalidArgument, "there must be {0} keys of {1} elements", keys, depth);
  TENON_ENSURE(keys >= 1 && depth >= 1, kInvalidArgument, "there are no keys, or they are empty");
  Shape y = q;
  y[y.rank - 1] = keys;
  TENON_ENSURE(!call.HasInput(In::kMask) || BroadcastsTo(call.Input(In::kMask).shape(), y),
               kInvalidArgument, "the mask does not broadcast to the scores");
  y[y.rank - 1] = v[v.rank - 1];
  return SetOutput(call.Input(In::kQ).dtype, y, outputs);
}

}  // namespace

constexpr OpRow kAttentionRow = MakeOpRow<AttentionAttributes>(OpKind::kAttention, /*min_inputs=*/3,
                                                               /*max_inputs=*/4, InferAttention);

}  // namespace tenon
