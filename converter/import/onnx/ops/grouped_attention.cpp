#include "converter/import/onnx/ops/grouped_attention.hpp"

#include <algorithm>
#include <limits>

#include "converter/import/onnx/ops/attention_parts.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/rotary.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

enum GroupedInput : int {
  kQuery,
  kKey,
  kValue,
  kPastKey,
  kPastValue,
  kLastPlaces,  ///< [B]: the place of each batch's last word
  kTotal,       ///< words of the longest batch, the past among them
  kCos,
  kSin,
  kPositions,
  kBias
};

/// Where the new words stand.
struct Places {
  int64_t words = 0;      ///< new ones
  int64_t buffer = 0;     ///< words that past keys have room for
  int64_t keys = 0;       ///< words that present keys have room for
  TensorId past = kNone;  ///< [B]: words that went before; kNone: none
};

/// Queries, keys and values by head.
Result<Heads> ReadHeads(Lowering& node, int64_t heads, int64_t groups) {
  TENON_ASSIGN_OR_RETURN(TensorId q, node.Input(kQuery));
  Heads result;
  TensorId k = kNone;
  TensorId v = kNone;
  if (node.HasInput(kKey)) {
    TENON_ASSIGN_OR_RETURN(k, node.Input(kKey));
    TENON_ASSIGN_OR_RETURN(v, node.Input(kValue));
  } else {
    const Shape shape = node.ShapeOf(q);
    const int64_t all = heads + 2 * groups;
    if (shape.rank != 3 || shape[2] % all != 0) {
      return InputError("its packed query does not have {} heads", all);
    }
    const int64_t size = shape[2] / all;
    TENON_ASSIGN_OR_RETURN(k, LastPart(node, q, heads * size, groups * size));
    TENON_ASSIGN_OR_RETURN(v, LastPart(node, q, (heads + groups) * size, groups * size));
    TENON_ASSIGN_OR_RETURN(q, LastPart(node, q, 0, heads * size));
  }
  TENON_ASSIGN_OR_RETURN(result.q, SplitHeads(node, q, heads));
  TENON_ASSIGN_OR_RETURN(result.k, SplitHeads(node, k, groups));
  TENON_ASSIGN_OR_RETURN(result.v, SplitHeads(node, v, groups));
  return result;
}

/// How long what went before is. A prompt has no past, whatever the buffer holds.
Result<Places> ReadPlaces(Lowering& node, const Shape& q) {
  Places places;
  places.words = q[2];
  if (node.HasInput(kPastKey)) {
    TENON_ASSIGN_OR_RETURN(const TensorId past, node.Input(kPastKey));
    const Shape shape = node.ShapeOf(past);
    if (shape.rank != 4) return InputError("its past_key has {} dimensions, not 4", shape.rank);
    places.buffer = shape[2];
  }
  places.keys = places.words;
  if (places.buffer == 0) return places;
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(kTotal));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> total, node.ConstantInts(given));
  if (total.size() != 1 || total[0] < places.words || total[0] > places.buffer + places.words) {
    return InputError("its total_sequence_length does not fit {} new words and {} before them",
                      places.words, places.buffer);
  }
  places.keys = std::max(places.buffer, total[0]);
  if (total[0] == places.words) return places;
  TENON_ASSIGN_OR_RETURN(const TensorId last, node.Input(kLastPlaces));
  TENON_ASSIGN_OR_RETURN(TensorId past, node.Cast(last, DType::kI64));
  TENON_ASSIGN_OR_RETURN(past, node.Reshape(past, {q[0]}));
  TENON_ASSIGN_OR_RETURN(const TensorId less,
                         node.Scalar("less", DType::kI64, static_cast<double>(places.words - 1)));
  TENON_ASSIGN_OR_RETURN(places.past, node.Binary(BinaryFunction::kSub, past, less));
  return places;
}

/// The number of words before as [B, 1, 1, 1]; 0 where there are none.
Result<TensorId> PastColumn(Lowering& node, const Places& places) {
  if (places.past == kNone) return node.Scalar("none", DType::kI64, 0);
  return node.Reshape(places.past, {node.ShapeOf(places.past)[0], 1, 1, 1});
}

/// x [B, groups, words, size] behind the words that the buffer holds; zeros behind them.
Result<TensorId> Present(Lowering& node, TensorId x, int past, const Places& places, int output) {
  if (places.buffer == 0) return AfterPast(node, kNone, x, output);
  TENON_ASSIGN_OR_RETURN(const TensorId buffer, node.Input(past));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId all, AfterPast(node, buffer, x));
  TENON_ASSIGN_OR_RETURN(const TensorId before, PastColumn(node, places));
  TENON_ASSIGN_OR_RETURN(const TensorId place, Iota(node, DType::kI64, places.keys, 2, 4));
  // Place t is word t of the buffer, or new word t - before.
  using F = BinaryFunction;
  TENON_ASSIGN_OR_RETURN(const TensorId is_old, node.Binary(F::kLess, place, before));
  TENON_ASSIGN_OR_RETURN(const TensorId word, node.Binary(F::kSub, place, before));
  TENON_ASSIGN_OR_RETURN(const TensorId count,
                         node.Scalar("words", DType::kI64, static_cast<double>(places.words)));
  TENON_ASSIGN_OR_RETURN(const TensorId is_there, node.Binary(F::kLess, word, count));
  TENON_ASSIGN_OR_RETURN(const TensorId shift,
                         node.Scalar("buffer", DType::kI64, static_cast<double>(places.buffer)));
  TENON_ASSIGN_OR_RETURN(TensorId from, node.Binary(F::kAdd, word, shift));
  TENON_ASSIGN_OR_RETURN(from, Select(node, is_old, place, from));
  TENON_ASSIGN_OR_RETURN(
      const TensorId end,
      node.Scalar("end", DType::kI64, static_cast<double>(places.buffer + places.words - 1)));
  TENON_ASSIGN_OR_RETURN(from, node.Binary(F::kMin, from, end));
  TENON_ASSIGN_OR_RETURN(
      from,
      node.Expand(from, Shape({shape[0], shape[1], static_cast<int32_t>(places.keys), shape[3]})));
  TENON_ASSIGN_OR_RETURN(const TensorId taken, EmitGatherElements(node, all, from, 2));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", node.DTypeOf(x), 0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, Select(node, is_there, taken, zero));
  node.Alias(output, y);
  return y;
}

/// Queries and keys turned by where they stand.
Status Rotate(Lowering& node, const Places& places, Heads& heads) {
  TENON_ASSIGN_OR_RETURN(const TensorId cos, node.Input(kCos));
  TENON_ASSIGN_OR_RETURN(const TensorId sin, node.Input(kSin));
  if (node.ShapeOf(cos).rank != 2 || node.ShapeOf(cos) != node.ShapeOf(sin)) {
    return InputError("its caches must be two matrices of one shape");
  }
  const Shape q = node.ShapeOf(heads.q);
  TensorId positions = kNone;
  if (node.HasInput(kPositions)) {
    TENON_ASSIGN_OR_RETURN(positions, node.Input(kPositions));
  } else {
    TENON_ASSIGN_OR_RETURN(const TensorId words, Iota(node, DType::kI64, places.words, 1, 2));
    TENON_ASSIGN_OR_RETURN(TensorId before, PastColumn(node, places));
    if (places.past != kNone) {
      TENON_ASSIGN_OR_RETURN(before, node.Reshape(before, {q[0], 1}));
    }
    TENON_ASSIGN_OR_RETURN(positions, node.Binary(BinaryFunction::kAdd, words, before));
    TENON_ASSIGN_OR_RETURN(positions, node.Expand(positions, Shape({q[0], q[2]})));
  }
  Rotation rotation;
  rotation.interleaved = node.Flag("rotary_interleaved", false);
  TENON_ASSIGN_OR_RETURN(rotation.cos, RowsAtPositions(node, cos, positions, q));
  TENON_ASSIGN_OR_RETURN(rotation.sin, RowsAtPositions(node, sin, positions, q));
  TENON_ASSIGN_OR_RETURN(heads.q, Rotated(node, heads.q, rotation));
  TENON_ASSIGN_OR_RETURN(heads.k, Rotated(node, heads.k, rotation));
  return {};
}

/// A query sees the keys up to its own, of a window only so many; [B or 1, 1, words, keys].
Result<TensorId> PlaceMask(Lowering& node, const Places& places, DType dtype) {
  using F = BinaryFunction;
  TENON_ASSIGN_OR_RETURN(const TensorId keys, Iota(node, DType::kI64, places.keys, 3, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId words, Iota(node, DType::kI64, places.words, 2, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId before, PastColumn(node, places));
  TENON_ASSIGN_OR_RETURN(const TensorId own, node.Binary(F::kAdd, words, before));
  TENON_ASSIGN_OR_RETURN(TensorId seen, node.Binary(F::kLessOrEqual, keys, own));
  const int64_t window = node.Int("local_window_size", -1);
  if (window > 0) {
    TENON_ASSIGN_OR_RETURN(const TensorId size,
                           node.Scalar("window", DType::kI64, static_cast<double>(window)));
    TENON_ASSIGN_OR_RETURN(const TensorId first, node.Binary(F::kSub, own, size));
    TENON_ASSIGN_OR_RETURN(const TensorId near, node.Binary(F::kGreater, keys, first));
    TENON_ASSIGN_OR_RETURN(seen, node.Binary(F::kAnd, seen, near));
  }
  constexpr double kMostF16 = 65504;
  const double lowest = dtype == DType::kF16 ? -kMostF16 : std::numeric_limits<float>::lowest();
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId hidden, node.Scalar("hidden", dtype, lowest));
  return Select(node, seen, zero, hidden);
}

/// A mask [B or 1, heads or 1, words, keys] for queries of which `shared` heads stand behind each
/// other.
Result<TensorId> ForGroups(Lowering& node, TensorId mask, int64_t heads, int64_t shared) {
  const Shape shape = node.ShapeOf(mask);
  if (shape[1] == heads && heads != 1) {
    return node.Reshape(mask, {shape[0], heads / shared, shared * shape[2], shape[3]});
  }
  if (shape[2] == 1 || shared == 1) return mask;
  ConcatAttributes concat;
  concat.axis = 2;
  return node.Emit(OpKind::kConcat, std::vector<TensorId>(static_cast<size_t>(shared), mask),
                   Attributes(concat));
}

}  // namespace

Status LowerGroupQueryAttention(Lowering& node) {
  TENON_RETURN_IF_ERROR(RefuseInputs(node, {{kBias + 1, "head_sink"}}));
  TENON_RETURN_IF_ERROR(RefuseFlags(node, {"qk_output"}));
  if (node.Int("smooth_softmax", 0) == 1) return InputError("smooth_softmax is not supported");
  if (node.Float("softcap", 0.0F) != 0.0F) return InputError("softcap is not supported");
  const int64_t count = node.Int("num_heads", 0);
  const int64_t groups = node.Int("kv_num_heads", 0);
  constexpr int64_t kMostHeads = 1 << 20;
  if (groups < 1 || count < 1 || count > kMostHeads || count % groups != 0) {
    return InputError("{} heads of queries cannot share {} of keys", count, groups);
  }
  TENON_ASSIGN_OR_RETURN(Heads heads, ReadHeads(node, count, groups));
  const Shape q = node.ShapeOf(heads.q);
  if (node.ShapeOf(heads.k)[2] != q[2]) return InputError("it has not as many keys as queries");
  TENON_ASSIGN_OR_RETURN(const Places places, ReadPlaces(node, q));
  node.Ignore({"rotary_interleaved"});
  if (node.Flag("do_rotary", false)) TENON_RETURN_IF_ERROR(Rotate(node, places, heads));
  TENON_ASSIGN_OR_RETURN(heads.k, Present(node, heads.k, kPastKey, places, 1));
  TENON_ASSIGN_OR_RETURN(heads.v, Present(node, heads.v, kPastValue, places, 2));
  TENON_ASSIGN_OR_RETURN(TensorId mask, PlaceMask(node, places, node.DTypeOf(heads.q)));
  if (node.HasInput(kBias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
    TENON_ASSIGN_OR_RETURN(mask, node.Binary(BinaryFunction::kAdd, mask, bias));
  }
  const int64_t shared = count / groups;
  TENON_ASSIGN_OR_RETURN(mask, ForGroups(node, mask, count, shared));
  // Heads that share keys are more queries of one head.
  TENON_ASSIGN_OR_RETURN(heads.q, node.Reshape(heads.q, {q[0], groups, shared * q[2], q[3]}));
  TENON_ASSIGN_OR_RETURN(const TensorId y, AttentionByHead(node, heads, mask));
  const int64_t size = node.ShapeOf(y)[3];
  TENON_ASSIGN_OR_RETURN(const TensorId apart, node.Reshape(y, {q[0], count, q[2], size}));
  return JoinHeads(node, apart);
}

}  // namespace tenon::converter
