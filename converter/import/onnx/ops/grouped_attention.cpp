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
  kBias,
  kSink  ///< [heads]
};

/// Where the new words stand.
struct Places {
  int64_t words = 0;      ///< new ones
  int64_t buffer = 0;     ///< words that past keys have room for
  int64_t total = 0;      ///< words of the longest batch
  int64_t keys = 0;       ///< words that present keys have room for
  TensorId past = kNone;  ///< [B]: words that went before; kNone: none
  TensorId last = kNone;  ///< [B]: of a prompt, the last place to look at; kNone: all are
};

/// Queries, keys and values by head.
Result<Heads> ReadGroupedHeads(Lowering& node, int64_t heads, int64_t groups) {
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

/// Says so if a constant place of a batch's last word is not from `least` on among those of the
/// keys.
Status CheckLastPlaces(Lowering& node, const Places& places, int64_t least) {
  if (!node.HasInput(kLastPlaces)) return {};
  TENON_ASSIGN_OR_RETURN(const TensorId last, node.Input(kLastPlaces));
  if (!node.graph().tensor(last).IsConstant()) return {};
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(last));
  for (const int64_t value : values) {
    if (value >= least && value < places.keys) continue;
    return InputError("its seqlens_k holds {}, {} to {} are possible", value, least,
                      places.keys - 1);
  }
  return {};
}

/// A prompt's last places, which other words than its own need where it is filled up.
Result<TensorId> ReadLastPlaces(Lowering& node, const Places& places, int64_t batches) {
  TENON_RETURN_IF_ERROR(CheckLastPlaces(node, places, 0));
  if (!node.HasInput(kLastPlaces)) return kNone;
  TENON_ASSIGN_OR_RETURN(TensorId last, node.Input(kLastPlaces));
  if (node.graph().tensor(last).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(last));
    const bool all = std::all_of(values.begin(), values.end(),
                                 [&](int64_t value) { return value >= places.words - 1; });
    if (all) return kNone;
  }
  TENON_ASSIGN_OR_RETURN(last, InRange(node, last, places.keys, "seqlens_k"));
  return node.Reshape(last, {batches});
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
  places.total = places.keys = places.words;
  if (places.buffer == 0) {
    TENON_ASSIGN_OR_RETURN(places.last, ReadLastPlaces(node, places, q[0]));
    return places;
  }
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(kTotal));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> total, node.ConstantInts(given));
  if (total.size() != 1 || total[0] < places.words || total[0] > places.buffer + places.words) {
    return InputError("its total_sequence_length does not fit {} new words and {} before them",
                      places.words, places.buffer);
  }
  places.total = total[0];
  places.keys = std::max(places.buffer, total[0]);
  if (total[0] == places.words) {
    TENON_ASSIGN_OR_RETURN(places.last, ReadLastPlaces(node, places, q[0]));
    return places;
  }
  TENON_RETURN_IF_ERROR(CheckLastPlaces(node, places, places.words - 1));
  TENON_ASSIGN_OR_RETURN(const TensorId last, node.Input(kLastPlaces));
  TENON_ASSIGN_OR_RETURN(TensorId past, node.Cast(last, DType::kI64));
  TENON_ASSIGN_OR_RETURN(past, node.Reshape(past, {q[0]}));
  TENON_ASSIGN_OR_RETURN(const TensorId less,
                         node.Scalar("less", DType::kI64, static_cast<double>(places.words - 1)));
  TENON_ASSIGN_OR_RETURN(past, node.Binary(BinaryFunction::kSub, past, less));
  TENON_ASSIGN_OR_RETURN(places.past,
                         InRange(node, past, places.keys - places.words + 1, "seqlens_k"));
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
    TENON_ASSIGN_OR_RETURN(positions, NotNegative(node, positions, "position_ids"));
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

/// How many keys up to its own a query sees; below 1: all.
int64_t Window(Lowering& node) { return node.Int("local_window_size", -1); }

/// Whether a query sees a key: those up to its own and to the last place, of a window only so many;
/// [B or 1, 1, words, keys].
Result<TensorId> SeenKeys(Lowering& node, const Places& places) {
  using F = BinaryFunction;
  TENON_ASSIGN_OR_RETURN(const TensorId keys, Iota(node, DType::kI64, places.keys, 3, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId words, Iota(node, DType::kI64, places.words, 2, 4));
  TENON_ASSIGN_OR_RETURN(const TensorId before, PastColumn(node, places));
  TENON_ASSIGN_OR_RETURN(const TensorId own, node.Binary(F::kAdd, words, before));
  TensorId end = own;
  if (places.last != kNone) {
    const int64_t batches = node.ShapeOf(places.last)[0];
    TENON_ASSIGN_OR_RETURN(const TensorId last, node.Reshape(places.last, {batches, 1, 1, 1}));
    TENON_ASSIGN_OR_RETURN(end, node.Binary(F::kMin, own, last));
  }
  TENON_ASSIGN_OR_RETURN(TensorId seen, node.Binary(F::kLessOrEqual, keys, end));
  const int64_t window = Window(node);
  if (window > 0) {
    TENON_ASSIGN_OR_RETURN(const TensorId size,
                           node.Scalar("window", DType::kI64, static_cast<double>(window)));
    TENON_ASSIGN_OR_RETURN(const TensorId first, node.Binary(F::kSub, own, size));
    TENON_ASSIGN_OR_RETURN(const TensorId near, node.Binary(F::kGreater, keys, first));
    TENON_ASSIGN_OR_RETURN(seen, node.Binary(F::kAnd, seen, near));
  }
  return seen;
}

/// The input attention_bias, [B or 1, heads or 1, words, keys]: what follows its last key is 0.
Result<TensorId> ReadBias(Lowering& node, const Places& places) {
  TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
  Shape shape = node.ShapeOf(bias);
  if (shape.rank != 4 || (shape[3] != places.total && shape[3] != places.keys)) {
    return InputError("its attention_bias has shape {}, [B or 1, heads or 1, {}, {}] is wanted",
                      fmt::join(DimsOf(shape), "x"), places.words, places.total);
  }
  if (shape[3] == places.keys) return bias;
  shape[3] = static_cast<int32_t>(places.keys - places.total);
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(shape.Elements()));
  const std::vector<double> zeros(static_cast<size_t>(shape.Elements()));
  TENON_ASSIGN_OR_RETURN(const TensorId rest,
                         node.Constant("rest", node.DTypeOf(bias), shape, zeros));
  ConcatAttributes concat;
  concat.axis = 3;
  return node.Emit(OpKind::kConcat, {bias, rest}, Attributes(concat));
}

/// What is added to scores. Without a bias every query sees a key, unless its window is all behind
/// the last place, and what is hidden need not be infinity.
Result<SeenMask> ReadMask(Lowering& node, const Places& places, DType dtype) {
  TENON_ASSIGN_OR_RETURN(const TensorId seen, SeenKeys(node, places));
  const bool may_be_blind = Window(node) > 0 && places.last != kNone;
  if (!node.HasInput(kBias) && !may_be_blind) {
    constexpr double kMostF16 = 65504;
    const double lowest = dtype == DType::kF16 ? -kMostF16 : std::numeric_limits<float>::lowest();
    TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
    TENON_ASSIGN_OR_RETURN(const TensorId hidden, node.Scalar("hidden", dtype, lowest));
    TENON_ASSIGN_OR_RETURN(const TensorId mask, Select(node, seen, zero, hidden));
    return SeenMask{mask, kNone};
  }
  TENON_ASSIGN_OR_RETURN(TensorId bias, node.Scalar("zero", dtype, 0));
  if (node.HasInput(kBias)) {
    TENON_ASSIGN_OR_RETURN(bias, ReadBias(node, places));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId hidden,
                         node.Scalar("hidden", dtype, -std::numeric_limits<double>::infinity()));
  TENON_ASSIGN_OR_RETURN(const TensorId mask, Select(node, seen, bias, hidden));
  return TakeApart(node, mask);
}

/// One more score for each query, [B, groups, shared * words, 1], of the input head_sink or the
/// attribute smooth_softmax; kNone: none.
Result<TensorId> ReadSink(Lowering& node, TensorId queries, int64_t shared) {
  const Shape q = node.ShapeOf(queries);
  const bool smooth = node.Int("smooth_softmax", 0) == 1;
  TensorId sink = kNone;
  if (node.HasInput(kSink)) {
    TENON_ASSIGN_OR_RETURN(sink, node.Input(kSink));
    if (node.ShapeOf(sink) != Shape({q[1]})) return InputError("its head_sink has a wrong shape");
    TENON_ASSIGN_OR_RETURN(sink, node.Reshape(sink, {1, q[1], 1, 1}));
  } else if (smooth) {
    TENON_ASSIGN_OR_RETURN(
        sink, node.Constant("sink", node.DTypeOf(queries), Shape({1, 1, 1, 1}), {0.0}));
  } else {
    return kNone;
  }
  TENON_ASSIGN_OR_RETURN(sink, node.Expand(sink, Shape({q[0], q[1], q[2], 1})));
  return node.Reshape(sink, {q[0], q[1] / shared, shared * q[2], 1});
}

}  // namespace

Status LowerGroupQueryAttention(Lowering& node) {
  TENON_RETURN_IF_ERROR(RefuseFlags(node, {"qk_output"}));
  const int64_t count = node.Int("num_heads", 0);
  const int64_t groups = node.Int("kv_num_heads", 0);
  constexpr int64_t kMostHeads = 1 << 20;
  if (groups < 1 || count < 1 || count > kMostHeads || count % groups != 0) {
    return InputError("{} heads of queries cannot share {} of keys", count, groups);
  }
  TENON_ASSIGN_OR_RETURN(Heads heads, ReadGroupedHeads(node, count, groups));
  const Shape q = node.ShapeOf(heads.q);
  if (node.ShapeOf(heads.k)[2] != q[2]) return InputError("it has not as many keys as queries");
  TENON_ASSIGN_OR_RETURN(const Places places, ReadPlaces(node, q));
  node.Ignore({"rotary_interleaved"});
  if (node.Flag("do_rotary", false)) TENON_RETURN_IF_ERROR(Rotate(node, places, heads));
  TENON_ASSIGN_OR_RETURN(heads.k, Present(node, heads.k, kPastKey, places, 1));
  TENON_ASSIGN_OR_RETURN(heads.v, Present(node, heads.v, kPastValue, places, 2));
  TENON_ASSIGN_OR_RETURN(SeenMask mask, ReadMask(node, places, node.DTypeOf(heads.q)));
  const int64_t shared = count / groups;
  TENON_ASSIGN_OR_RETURN(mask.mask, ForGroups(node, mask.mask, count, shared));
  if (mask.blind != kNone) {
    TENON_ASSIGN_OR_RETURN(mask.blind, ForGroups(node, mask.blind, count, shared));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId sink, ReadSink(node, heads.q, shared));
  // Heads that share keys are more queries of one head.
  TENON_ASSIGN_OR_RETURN(heads.q, node.Reshape(heads.q, {q[0], groups, shared * q[2], q[3]}));
  TENON_ASSIGN_OR_RETURN(TensorId y, AttentionByHead(node, heads, mask.mask, sink));
  TENON_ASSIGN_OR_RETURN(y, ZeroWhereBlind(node, mask, y));
  const int64_t size = node.ShapeOf(y)[3];
  TENON_ASSIGN_OR_RETURN(const TensorId apart, node.Reshape(y, {q[0], count, q[2], size}));
  return JoinHeads(node, apart);
}

}  // namespace tenon::converter
