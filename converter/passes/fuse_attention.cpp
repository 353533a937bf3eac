#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// With fewer queries, copying keys and values takes longer than it spares.
constexpr int32_t kFewestQueries = 32;

/// What an attention is made of; the op is put in the place of its last product.
struct Match {
  OpId product = kNone;       ///< of queries and keys
  std::vector<OpId> between;  ///< its readers one after the other, the softmax last
  TensorId mask = kNone;
  float scale = 1;
};

/// The op that makes the tensor, if it is of this kind and nothing else reads the tensor.
OpId SoleProducer(const Graph& graph, TensorId id, OpKind kind) {
  const OpId producer = ProducerOfKind(graph, id, kind);
  return producer != kNone && graph.OnlyConsumer(id) != kNone ? producer : kNone;
}

/// True for a product of two computed f32 factors of one rank and alike batches, and nothing more.
bool IsPlainProduct(const Graph& graph, const Op& op) {
  const auto attributes = op.attributes.As<MatMulAttributes>();
  if (op.inputs.size() != 2 || attributes.transpose_a != 0 ||
      attributes.activation.function != UnaryFunction::kIdentity) {
    return false;
  }
  const Tensor& a = graph.tensor(op.inputs[0]);
  const Tensor& b = graph.tensor(op.inputs[1]);
  if (a.IsConstant() || b.IsConstant() || a.dtype != DType::kF32 || b.dtype != DType::kF32 ||
      a.shape.rank != b.shape.rank) {
    return false;
  }
  for (int32_t k = 0; k < a.shape.rank - 2; ++k) {
    if (a.shape[k] != b.shape[k]) return false;
  }
  return true;
}

/// The op, if it is a plain binary op of this function that is the only reader of what it reads.
const Op* BinaryOf(const Graph& graph, TensorId id, BinaryFunction function) {
  const OpId producer = SoleProducer(graph, id, OpKind::kBinary);
  if (producer == kNone) return nullptr;
  const auto attributes = graph.op(producer).attributes.As<BinaryAttributes>();
  const bool is_plain =
      attributes.function == function && attributes.activation.function == UnaryFunction::kIdentity;
  return is_plain ? &graph.op(producer) : nullptr;
}

/// Puts the scale into the match; false for one that attention refuses.
bool TakeScale(double scale, Match& match) {
  match.scale = static_cast<float>(scale);
  return std::isfinite(match.scale);
}

/// Goes from scores, which may be scaled, back to their product; a scale is put into the match.
bool TakeScores(const Graph& graph, TensorId scores, Match& match) {
  if (const Op* div = BinaryOf(graph, scores, BinaryFunction::kDiv)) {
    const auto divisor = ScalarValue(graph, div->inputs[1]);
    if (!divisor || !TakeScale(1 / *divisor, match)) return false;
    match.between.push_back(graph.tensor(scores).producer);
    scores = div->inputs[0];
  } else if (const Op* mul = BinaryOf(graph, scores, BinaryFunction::kMul)) {
    const size_t constant = graph.tensor(mul->inputs[0]).IsConstant() ? 0 : 1;
    const auto factor = ScalarValue(graph, mul->inputs[constant]);
    if (!factor || !TakeScale(*factor, match)) return false;
    match.between.push_back(graph.tensor(scores).producer);
    scores = mul->inputs[1 - constant];
  }
  match.product = SoleProducer(graph, scores, OpKind::kMatMul);
  return match.product != kNone && IsPlainProduct(graph, graph.op(match.product));
}

/// Goes back over the sum with a mask, if there is one.
std::optional<Match> MatchScores(const Graph& graph, TensorId logits) {
  Match plain;
  if (TakeScores(graph, logits, plain)) return plain;
  const Op* sum = BinaryOf(graph, logits, BinaryFunction::kAdd);
  if (sum == nullptr) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    Match match;
    match.mask = sum->inputs[1 - i];
    match.between.push_back(graph.tensor(logits).producer);
    // The mask must not be the scores, which attention keeps nowhere.
    if (match.mask != sum->inputs[i] && TakeScores(graph, sum->inputs[i], match)) return match;
  }
  return std::nullopt;
}

std::optional<Match> MatchAttention(const Graph& graph, const Op& last) {
  if (last.attributes.As<MatMulAttributes>().transpose_b != 0 || !IsPlainProduct(graph, last) ||
      last.inputs[0] == last.inputs[1]) {
    return std::nullopt;
  }
  const OpId softmax = SoleProducer(graph, last.inputs[0], OpKind::kSoftmax);
  if (softmax == kNone) return std::nullopt;
  const auto attributes = graph.op(softmax).attributes.As<SoftmaxAttributes>();
  const TensorId logits = graph.op(softmax).inputs[0];
  if (attributes.log != 0 || attributes.axis != graph.tensor(logits).shape.rank - 1) {
    return std::nullopt;
  }
  std::optional<Match> match = MatchScores(graph, logits);
  if (!match) return std::nullopt;
  // A number and a mask may have more dimensions than the product.
  const TensorId scores = graph.op(match->product).outputs[0];
  if (graph.tensor(scores).shape != graph.tensor(logits).shape) return std::nullopt;
  match->between.insert(match->between.begin(), softmax);
  return match;
}

Op AttentionOf(const Graph& graph, const Op& last, const Match& match) {
  const Op& product = graph.op(match.product);
  AttentionAttributes attributes;
  attributes.scale = match.scale;
  // A product takes its second factor as [..., D, N], attention the keys as [..., N, D].
  attributes.transpose_k = 1 - product.attributes.As<MatMulAttributes>().transpose_b;
  Op op = last;
  op.kind = OpKind::kAttention;
  op.attributes = Attributes(attributes);
  op.inputs = {product.inputs[0], product.inputs[1], last.inputs[1]};
  if (match.mask != kNone) op.inputs.push_back(match.mask);
  return op;
}

/// Why the ops are better left apart, or an empty text.
std::string WhyNot(const Graph& graph, OpId last, const Match& match, const Op& attention,
                   const PassContext& context) {
  const Shape& q = graph.tensor(attention.inputs[0]).shape;
  if (q[q.rank - 2] < kFewestQueries) return "too few queries for copying the keys once";
  if (!context.has_fast_kernel || !context.has_fast_kernel(graph, attention)) {
    return "no fast kernel computes attention as one op";
  }
  if (!context.why_worse_kernel) return "";
  std::vector<OpId> parts = match.between;
  parts.push_back(match.product);
  parts.push_back(last);
  for (const OpId part : parts) {
    std::string reason = context.why_worse_kernel(graph, graph.op(part), attention);
    if (!reason.empty()) return reason;
  }
  return "";
}

}  // namespace

Status FuseAttention(Graph& graph, PassContext& context) {
  const std::vector<OpId> order = graph.OpOrder();
  for (const OpId id : order) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kMatMul) continue;
    const std::optional<Match> match = MatchAttention(graph, graph.op(id));
    if (!match) continue;
    Op attention = AttentionOf(graph, graph.op(id), *match);
    const std::string reason = WhyNot(graph, id, *match, attention, context);
    if (!reason.empty()) {
      Decline(graph, id, reason, context.report);
      continue;
    }
    const OpId softmax = match->between.front();
    RecordFusion(graph, id, match->product);
    for (const OpId between : match->between) RecordFusion(graph, id, between);
    Op& op = graph.MutableOp(id);
    op.kind = attention.kind;
    op.attributes = attention.attributes;
    op.inputs = std::move(attention.inputs);
    EraseIfUnread(graph, softmax);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
