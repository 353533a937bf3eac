#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/passes.hpp"

namespace tenon::converter {
namespace {

/// What an attention is made of; the op is put in the place of its last product.
struct Match {
  OpId product = kNone;  ///< of queries and keys
  OpId softmax = kNone;
  std::vector<OpId> between;  ///< from the last product back to the first, the softmax among them
  TensorId mask = kNone;
  float scale = 1;
  Shape logits;  ///< of the sum with the mask
};

/// The op that makes the tensor, if it is of this kind and nothing else reads the tensor.
OpId SoleProducer(const Graph& graph, TensorId id, OpKind kind) {
  const OpId producer = ProducerOfKind(graph, id, kind);
  return producer != kNone && graph.OnlyConsumer(id) != kNone ? producer : kNone;
}

/// True if the last two dimensions are equal, and as many matrices before them.
bool SameMatrices(const Shape& a, const Shape& b) {
  return a.rank >= 2 && b.rank >= 2 && a[a.rank - 1] == b[b.rank - 1] &&
         a[a.rank - 2] == b[b.rank - 2] && a.Elements() == b.Elements();
}

/// Goes back over reshapes that only count the matrices in another way, into the match.
TensorId BeforeReshapes(const Graph& graph, TensorId id, Match& match) {
  for (;;) {
    const OpId reshape = SoleProducer(graph, id, OpKind::kReshape);
    if (reshape == kNone) return id;
    const TensorId x = graph.op(reshape).inputs[0];
    if (!SameMatrices(graph.tensor(x).shape, graph.tensor(id).shape)) return id;
    match.between.push_back(reshape);
    id = x;
  }
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
  scores = BeforeReshapes(graph, scores, match);
  const TensorId scaled = scores;
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
  // The number may have more dimensions than the scores.
  if (graph.tensor(scores).shape != graph.tensor(scaled).shape) return false;
  match.product = SoleProducer(graph, BeforeReshapes(graph, scores, match), OpKind::kMatMul);
  return match.product != kNone && IsPlainProduct(graph, graph.op(match.product));
}

/// Goes back over the sum with a mask, if there is one.
std::optional<Match> MatchScores(const Graph& graph, TensorId logits, const Match& last) {
  Match plain = last;
  if (TakeScores(graph, logits, plain)) {
    plain.logits = graph.tensor(logits).shape;
    return plain;
  }
  Match masked = last;
  logits = BeforeReshapes(graph, logits, masked);
  masked.logits = graph.tensor(logits).shape;
  const Op* sum = BinaryOf(graph, logits, BinaryFunction::kAdd);
  if (sum == nullptr) return std::nullopt;
  masked.between.push_back(graph.tensor(logits).producer);
  for (size_t i = 0; i < 2; ++i) {
    Match match = masked;
    match.mask = sum->inputs[1 - i];
    // The mask must not be the scores, which attention keeps nowhere, nor have more dimensions.
    const bool is_mask =
        match.mask != sum->inputs[i] &&
        SameMatrices(graph.tensor(sum->inputs[i]).shape, graph.tensor(logits).shape);
    if (is_mask && TakeScores(graph, sum->inputs[i], match)) return match;
  }
  return std::nullopt;
}

std::optional<Match> MatchAttention(const Graph& graph, const Op& last) {
  if (last.attributes.As<MatMulAttributes>().transpose_b != 0 || !IsPlainProduct(graph, last) ||
      last.inputs[0] == last.inputs[1]) {
    return std::nullopt;
  }
  Match match;
  match.softmax =
      SoleProducer(graph, BeforeReshapes(graph, last.inputs[0], match), OpKind::kSoftmax);
  if (match.softmax == kNone) return std::nullopt;
  match.between.push_back(match.softmax);
  const auto attributes = graph.op(match.softmax).attributes.As<SoftmaxAttributes>();
  const TensorId logits = graph.op(match.softmax).inputs[0];
  if (attributes.log != 0 || attributes.axis != graph.tensor(logits).shape.rank - 1) {
    return std::nullopt;
  }
  return MatchScores(graph, logits, match);
}

/// The tensor with the dimensions before its last two counted as in `like`.
Result<TensorId> WithBatchesOf(Graph& graph, const Shape& like, TensorId id, OpId before) {
  const Shape shape = graph.tensor(id).shape;
  Shape wanted = like;
  std::copy_n(shape.dims + shape.rank - 2, 2, wanted.dims + wanted.rank - 2);
  if (shape == wanted) return id;
  const OpId reshape = ProducerOfKind(graph, id, OpKind::kReshape);
  if (reshape != kNone) {
    const TensorId x = graph.op(reshape).inputs[0];
    if (graph.tensor(x).shape == wanted) return x;
  }
  TENON_ASSIGN_OR_RETURN(const OpId counted, graph.InsertOp(before, OpKind::kReshape,
                                                            graph.tensor(id).name + ".batches",
                                                            {id}, Attributes(ReshapeTo(wanted))));
  return graph.op(counted).outputs[0];
}

/// Puts an attention before the last product. The mask says how its matrices are counted.
Result<OpId> InsertAttention(Graph& graph, OpId last, const Match& match) {
  const Op product = graph.op(match.product);
  const TensorId v = graph.op(last).inputs[1];
  const Shape like = match.mask != kNone ? match.logits : graph.tensor(v).shape;
  AttentionAttributes attributes;
  attributes.scale = match.scale;
  // A product takes its second factor as [..., D, N], attention the keys as [..., N, D].
  attributes.transpose_k = 1 - product.attributes.As<MatMulAttributes>().transpose_b;
  std::vector<TensorId> inputs = {product.inputs[0], product.inputs[1], v};
  for (TensorId& input : inputs) {
    TENON_ASSIGN_OR_RETURN(input, WithBatchesOf(graph, like, input, last));
  }
  if (match.mask != kNone) inputs.push_back(match.mask);
  return graph.InsertOp(last, OpKind::kAttention, graph.op(last).name, inputs,
                        Attributes(attributes),
                        {graph.tensor(graph.op(last).outputs[0]).name + ".batches"});
}

/// Why the ops are better left apart, or an empty text.
std::string WhyNot(const Graph& graph, OpId last, const Match& match, const Op& attention,
                   const PassContext& context) {
  const Shape& q = graph.tensor(attention.inputs[0]).shape;
  if (q[q.rank - 2] < 2) {
    return "one query reads keys and values once, so that copying them does not pay";
  }
  if (!context.has_fast_kernel || !context.has_fast_kernel(graph, attention)) {
    return "no fast kernel computes attention as one op";
  }
  if (!context.why_worse_kernel) return "";
  std::vector<OpId> parts = match.between;
  parts.push_back(match.product);
  parts.push_back(last);
  for (const OpId part : parts) {
    if (graph.op(part).kind == OpKind::kReshape) continue;
    std::string reason = context.why_worse_kernel(graph, graph.op(part), attention);
    if (!reason.empty()) return reason;
  }
  return "";
}

/// Lets the readers of the last product, or of a reshape that alone reads it, read the attention.
void Replace(Graph& graph, OpId last, OpId attention) {
  const TensorId y = graph.op(attention).outputs[0];
  const Shape shape = graph.tensor(y).shape;
  const TensorId product = graph.op(last).outputs[0];
  OpId replaced = last;
  if (graph.tensor(product).shape != shape) {
    replaced = graph.OnlyConsumer(product);
    const bool counts = replaced != kNone && graph.op(replaced).kind == OpKind::kReshape &&
                        graph.tensor(graph.op(replaced).outputs[0]).shape == shape;
    if (!counts) {
      Op& op = graph.MutableOp(last);
      op.kind = OpKind::kReshape;
      op.attributes = Attributes(ReshapeTo(graph.tensor(product).shape));
      op.inputs = {y};
      return;
    }
  }
  const std::string name = graph.tensor(graph.op(replaced).outputs[0]).name;
  BypassAndErase(graph, replaced, y);
  graph.RenameTensor(y, name);
}

}  // namespace

Status FuseAttention(Graph& graph, PassContext& context) {
  const std::vector<OpId> order = graph.OpOrder();
  for (const OpId id : order) {
    if (!graph.IsOp(id) || graph.op(id).kind != OpKind::kMatMul) continue;
    const std::optional<Match> match = MatchAttention(graph, graph.op(id));
    if (!match) continue;
    TENON_ASSIGN_OR_RETURN(const OpId attention, InsertAttention(graph, id, *match));
    const std::string reason = WhyNot(graph, id, *match, graph.op(attention), context);
    if (!reason.empty()) {
      Decline(graph, id, reason, context.report);
      EraseIfUnread(graph, attention);
      continue;
    }
    RecordFusion(graph, attention, match->product);
    for (const OpId between : match->between) RecordFusion(graph, attention, between);
    Replace(graph, id, attention);
    EraseIfUnread(graph, match->softmax);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
