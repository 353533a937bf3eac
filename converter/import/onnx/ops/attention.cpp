// Attention operators of com.microsoft, as ONNX Runtime's optimiser and exporters write them: put
// together from products and a softmax, which the pass FuseAttention makes one op again.
#include <algorithm>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/attention_parts.hpp"
#include "converter/import/onnx/ops/grouped_attention.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/integer_products.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/quantization.hpp"
#include "converter/import/onnx/ops/rotary.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

// --- Attention and QAttention --------------------------------------------------------------------

/// Where Attention's and QAttention's inputs stand.
struct AttentionPlaces {
  int bias;
  int mask;
  int past;
  int attention_bias = kNone;
};

/// How many of the projection's columns are queries, keys and values.
Result<std::vector<int64_t>> HiddenSizes(Lowering& node, int64_t columns, int64_t heads) {
  std::vector<int64_t> sizes = node.Ints("qkv_hidden_sizes");
  if (sizes.empty() && columns % 3 == 0) sizes.assign(3, columns / 3);
  const bool fit = sizes.size() == 3 && sizes[0] == sizes[1] && sizes[0] >= 0 && sizes[2] >= 0 &&
                   sizes[0] <= columns && sizes[2] == columns - 2 * sizes[0] && heads >= 1 &&
                   sizes[0] % heads == 0 && sizes[2] % heads == 0;
  if (!fit) {
    return InputError("its {} columns of weights cannot be queries, keys and values of {} heads",
                      columns, heads);
  }
  return sizes;
}

/// Half `index` of the keys and values that went before, [2, B, heads, L, size].
Result<TensorId> HalfOfPast(Lowering& node, TensorId past, int64_t index) {
  const Shape shape = node.ShapeOf(past);
  if (shape.rank != 5 || shape[0] != 2) return InputError("'past' must have shape [2, B, N, L, H]");
  TENON_ASSIGN_OR_RETURN(const TensorId half, node.Slice(past, SliceAlong(shape, 0, index, 1)));
  return node.Reshape(half, {shape.dims + 1, shape.dims + 5});
}

/// Keys and values as one tensor, the second output.
Status EmitPresent(Lowering& node, const Heads& heads) {
  if (!node.OutputUsed(1)) return {};
  std::vector<TensorId> halves = {heads.k, heads.v};
  for (TensorId& half : halves) {
    std::vector<int64_t> dims = DimsOf(node.ShapeOf(half));
    dims.insert(dims.begin(), 1);
    TENON_ASSIGN_OR_RETURN(half, node.Reshape(half, dims));
  }
  return node.Emit(OpKind::kConcat, halves, Attributes(ConcatAttributes()), 1).status();
}

/// What follows the projections of x, which are split by head already.
Status FinishAttention(Lowering& node, Heads heads, const AttentionPlaces& places) {
  TENON_RETURN_IF_ERROR(RefuseFlags(node, {"do_rotary", "past_present_share_buffer"}));
  node.Ignore({"rotary_embedding_dim"});
  if (node.HasInput(places.past)) {
    TENON_ASSIGN_OR_RETURN(const TensorId past, node.Input(places.past));
    TENON_ASSIGN_OR_RETURN(const TensorId keys, HalfOfPast(node, past, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId values, HalfOfPast(node, past, 1));
    TENON_ASSIGN_OR_RETURN(heads.k, AfterPast(node, keys, heads.k));
    TENON_ASSIGN_OR_RETURN(heads.v, AfterPast(node, values, heads.v));
  }
  TENON_RETURN_IF_ERROR(EmitPresent(node, heads));
  MaskPlaces masks;
  masks.mask = places.mask;
  masks.bias = places.attention_bias;
  masks.past = int64_t{node.ShapeOf(heads.k)[2]} - node.ShapeOf(heads.q)[2];
  masks.may_be_dummy = true;
  TENON_ASSIGN_OR_RETURN(const TensorId mask, ReadMask(node, heads, masks));
  return EmitAttention(node, heads, mask);
}

// The weights of queries, keys and values are three products again, as exporters write them.
Status LowerAttention(Lowering& node) {
  constexpr AttentionPlaces kPlaces = {2, 3, 4, 5};
  TENON_RETURN_IF_ERROR(RefuseInputs(node, {{6, "past_sequence_length"}}));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId weights, node.Input(1));
  const Shape shape = node.ShapeOf(weights);
  if (shape.rank != 2) return InputError("its weights have {} dimensions, not 2", shape.rank);
  const int64_t count = node.Int("num_heads", 0);
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, HiddenSizes(node, shape[1], count));
  Heads heads;
  TensorId* parts[] = {&heads.q, &heads.k, &heads.v};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId part, LastPart(node, weights, begin, sizes[i]));
    TENON_ASSIGN_OR_RETURN(
        TensorId y, EmitMatMul(node, OpKind::kMatMul, {x, part}, Attributes(MatMulAttributes())));
    if (node.HasInput(kPlaces.bias)) {
      TENON_ASSIGN_OR_RETURN(TensorId bias, node.Input(kPlaces.bias));
      if (node.ShapeOf(bias) != Shape({shape[1]})) return InputError("its bias has a wrong shape");
      TENON_ASSIGN_OR_RETURN(bias, LastPart(node, bias, begin, sizes[i]));
      TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
    }
    TENON_ASSIGN_OR_RETURN(*parts[i], SplitHeads(node, y, count));
    begin += sizes[i];
  }
  return FinishAttention(node, heads, kPlaces);
}

// The projection is one product of integers; scales may be known only when it runs.
Status LowerQAttention(Lowering& node) {
  enum : int { kX, kWeights, kBias, kXScale, kWeightsScale, kMask, kXZero, kWeightsZero, kPast };
  constexpr AttentionPlaces kPlaces = {kBias, kMask, kPast, kNone};
  QuantizedMatrix x;
  QuantizedMatrix weights;
  TENON_ASSIGN_OR_RETURN(x.id, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(weights.id, node.Input(kWeights));
  TENON_ASSIGN_OR_RETURN(x.scale, node.Input(kXScale));
  TENON_ASSIGN_OR_RETURN(weights.scale, node.Input(kWeightsScale));
  if (node.HasInput(kXZero)) {
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Input(kXZero));
    TENON_ASSIGN_OR_RETURN(x.zero_point, ParameterVector(node, zero));
  }
  if (node.HasInput(kWeightsZero)) {
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Input(kWeightsZero));
    TENON_ASSIGN_OR_RETURN(weights.zero_point, ParameterVector(node, zero));
  }
  if (node.ShapeOf(weights.id).rank != 2) return InputError("its weights must be a matrix");
  if (node.ShapeOf(x.scale).Elements() != 1) return InputError("its input must have one scale");
  const int64_t columns = node.ShapeOf(weights.id)[1];
  const int64_t count = node.Int("num_heads", 0);
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> sizes, HiddenSizes(node, columns, count));
  TENON_ASSIGN_OR_RETURN(TensorId y, ScaledProduct(node, x, weights));
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, bias));
  Heads heads;
  TensorId* parts[] = {&heads.q, &heads.k, &heads.v};
  int64_t begin = 0;
  for (size_t i = 0; i < 3; ++i) {
    TENON_ASSIGN_OR_RETURN(const TensorId part, LastPart(node, y, begin, sizes[i]));
    TENON_ASSIGN_OR_RETURN(*parts[i], SplitHeads(node, part, count));
    begin += sizes[i];
  }
  return FinishAttention(node, heads, kPlaces);
}

// --- MultiHeadAttention --------------------------------------------------------------------------

enum MultiHeadInput : int {
  kQuery,
  kKey,
  kValue,
  kBias,
  kKeyMask,
  kAttentionBias,
  kPastKey,
  kPastValue,
  kPastLength,
  kCacheIndirection
};

/// Part `index` along the dimension before the last of x [B, L, heads, parts, size], by head.
Result<TensorId> PackedPart(Lowering& node, TensorId x, int64_t index) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId part, node.Slice(x, SliceAlong(shape, 3, index, 1)));
  TENON_ASSIGN_OR_RETURN(const TensorId four,
                         node.Reshape(part, {shape[0], shape[1], shape[2], shape[4]}));
  return node.Transpose(four, {0, 2, 1, 3});
}

/// An operand [B, L, heads * size] plus its part of the bias, by head. `begin` counts the elements
/// of the bias that are used up.
Result<TensorId> BiasedHeads(Lowering& node, TensorId x, int64_t heads, int64_t& begin) {
  if (node.HasInput(kBias)) {
    const Shape shape = node.ShapeOf(x);
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
    const Shape all = node.ShapeOf(bias);
    if (shape.rank != 3 || all.rank != 1 || begin + shape[2] > all[0]) {
      return InputError("its bias is too short");
    }
    TENON_ASSIGN_OR_RETURN(const TensorId part, LastPart(node, bias, begin, shape[2]));
    begin += shape[2];
    TENON_ASSIGN_OR_RETURN(x, node.Binary(BinaryFunction::kAdd, x, part));
  }
  return SplitHeads(node, x, heads);
}

/// Queries, keys and values are one operand [B, L, heads, 3, size].
Result<Heads> PackedHeads(Lowering& node, TensorId x) {
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 5 || shape[3] != 3) return InputError("without keys, its query must be packed");
  if (node.HasInput(kBias)) {  // [3, heads, size]
    TENON_ASSIGN_OR_RETURN(TensorId bias, node.Input(kBias));
    TENON_ASSIGN_OR_RETURN(bias, node.Reshape(bias, {3, shape[2], shape[4]}));
    TENON_ASSIGN_OR_RETURN(bias, node.Transpose(bias, {1, 0, 2}));
    TENON_ASSIGN_OR_RETURN(x, node.Binary(BinaryFunction::kAdd, x, bias));
  }
  Heads heads;
  TENON_ASSIGN_OR_RETURN(heads.q, PackedPart(node, x, 0));
  TENON_ASSIGN_OR_RETURN(heads.k, PackedPart(node, x, 1));
  TENON_ASSIGN_OR_RETURN(heads.v, PackedPart(node, x, 2));
  return heads;
}

Result<Heads> ReadHeads(Lowering& node, int64_t count) {
  TENON_ASSIGN_OR_RETURN(const TensorId query, node.Input(kQuery));
  if (!node.HasInput(kKey)) return PackedHeads(node, query);
  TENON_ASSIGN_OR_RETURN(const TensorId key, node.Input(kKey));
  Heads heads;
  int64_t begin = 0;
  TENON_ASSIGN_OR_RETURN(heads.q, BiasedHeads(node, query, count, begin));
  const int32_t rank = node.ShapeOf(key).rank;
  if (rank == 5 && node.HasInput(kBias)) return InputError("a bias with packed keys is not known");
  if (!node.HasInput(kValue)) {
    if (rank != 5 || node.ShapeOf(key)[3] != 2) {
      return InputError("without values, its keys must be packed with them");
    }
    TENON_ASSIGN_OR_RETURN(heads.k, PackedPart(node, key, 0));
    TENON_ASSIGN_OR_RETURN(heads.v, PackedPart(node, key, 1));
    return heads;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId value, node.Input(kValue));
  if (rank == 4) {  // by head already, the bias with them
    heads.k = key;
    heads.v = value;
    if (node.ShapeOf(value).rank != 4) return InputError("its keys have rank 4, its values do not");
    return heads;
  }
  TENON_ASSIGN_OR_RETURN(heads.k, BiasedHeads(node, key, count, begin));
  TENON_ASSIGN_OR_RETURN(heads.v, BiasedHeads(node, value, count, begin));
  return heads;
}

Status LowerMultiHeadAttention(Lowering& node) {
  constexpr int kPresentKey = 1;
  constexpr int kPresentValue = 2;
  constexpr int kScores = 3;
  TENON_RETURN_IF_ERROR(RefuseInputs(
      node, {{kPastLength, "past_sequence_length"}, {kCacheIndirection, "cache_indirection"}}));
  if (node.OutputUsed(kScores)) return InputError("its output 'qk' is not supported");
  TENON_ASSIGN_OR_RETURN(Heads heads, ReadHeads(node, node.Int("num_heads", 0)));
  MaskPlaces places;
  places.mask = kKeyMask;
  places.bias = kAttentionBias;
  places.may_be_negative = true;
  TensorId past_key = kNone;
  TensorId past_value = kNone;
  if (node.HasInput(kPastKey)) {
    TENON_ASSIGN_OR_RETURN(past_key, node.Input(kPastKey));
    TENON_ASSIGN_OR_RETURN(past_value, node.Input(kPastValue));
    if (node.ShapeOf(past_key).rank == 4) places.past = node.ShapeOf(past_key)[2];
  }
  TENON_ASSIGN_OR_RETURN(heads.k, AfterPast(node, past_key, heads.k, kPresentKey));
  TENON_ASSIGN_OR_RETURN(heads.v, AfterPast(node, past_value, heads.v, kPresentValue));
  TENON_ASSIGN_OR_RETURN(const TensorId mask, ReadMask(node, heads, places));
  return EmitAttention(node, heads, mask);
}

constexpr std::string_view kPastLimits = "past of a fixed length";

constexpr LoweringRow kAttentionRows[] = {
    {"Attention", LowerAttention, "com.microsoft", kPastLimits},
    {"GroupQueryAttention", LowerGroupQueryAttention, "com.microsoft",
     "total_sequence_length constant; no quantised past"},
    {"MultiHeadAttention", LowerMultiHeadAttention, "com.microsoft",
     "past of a fixed length; no bias with packed keys"},
    {"QAttention", LowerQAttention, "com.microsoft", kPastLimits},
    {"RotaryEmbedding", LowerRotaryEmbedding, "com.microsoft", "no packed batches"},
};

}  // namespace

constexpr Span<const LoweringRow> kAttentionLowerings = kAttentionRows;

}  // namespace tenon::converter
