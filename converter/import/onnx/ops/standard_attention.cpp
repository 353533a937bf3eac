// Attention and RotaryEmbedding as ONNX has them since operator set 23.
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

/// The input attn_mask as what is added to scores, with four dimensions.
Result<TensorId> AddedMask(Lowering& node, const Shape& scores, DType dtype) {
  TENON_ASSIGN_OR_RETURN(TensorId mask, node.Input(kMask));
  std::vector<int64_t> dims = DimsOf(node.ShapeOf(mask));
  const bool fits = dims.size() >= 2 && dims.size() <= 4 && dims.back() == scores[3];
  if (!fits) {
    return InputError("its attn_mask has shape {}, one that ends in {}, {} is wanted",
                      fmt::join(dims, "x"), scores[2], scores[3]);
  }
  dims.insert(dims.begin(), 4 - dims.size(), 1);
  TENON_ASSIGN_OR_RETURN(mask, node.Reshape(mask, dims));
  if (node.DTypeOf(mask) != DType::kBool) return node.Cast(mask, dtype);
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId hidden,
                         node.Scalar("hidden", dtype, -std::numeric_limits<double>::infinity()));
  return Select(node, mask, zero, hidden);
}

/// A mask, or 0 if it is kNone, where a query sees a key: those that went before, and up to as many
/// new ones as stand before it.
Result<TensorId> Causal(Lowering& node, TensorId mask, const Shape& scores, int64_t past,
                        DType dtype) {
  TENON_ASSIGN_OR_RETURN(const TensorId keys, Iota(node, DType::kI64, scores[3], 3, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId words, Iota(node, DType::kI64, scores[2], 2, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId before,
                         node.Scalar("past", DType::kI64, static_cast<double>(past)));
  TENON_ASSIGN_OR_RETURN(const TensorId own, node.Binary(BinaryFunction::kAdd, words, before));
  TENON_ASSIGN_OR_RETURN(const TensorId seen, node.Binary(BinaryFunction::kLessOrEqual, keys, own));
  TENON_ASSIGN_OR_RETURN(const TensorId hidden,
                         node.Scalar("hidden", dtype, -std::numeric_limits<double>::infinity()));
  if (mask == kNone) {
    TENON_ASSIGN_OR_RETURN(mask, node.Scalar("zero", dtype, 0));
  }
  return Select(node, seen, mask, hidden);
}

/// What is added to scores of shape `scores`.
Result<SeenMask> ReadMask(Lowering& node, const Shape& scores, int64_t past, DType dtype) {
  TensorId mask = kNone;
  if (node.HasInput(kMask)) {
    TENON_ASSIGN_OR_RETURN(mask, AddedMask(node, scores, dtype));
  }
  if (node.Flag("is_causal", false)) {
    TENON_ASSIGN_OR_RETURN(mask, Causal(node, mask, scores, past, dtype));
  }
  if (mask == kNone) return SeenMask{};
  return TakeApart(node, mask);
}

Status LowerAttention(Lowering& node) {
  constexpr int kScores = 3;
  TENON_RETURN_IF_ERROR(RefuseInputs(node, {{kKeyLengths, "nonpad_kv_seqlen"}}));
  if (node.OutputUsed(kScores)) return InputError("its output qk_matmul_output is not supported");
  node.Ignore({"qk_matmul_output_mode", "softmax_precision"});
  Heads heads;
  TENON_ASSIGN_OR_RETURN(const TensorId query, node.Input(kQuery));
  TENON_ASSIGN_OR_RETURN(heads.q, ByHead(node, kQuery, "q_num_heads"));
  TENON_ASSIGN_OR_RETURN(heads.k, ByHead(node, kKey, "kv_num_heads"));
  TENON_ASSIGN_OR_RETURN(heads.v, ByHead(node, kValue, "kv_num_heads"));
  TensorId past_key = kNone;
  TensorId past_value = kNone;
  int64_t past = 0;
  if (node.HasInput(kPastKey)) {
    TENON_ASSIGN_OR_RETURN(past_key, node.Input(kPastKey));
    TENON_ASSIGN_OR_RETURN(past_value, node.Input(kPastValue));
    if (node.ShapeOf(past_key).rank == 4) past = node.ShapeOf(past_key)[2];
  }
  TENON_ASSIGN_OR_RETURN(heads.k, AfterPast(node, past_key, heads.k, 1));
  TENON_ASSIGN_OR_RETURN(heads.v, AfterPast(node, past_value, heads.v, 2));
  const Shape q = node.ShapeOf(heads.q);
  const Shape k = node.ShapeOf(heads.k);
  if (k[1] < 1 || q[1] % k[1] != 0) {
    return InputError("{} heads of queries cannot share {} of keys", q[1], k[1]);
  }
  Shape scores = q;
  scores[3] = k[2];
  TENON_ASSIGN_OR_RETURN(SeenMask mask, ReadMask(node, scores, past, node.DTypeOf(heads.q)));
  const int64_t shared = q[1] / k[1];
  for (TensorId* part : {&mask.mask, &mask.blind}) {
    if (*part == kNone) continue;
    TENON_ASSIGN_OR_RETURN(*part, ForGroups(node, *part, q[1], shared));
  }
  TENON_ASSIGN_OR_RETURN(heads.q, node.Reshape(heads.q, {q[0], k[1], shared * q[2], q[3]}));
  TENON_ASSIGN_OR_RETURN(TensorId y, AttentionByHead(node, heads, mask.mask));
  TENON_ASSIGN_OR_RETURN(y, ZeroWhereBlind(node, mask, y));
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

constexpr LoweringRow kRows[] = {
    {"Attention", LowerAttention, {}, "past of a fixed length; no output qk_matmul_output"},
    {"RotaryEmbedding", LowerRotary},
};

}  // namespace

constexpr Span<const LoweringRow> kStandardAttentionLowerings = kRows;

}  // namespace tenon::converter
