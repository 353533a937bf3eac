#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/rewrite.hpp"
#include "converter/ir/shapes.hpp"
#include "converter/passes/move_transposes.hpp"
#include "converter/passes/passes.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon::converter {
namespace {

/// Two constant masks become one of at most so many bytes.
constexpr int64_t kMostMaskBytes = int64_t{4} << 20;

/// A tensor beside the scores that it is added to, or multiplies.
struct Beside {
  TensorId tensor = kNone;
  Shape scores;
};

/// What an attention is made of; the op is put in the place of its last product.
struct AttentionMatch {
  OpId product = kNone;  ///< of queries and keys
  OpId softmax = kNone;
  std::vector<OpId> between;  ///< from the last product back to the queries and keys
  TensorId queries = kNone;
  TensorId keys = kNone;
  Beside mask;
  Beside inner_mask;  ///< constant, as `mask` is then: the one that is added first
  Beside factor;      ///< a number for each matrix
  double scale = 1;
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
TensorId BeforeReshapes(const Graph& graph, TensorId id, AttentionMatch& match) {
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

/// Goes back over a product or quotient with a number, into the match's scale.
bool TakeNumber(const Graph& graph, TensorId& x, AttentionMatch& match) {
  const Op* op = BinaryOf(graph, x, BinaryFunction::kDiv);
  const bool divides = op != nullptr;
  if (!divides) op = BinaryOf(graph, x, BinaryFunction::kMul);
  if (op == nullptr) return false;
  const size_t constant = !divides && graph.tensor(op->inputs[0]).IsConstant() ? 0 : 1;
  const auto number = ScalarValue(graph, op->inputs[constant]);
  const TensorId other = op->inputs[1 - constant];
  // The number may have more dimensions than what it multiplies.
  if (!number || graph.tensor(other).shape != graph.tensor(x).shape) return false;
  match.scale *= divides ? 1 / *number : *number;
  match.between.push_back(graph.tensor(x).producer);
  x = other;
  return true;
}

/// Goes back over a product of scores with a number for each matrix of them.
bool TakeFactor(const Graph& graph, TensorId& scores, AttentionMatch& match) {
  const Op* mul = BinaryOf(graph, scores, BinaryFunction::kMul);
  if (mul == nullptr || match.factor.tensor != kNone) return false;
  const Shape& shape = graph.tensor(scores).shape;
  for (size_t i = 0; i < 2; ++i) {
    const TensorId factor = mul->inputs[i];
    const TensorId other = mul->inputs[1 - i];
    const Shape& own = graph.tensor(factor).shape;
    const bool is_of_matrices = own.rank >= 2 && own[own.rank - 1] == 1 && own[own.rank - 2] == 1;
    if (!is_of_matrices || factor == other || graph.tensor(other).shape != shape) continue;
    match.factor = {factor, shape};
    match.between.push_back(graph.tensor(scores).producer);
    scores = other;
    return true;
  }
  return false;
}

/// Goes from scores, which may be scaled, back to queries and keys, which may be scaled, too.
bool TakeScores(const Graph& graph, TensorId scores, AttentionMatch& match) {
  scores = BeforeReshapes(graph, scores, match);
  while (TakeNumber(graph, scores, match) || TakeFactor(graph, scores, match)) {
  }
  match.product = SoleProducer(graph, BeforeReshapes(graph, scores, match), OpKind::kMatMul);
  if (match.product == kNone || !IsPlainProduct(graph, graph.op(match.product))) return false;
  match.queries = graph.op(match.product).inputs[0];
  match.keys = graph.op(match.product).inputs[1];
  for (TensorId* factor : {&match.queries, &match.keys}) {
    while (TakeNumber(graph, *factor, match)) {
    }
  }
  return std::isfinite(static_cast<float>(match.scale));
}

using TakePart = bool (*)(const Graph& graph, TensorId scores, AttentionMatch& match);

/// Goes back over a sum of scores and a mask; `take` goes on from the scores.
bool TakeSum(const Graph& graph, TensorId logits, Beside AttentionMatch::*mask, TakePart take,
             AttentionMatch& match) {
  logits = BeforeReshapes(graph, logits, match);
  const Op* sum = BinaryOf(graph, logits, BinaryFunction::kAdd);
  if (sum == nullptr) return false;
  const Shape& shape = graph.tensor(logits).shape;
  match.between.push_back(graph.tensor(logits).producer);
  for (size_t i = 0; i < 2; ++i) {
    const TensorId scores = sum->inputs[i];
    // The mask must not be the scores, which attention keeps nowhere, nor have more dimensions.
    if (sum->inputs[1 - i] == scores || !SameMatrices(graph.tensor(scores).shape, shape)) continue;
    AttentionMatch rest = match;
    rest.*mask = {sum->inputs[1 - i], shape};
    if (!take(graph, scores, rest)) continue;
    match = std::move(rest);
    return true;
  }
  return false;
}

/// Takes scores, or what is left of a sum of them and two constant masks.
bool TakeMaskedScores(const Graph& graph, TensorId scores, AttentionMatch& match) {
  AttentionMatch plain = match;
  if (TakeScores(graph, scores, plain)) {
    match = std::move(plain);
    return true;
  }
  return graph.tensor(match.mask.tensor).IsConstant() &&
         TakeSum(graph, scores, &AttentionMatch::inner_mask, TakeScores, match) &&
         graph.tensor(match.inner_mask.tensor).IsConstant();
}

/// Goes back over the sums with masks, if there are any.
std::optional<AttentionMatch> MatchScores(const Graph& graph, TensorId logits,
                                          const AttentionMatch& last) {
  AttentionMatch match = last;
  if (TakeScores(graph, logits, match)) return match;
  match = last;
  if (TakeSum(graph, logits, &AttentionMatch::mask, TakeMaskedScores, match)) return match;
  return std::nullopt;
}

std::optional<AttentionMatch> MatchAttention(const Graph& graph, const Op& last) {
  if (!IsPlainProduct(graph, last) || last.inputs[0] == last.inputs[1]) return std::nullopt;
  AttentionMatch match;
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

/// The shape of a tensor that broadcasts to `from`, where each dimension of that is some of `to`.
std::optional<Shape> CountedAs(const Shape& shape, const Shape& from, const Shape& to) {
  if (from == to) return shape;
  const std::vector<int32_t> begins = RunsOf(from, to);
  if (begins.empty()) return std::nullopt;
  Shape result = to;
  for (int32_t i = 0; i < from.rank; ++i) {
    const int32_t own = i - (from.rank - shape.rank);
    if (own >= 0 && shape[own] == from[i]) continue;
    std::fill(result.dims + begins[static_cast<size_t>(i)],
              result.dims + begins[static_cast<size_t>(i) + 1], 1);
  }
  return result;
}

/// Adds, to each element of a sum of shape `all`, that of a tensor which broadcasts to it.
void AddBroadcast(const std::vector<double>& values, const Shape& shape, const Shape& all,
                  std::vector<double>& sum) {
  std::vector<size_t> steps(static_cast<size_t>(all.rank), 0);
  size_t step = 1;
  for (int32_t i = shape.rank; i-- > 0;) {
    if (shape[i] != 1) steps[static_cast<size_t>(i + all.rank - shape.rank)] = step;
    step *= static_cast<size_t>(shape[i]);
  }
  for (size_t i = 0; i < sum.size(); ++i) {
    size_t at = 0;
    size_t rest = i;
    for (int32_t k = all.rank; k-- > 0; rest /= static_cast<size_t>(all[k])) {
      at += rest % static_cast<size_t>(all[k]) * steps[static_cast<size_t>(k)];
    }
    sum[i] += values[at];
  }
}

/// The mask that has the effect of both, if there are two. Returns why not, or an empty text.
std::string JoinMasks(Graph& graph, AttentionMatch& match) {
  if (match.inner_mask.tensor == kNone) return "";
  const Tensor& outer = graph.tensor(match.mask.tensor);
  const Tensor& inner = graph.tensor(match.inner_mask.tensor);
  const auto counted = CountedAs(inner.shape, match.inner_mask.scores, match.mask.scores);
  Shape all;
  if (!counted || !Broadcast(outer.shape, *counted, &all)) return "its masks are of other scores";
  if (all.Elements() * DTypeBytes(DType::kF32) > kMostMaskBytes) {
    return "the sum of its masks would be large";
  }
  std::vector<double> sum(static_cast<size_t>(all.Elements()), 0.0);
  AddBroadcast(ReadElements(outer), outer.shape, all, sum);
  AddBroadcast(ReadElements(inner), *counted, all, sum);
  match.mask.tensor =
      graph.AddConstant(outer.name + ".sum", DType::kF32, all, WriteElements(DType::kF32, sum));
  match.inner_mask.tensor = kNone;
  return "";
}

/// The queries, each matrix times its factor, if there is one.
Result<TensorId> Scaled(Graph& graph, const AttentionMatch& match, OpId before) {
  if (match.factor.tensor == kNone) return match.queries;
  TENON_ASSIGN_OR_RETURN(const TensorId queries,
                         WithBatchesOf(graph, match.factor.scores, match.queries, before));
  BinaryAttributes times;
  times.function = BinaryFunction::kMul;
  TENON_ASSIGN_OR_RETURN(
      const OpId scaled,
      graph.InsertOp(before, OpKind::kBinary, graph.tensor(match.queries).name + ".scaled",
                     {queries, match.factor.tensor}, Attributes(times)));
  return graph.op(scaled).outputs[0];
}

/// The values as attention takes them, which the last product may transpose.
Result<TensorId> Values(Graph& graph, OpId last) {
  const TensorId v = graph.op(last).inputs[1];
  if (graph.op(last).attributes.As<MatMulAttributes>().transpose_b == 0) return v;
  const int32_t rank = graph.tensor(v).shape.rank;
  TransposeAttributes turn;
  turn.rank = rank;
  for (int32_t i = 0; i < rank; ++i) turn.permutation[i] = i;
  std::swap(turn.permutation[rank - 2], turn.permutation[rank - 1]);
  TENON_ASSIGN_OR_RETURN(const OpId turned,
                         graph.InsertOp(last, OpKind::kTranspose, graph.tensor(v).name + ".turned",
                                        {v}, Attributes(turn)));
  return graph.op(turned).outputs[0];
}

/// Puts an attention before the last product. The mask says how its matrices are counted.
Result<OpId> InsertAttention(Graph& graph, OpId last, const AttentionMatch& match) {
  TENON_ASSIGN_OR_RETURN(const TensorId queries, Scaled(graph, match, last));
  TENON_ASSIGN_OR_RETURN(const TensorId values, Values(graph, last));
  const bool is_masked = match.mask.tensor != kNone;
  const Shape like = is_masked ? match.mask.scores : graph.tensor(values).shape;
  AttentionAttributes attributes;
  attributes.scale = static_cast<float>(match.scale);
  // A product takes its second factor as [..., D, N], attention the keys as [..., N, D].
  attributes.transpose_k =
      1 - graph.op(match.product).attributes.As<MatMulAttributes>().transpose_b;
  std::vector<TensorId> inputs = {queries, match.keys, values};
  for (TensorId& input : inputs) {
    TENON_ASSIGN_OR_RETURN(input, WithBatchesOf(graph, like, input, last));
  }
  if (is_masked) inputs.push_back(match.mask.tensor);
  return graph.InsertOp(last, OpKind::kAttention, graph.op(last).name, inputs,
                        Attributes(attributes),
                        {graph.tensor(graph.op(last).outputs[0]).name + ".batches"});
}

/// Why the ops are better left apart, or an empty text.
std::string WhyNot(const Graph& graph, OpId last, const AttentionMatch& match, const Op& attention,
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
    std::optional<AttentionMatch> match = MatchAttention(graph, graph.op(id));
    if (!match) continue;
    std::string reason = JoinMasks(graph, *match);
    if (!reason.empty()) {
      Decline(graph, id, reason, context.report);
      continue;
    }
    TENON_ASSIGN_OR_RETURN(const OpId attention, InsertAttention(graph, id, *match));
    reason = WhyNot(graph, id, *match, graph.op(attention), context);
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
