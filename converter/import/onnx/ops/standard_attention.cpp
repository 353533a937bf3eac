// Attention and RotaryEmbedding as ONNX has them since operator set 23.
#include <algorithm>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/attention_parts.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/rotary.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

enum AttentionInput : int { kQuery, kKey, kValue, kMask, kPastKey, kPastValue, kKeyLengths };

/// An operand by head: it is so already, or has its heads beside each other as `attribute` says.
Result<TensorId> ByHead(Lowering& node, int input, const char* attribute) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(input));
  const int64_t heads = node.Int(attribute, 0);
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 4) return SplitHeads(node, x, heads);
  if (heads != 0 && heads != shape[1]) {
    return InputError("{} is {}, but input {} has {} heads", attribute, heads, input, shape[1]);
  }
  return x;
}

constexpr double kHidden = -std::numeric_limits<double>::infinity();

/// The input attn_mask as what is added to scores, with four dimensions. Keys behind its last one
/// are hidden.
Result<TensorId> AddedMask(Lowering& node, const Shape& scores, DType dtype) {
  TENON_ASSIGN_OR_RETURN(TensorId mask, node.Input(kMask));
  std::vector<int64_t> dims = DimsOf(node.ShapeOf(mask));
  constexpr int kShorterSince = 24;
  const bool fits =
      !dims.empty() && dims.size() <= 4 &&
      (dims.back() == scores[3] || (node.opset() >= kShorterSince && dims.back() < scores[3]));
  if (!fits) {
    return InputError("its attn_mask has shape {}, one that ends in {}, {} is wanted",
                      fmt::join(dims, "x"), scores[2], scores[3]);
  }
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  TENON_ASSIGN_OR_RETURN(mask, node.Reshape(mask, dims));
  if (node.DTypeOf(mask) != DType::kBool) {
    TENON_ASSIGN_OR_RETURN(mask, node.Cast(mask, dtype));
  } else {
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId hidden, node.Scalar("hidden", dtype, kHidden));
    TENON_ASSIGN_OR_RETURN(mask, Select(node, mask, zero, hidden));
  }
  if (dims.back() == scores[3]) return mask;
  Shape rest = node.ShapeOf(mask);
  rest[3] = scores[3] - rest[3];
  TENON_ASSIGN_OR_RETURN(TensorId hidden, node.Scalar("hidden", dtype, kHidden));
  TENON_ASSIGN_OR_RETURN(hidden, node.Expand(hidden, rest));
  ConcatAttributes concat;
  concat.axis = 3;
  return node.Emit(OpKind::kConcat, {mask, hidden}, Attributes(concat));
}

/// Where queries stand among keys.
struct QueryPlaces {
  int64_t past = 0;          ///< keys before the first query's own
  TensorId lengths = kNone;  ///< [B, 1, 1, 1]: keys that count; kNone: all
};

/// The input nonpad_kv_seqlen.
Result<TensorId> ReadLengths(Lowering& node, const Shape& scores) {
  if (!node.HasInput(kKeyLengths)) return kNone;
  if (node.HasInput(kPastKey)) return InputError("it has both a past and nonpad_kv_seqlen");
  TENON_ASSIGN_OR_RETURN(TensorId lengths, node.Input(kKeyLengths));
  if (node.ShapeOf(lengths) != Shape({scores[0]})) {
    return InputError("its nonpad_kv_seqlen has not one number for each of {} batches", scores[0]);
  }
  TENON_ASSIGN_OR_RETURN(lengths,
                         InRange(node, lengths, int64_t{scores[3]} + 1, "nonpad_kv_seqlen"));
  return node.Reshape(lengths, {scores[0], 1, 1, 1});
}

/// The keys that a query's own place lets it see, after is_causal, the windows and the lengths;
/// [B or 1, 1, S or 1, T] or kNone: all.
Result<TensorId> SeenKeys(Lowering& node, const Shape& scores, const QueryPlaces& places) {
  using F = BinaryFunction;
  const bool causal = node.Flag("is_causal", false);
  const int64_t left = node.Int("left_window_size", -1);
  const int64_t right = node.Int("right_window_size", -1);
  TENON_ASSIGN_OR_RETURN(const TensorId keys, Iota(node, DType::kI64, scores[3], 3, 4));
  TensorId seen = kNone;
  const auto also = [&](F function, TensorId bound) -> Status {
    TENON_ASSIGN_OR_RETURN(const TensorId more, node.Binary(function, keys, bound));
    if (seen == kNone) {
      seen = more;
      return {};
    }
    TENON_ASSIGN_OR_RETURN(seen, node.Binary(F::kAnd, seen, more));
    return {};
  };
  const auto number = [&](const char* name, int64_t value) {
    return node.Scalar(name, DType::kI64, static_cast<double>(value));
  };
  if (causal || left >= 0 || right >= 0) {
    TENON_ASSIGN_OR_RETURN(const TensorId words, Iota(node, DType::kI64, scores[2], 2, 4));
    TENON_ASSIGN_OR_RETURN(TensorId before, number("past", places.past));
    if (places.lengths != kNone) {
      TENON_ASSIGN_OR_RETURN(const TensorId queries, number("queries", scores[2]));
      TENON_ASSIGN_OR_RETURN(before, node.Binary(F::kSub, places.lengths, queries));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId own, node.Binary(F::kAdd, words, before));
    if (causal) TENON_RETURN_IF_ERROR(also(F::kLessOrEqual, own));
    if (left >= 0) {
      TENON_ASSIGN_OR_RETURN(const TensorId size,
                             number("left", std::min<int64_t>(left, INT32_MAX)));
      TENON_ASSIGN_OR_RETURN(const TensorId first, node.Binary(F::kSub, own, size));
      TENON_RETURN_IF_ERROR(also(F::kGreaterOrEqual, first));
    }
    if (right >= 0) {
      TENON_ASSIGN_OR_RETURN(const TensorId size,
                             number("right", std::min<int64_t>(right, INT32_MAX)));
      TENON_ASSIGN_OR_RETURN(const TensorId last, node.Binary(F::kAdd, own, size));
      TENON_RETURN_IF_ERROR(also(F::kLessOrEqual, last));
    }
  }
  if (places.lengths != kNone) TENON_RETURN_IF_ERROR(also(F::kLess, places.lengths));
  return seen;
}

/// What is added to scores of shape `scores`, minus infinity where a key is hidden; kNone: nothing.
Result<TensorId> ReadMask(Lowering& node, const Shape& scores, int64_t past, DType dtype) {
  TensorId mask = kNone;
  if (node.HasInput(kMask)) {
    TENON_ASSIGN_OR_RETURN(mask, AddedMask(node, scores, dtype));
  }
  QueryPlaces places;
  places.past = past;
  TENON_ASSIGN_OR_RETURN(places.lengths, ReadLengths(node, scores));
  TENON_ASSIGN_OR_RETURN(const TensorId seen, SeenKeys(node, scores, places));
  if (seen == kNone) return mask;
  TENON_ASSIGN_OR_RETURN(const TensorId hidden, node.Scalar("hidden", dtype, kHidden));
  if (mask == kNone) {
    TENON_ASSIGN_OR_RETURN(mask, node.Scalar("zero", dtype, 0));
  }
  return Select(node, seen, mask, hidden);
}

/// The attention of heads of which some share keys, with the scores that the output
/// qk_matmul_output asks for; both [B, key heads, shared * S, ..].
struct ShownAttention {
  TensorId y = kNone;
  TensorId scores = kNone;
};

/// `mask`: for groups, as it was before it was taken apart; may be kNone.
Result<ShownAttention> AttentionWithScores(Lowering& node, const Heads& heads, TensorId mask,
                                           const SeenMask& seen) {
  enum : int64_t { kProducts, kCapped, kMasked, kShares };
  const int64_t mode = node.Int("qk_matmul_output_mode", kProducts);
  if (mode < kProducts || mode > kShares) {
    return InputError("qk_matmul_output_mode is {}, 0 to 3 are known", mode);
  }
  ShownAttention shown;
  TENON_ASSIGN_OR_RETURN(const TensorId products, Products(node, heads));
  TENON_ASSIGN_OR_RETURN(const TensorId capped, Capped(node, products));
  TENON_ASSIGN_OR_RETURN(TensorId shares, Shares(node, capped, seen.mask));
  TENON_ASSIGN_OR_RETURN(shares, ZeroWhereBlind(node, seen, shares));
  TENON_ASSIGN_OR_RETURN(
      shown.y, node.Emit(OpKind::kMatMul, {shares, heads.v}, Attributes(MatMulAttributes())));
  shown.scores = mode == kProducts ? products : mode == kShares ? shares : capped;
  if (mode == kMasked && mask != kNone) {
    TENON_ASSIGN_OR_RETURN(shown.scores, node.Binary(BinaryFunction::kAdd, capped, mask));
  }
  return shown;
}

/// Queries, and keys and values behind what went before.
Result<Heads> ReadHeads(Lowering& node, int64_t& past) {
  Heads heads;
  TENON_ASSIGN_OR_RETURN(heads.q, ByHead(node, kQuery, "q_num_heads"));
  TENON_ASSIGN_OR_RETURN(heads.k, ByHead(node, kKey, "kv_num_heads"));
  TENON_ASSIGN_OR_RETURN(heads.v, ByHead(node, kValue, "kv_num_heads"));
  TensorId past_key = kNone;
  TensorId past_value = kNone;
  if (node.HasInput(kPastKey)) {
    TENON_ASSIGN_OR_RETURN(past_key, node.Input(kPastKey));
    TENON_ASSIGN_OR_RETURN(past_value, node.Input(kPastValue));
    if (node.ShapeOf(past_key).rank == 4) past = node.ShapeOf(past_key)[2];
  }
  TENON_ASSIGN_OR_RETURN(heads.k, AfterPast(node, past_key, heads.k, 1));
  TENON_ASSIGN_OR_RETURN(heads.v, AfterPast(node, past_value, heads.v, 2));
  return heads;
}

Status LowerStandardAttention(Lowering& node) {
  constexpr int kScores = 3;
  node.Ignore({"qk_matmul_output_mode", "softmax_precision"});
  TENON_ASSIGN_OR_RETURN(const TensorId query, node.Input(kQuery));
  int64_t past = 0;
  TENON_ASSIGN_OR_RETURN(Heads heads, ReadHeads(node, past));
  const Shape q = node.ShapeOf(heads.q);
  const Shape k = node.ShapeOf(heads.k);
  if (k[1] < 1 || q[1] % k[1] != 0) {
    return InputError("{} heads of queries cannot share {} of keys", q[1], k[1]);
  }
  const int64_t shared = q[1] / k[1];
  Shape scores = q;
  scores[3] = k[2];
  TENON_ASSIGN_OR_RETURN(TensorId mask, ReadMask(node, scores, past, node.DTypeOf(heads.q)));
  SeenMask seen;
  if (mask != kNone) {
    TENON_ASSIGN_OR_RETURN(seen, TakeApart(node, mask));
  }
  for (TensorId* part : {&mask, &seen.mask, &seen.blind}) {
    if (*part == kNone) continue;
    TENON_ASSIGN_OR_RETURN(*part, ForGroups(node, *part, q[1], shared));
  }
  TENON_ASSIGN_OR_RETURN(heads.q, node.Reshape(heads.q, {q[0], k[1], shared * q[2], q[3]}));
  TensorId y = kNone;
  if (node.OutputUsed(kScores)) {
    TENON_ASSIGN_OR_RETURN(const ShownAttention shown,
                           AttentionWithScores(node, heads, mask, seen));
    y = shown.y;
    TENON_RETURN_IF_ERROR(node.Reshape(shown.scores, DimsOf(scores), kScores).status());
  } else {
    TENON_ASSIGN_OR_RETURN(y, AttentionByHead(node, heads, seen.mask));
    TENON_ASSIGN_OR_RETURN(y, ZeroWhereBlind(node, seen, y));
  }
  const int64_t size = node.ShapeOf(y)[3];
  if (node.ShapeOf(query).rank == 4) {
    return node.Reshape(y, {q[0], q[1], q[2], size}, 0).status();
  }
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {q[0], q[1], q[2], size}));
  return JoinHeads(node, y);
}

// Without positions, the caches have a row for each word.
Status LowerRotary(Lowering& node) {
  enum : int { kX, kCos, kSin, kPositions };
  RotaryInputs inputs;
  TENON_ASSIGN_OR_RETURN(inputs.x, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(inputs.cos, node.Input(kCos));
  TENON_ASSIGN_OR_RETURN(inputs.sin, node.Input(kSin));
  if (node.HasInput(kPositions)) {
    TENON_ASSIGN_OR_RETURN(inputs.positions, node.Input(kPositions));
  }
  return EmitRotaryEmbedding(node, inputs);
}

constexpr LoweringRow kStandardAttentionRows[] = {
    {"Attention", LowerStandardAttention, {}, "past of a fixed length"},
    {"RotaryEmbedding", LowerRotary},
};

}  // namespace

constexpr Span<const LoweringRow> kStandardAttentionLowerings = kStandardAttentionRows;

}  // namespace tenon::converter
