#include "converter/import/onnx/ops/attention_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "converter/import/import_graph.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

constexpr float kMostF16 = 65504.0F;

/// What scores get where the mask hides a key, in the dtype of the scores.
double FilterValue(Lowering& node, DType dtype) {
  const float value = node.Float("mask_filter_value", -10000.0F);
  return dtype == DType::kF16 ? std::clamp(value, -kMostF16, kMostF16) : value;
}

/// 0 where `kept`, else the filter value.
Result<TensorId> Filtered(Lowering& node, TensorId kept, DType dtype) {
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId filter,
                         node.Scalar("filter", dtype, FilterValue(node, dtype)));
  return Select(node, kept, zero, filter);
}

/// Lengths up to that of the keys; those below 0 are said, here where they are constant.
Result<TensorId> CheckedLengths(Lowering& node, TensorId lengths, int64_t keys) {
  if (node.graph().tensor(lengths).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> values, node.ConstantInts(lengths));
    for (const int64_t value : values) {
      if (value < 0) return InputError("its mask holds the length {}", value);
    }
    return lengths;
  }
  const DType dtype = node.DTypeOf(lengths);
  TENON_ASSIGN_OR_RETURN(lengths, node.Cast(lengths, DType::kI64));
  TENON_ASSIGN_OR_RETURN(const TensorId most,
                         node.Scalar("keys", DType::kI64, static_cast<double>(keys)));
  TENON_ASSIGN_OR_RETURN(lengths, node.Binary(BinaryFunction::kMin, lengths, most));
  TENON_ASSIGN_OR_RETURN(lengths, InRange(node, lengths, keys + 1, "lengths"));
  return node.Cast(lengths, dtype);
}

/// Keys before the end (exclusive) and, where there are two numbers a batch, from the start on.
Result<TensorId> KeptByLength(Lowering& node, TensorId lengths, int64_t batches, int64_t keys,
                              bool may_be_negative) {
  const DType dtype = node.DTypeOf(lengths);
  const int64_t count = node.ShapeOf(lengths)[0];
  TENON_ASSIGN_OR_RETURN(const TensorId places, Iota(node, dtype, keys, 3, 4));
  const auto numbers = [&](int64_t begin) -> Result<TensorId> {
    TENON_ASSIGN_OR_RETURN(
        const TensorId part,
        node.Slice(lengths, SliceAlong(node.ShapeOf(lengths), 0, begin, batches)));
    return node.Reshape(part, {batches, 1, 1, 1});
  };
  TENON_ASSIGN_OR_RETURN(TensorId end, numbers(0));
  if (!may_be_negative) {
    TENON_ASSIGN_OR_RETURN(end, CheckedLengths(node, end, keys));
  }
  TENON_ASSIGN_OR_RETURN(const TensorId before, node.Binary(BinaryFunction::kLess, places, end));
  if (count != 2 * batches) return before;
  TENON_ASSIGN_OR_RETURN(const TensorId start, numbers(batches));
  TENON_ASSIGN_OR_RETURN(const TensorId after,
                         node.Binary(BinaryFunction::kGreaterOrEqual, places, start));
  return node.Binary(BinaryFunction::kAnd, before, after);
}

/// Which keys a mask keeps, [B, 1, 1 or S, T]; kNone: all.
Result<TensorId> KeyMask(Lowering& node, const MaskPlaces& places, const Shape& scores) {
  TENON_ASSIGN_OR_RETURN(const TensorId mask, node.Input(places.mask));
  const Shape shape = node.ShapeOf(mask);
  const int64_t batches = scores[0];
  const int64_t keys = scores[3];
  const DType dtype = node.DTypeOf(mask);
  // Behind the lengths of [3 B + 2] stands where sequences begin among all words, which says
  // nothing more.
  if (shape.rank == 1 &&
      (shape[0] == batches || shape[0] == 2 * batches || shape[0] == 3 * batches + 2)) {
    return KeptByLength(node, mask, batches, keys, places.may_be_negative);
  }
  if (places.may_be_dummy && shape.rank == 2 && shape[1] == 1 &&
      (shape[0] == 1 || shape[0] == batches)) {
    return kNone;
  }
  if (shape.rank == 4) {  // of all words there may ever be; queries are the last ones so far
    const int64_t queries = scores[2];
    if (shape[0] != batches || shape[1] != 1 || shape[2] != shape[3] || shape[2] < keys ||
        queries > keys) {
      return InputError("a mask of shape {} for {} batches, {} queries and {} keys does not fit",
                        fmt::join(DimsOf(shape), "x"), batches, queries, keys);
    }
    TENON_ASSIGN_OR_RETURN(TensorId part,
                           node.Slice(mask, SliceAlong(shape, 2, keys - queries, queries)));
    TENON_ASSIGN_OR_RETURN(part, node.Slice(part, SliceAlong(node.ShapeOf(part), 3, 0, keys)));
    TENON_ASSIGN_OR_RETURN(const TensorId none, node.Scalar("zero", dtype, 0));
    return node.Binary(BinaryFunction::kGreater, part, none);
  }
  const bool by_key = shape.rank == 2 && shape[0] == batches && shape[1] == keys;
  const bool by_query =
      shape.rank == 3 && shape[0] == batches && shape[1] == scores[2] && shape[2] == keys;
  if (!by_key && !by_query) {
    return InputError("a mask of shape {} for {} batches, {} queries and {} keys is not supported",
                      fmt::join(DimsOf(shape), "x"), batches, scores[2], keys);
  }
  TENON_ASSIGN_OR_RETURN(const TensorId four,
                         node.Reshape(mask, {batches, 1, by_query ? scores[2] : 1, keys}));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  return node.Binary(BinaryFunction::kGreater, four, zero);
}

/// A constant [S, T]: a query sees the keys up to its own, which stands behind `past` others; the
/// last one sees all, however many there are, as ONNX Runtime has it. What a query does not see
/// counts less than a key that a mask hides, so that a query whose keys are all masked still has
/// its own ones.
Result<TensorId> CausalMask(Lowering& node, const Shape& scores, int64_t past, DType dtype) {
  const int64_t queries = scores[2];
  const int64_t keys = scores[3];
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims({queries, keys}));
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(queries * keys));
  std::vector<double> values(static_cast<size_t>(queries * keys), 0.0);
  const double filter = dtype == DType::kF16 ? -kMostF16 : std::numeric_limits<float>::lowest();
  for (int64_t i = 0; i + 1 < queries; ++i) {
    for (int64_t j = past + i + 1; j < keys; ++j) {
      values[static_cast<size_t>(i * keys + j)] = filter;
    }
  }
  return node.Constant("causal", dtype, shape, values);
}

Result<float> ReadScale(Lowering& node, int32_t size) {
  const float given = node.Float("scale", 0.0F);
  if (given != 0.0F) return given;
  if (size < 1) return InputError("its heads have no elements");
  return static_cast<float>(1.0 / std::sqrt(static_cast<double>(size)));
}

/// q k' without a scale.
Result<TensorId> PlainProducts(Lowering& node, const Heads& heads) {
  const Shape q = node.ShapeOf(heads.q);
  const Shape k = node.ShapeOf(heads.k);
  const Shape v = node.ShapeOf(heads.v);
  if (k[0] != q[0] || v[0] != q[0] || k[1] != q[1] || v[1] != q[1] || k[3] != q[3] ||
      k[2] != v[2]) {
    return InputError("queries {}, keys {} and values {} do not go together",
                      fmt::join(DimsOf(q), "x"), fmt::join(DimsOf(k), "x"),
                      fmt::join(DimsOf(v), "x"));
  }
  MatMulAttributes transposed;
  transposed.transpose_b = 1;
  return node.Emit(OpKind::kMatMul, {heads.q, heads.k}, Attributes(transposed));
}

}  // namespace

Status RefuseInputs(Lowering& node,
                    std::initializer_list<std::pair<int, std::string_view>> inputs) {
  for (const auto& [index, name] : inputs) {
    if (node.HasInput(index)) return InputError("its input {} is not supported", name);
  }
  return {};
}

Status RefuseFlags(Lowering& node, std::initializer_list<std::string_view> attributes) {
  for (const std::string_view attribute : attributes) {
    if (node.Int(attribute, 0) != 0) {
      return InputError("{} {} is not supported", attribute, node.Int(attribute, 0));
    }
  }
  return {};
}

Result<TensorId> LastPart(Lowering& node, TensorId x, int64_t begin, int64_t size) {
  const Shape shape = node.ShapeOf(x);
  return node.Slice(x, SliceAlong(shape, shape.rank - 1, begin, size));
}

Result<TensorId> SplitHeads(Lowering& node, TensorId x, int64_t heads) {
  const Shape shape = node.ShapeOf(x);
  if (shape.rank != 3 || heads < 1 || shape[2] % heads != 0) {
    return InputError("{} heads do not divide an operand of shape {}", heads,
                      fmt::join(DimsOf(shape), "x"));
  }
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {shape[0], shape[1], heads, shape[2] / heads}));
  return node.Transpose(x, {0, 2, 1, 3});
}

Result<TensorId> ReadMask(Lowering& node, const Heads& heads, const MaskPlaces& places) {
  const DType dtype = node.DTypeOf(heads.q);
  Shape scores = node.ShapeOf(heads.q);
  scores[3] = node.ShapeOf(heads.k)[2];
  std::vector<TensorId> terms;
  if (node.Flag("unidirectional", false)) {
    TENON_ASSIGN_OR_RETURN(const TensorId causal, CausalMask(node, scores, places.past, dtype));
    terms.push_back(causal);
  }
  if (places.mask != kNone && node.HasInput(places.mask)) {
    TENON_ASSIGN_OR_RETURN(const TensorId kept, KeyMask(node, places, scores));
    if (kept != kNone) {
      TENON_ASSIGN_OR_RETURN(const TensorId filtered, Filtered(node, kept, dtype));
      terms.push_back(filtered);
    }
  }
  if (places.bias != kNone && node.HasInput(places.bias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(places.bias));
    terms.push_back(bias);
  }
  node.Ignore({"mask_filter_value"});
  TensorId sum = kNone;
  for (const TensorId term : terms) {
    if (sum == kNone) {
      sum = term;
      continue;
    }
    TENON_ASSIGN_OR_RETURN(sum, node.Binary(BinaryFunction::kAdd, sum, term));
  }
  return sum;
}

Result<SeenMask> TakeApart(Lowering& node, TensorId mask) {
  const Shape shape = node.ShapeOf(mask);
  const DType dtype = node.DTypeOf(mask);
  constexpr double kHidden = -std::numeric_limits<double>::infinity();
  if (node.graph().tensor(mask).IsConstant()) {
    TENON_ASSIGN_OR_RETURN(const std::vector<double> values, node.ConstantDoubles(mask));
    bool all_see = true;
    for (auto row = values.begin(); row != values.end(); row += shape[shape.rank - 1]) {
      all_see = all_see && std::any_of(row, row + shape[shape.rank - 1],
                                       [](double value) { return value != kHidden; });
    }
    if (all_see) return SeenMask{mask, kNone};
  }
  SeenMask seen;
  TENON_ASSIGN_OR_RETURN(const TensorId hidden, node.Scalar("hidden", dtype, kHidden));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId largest,
                         node.Reduce(ReduceFunction::kMax, mask, {shape.rank - 1}, true));
  TENON_ASSIGN_OR_RETURN(seen.blind, node.Binary(BinaryFunction::kEqual, largest, hidden));
  TENON_ASSIGN_OR_RETURN(seen.mask, Select(node, seen.blind, zero, mask));
  return seen;
}

Result<TensorId> ZeroWhereBlind(Lowering& node, const SeenMask& mask, TensorId y) {
  if (mask.blind == kNone) return y;
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", node.DTypeOf(y), 0));
  return Select(node, mask.blind, zero, y);
}

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

Result<TensorId> Products(Lowering& node, const Heads& heads) {
  TENON_ASSIGN_OR_RETURN(const TensorId products, PlainProducts(node, heads));
  TENON_ASSIGN_OR_RETURN(const float scale, ReadScale(node, node.ShapeOf(heads.q)[3]));
  return Scaled(node, products, scale);
}

Result<TensorId> Capped(Lowering& node, TensorId products) {
  const float cap = node.Float("softcap", 0.0F);
  if (!(cap > 0.0F)) return products;
  TENON_ASSIGN_OR_RETURN(products, Scaled(node, products, 1.0 / double{cap}));
  TENON_ASSIGN_OR_RETURN(products, node.Unary(products, {UnaryFunction::kTanh, 0.0F, 0.0F}));
  return Scaled(node, products, cap);
}

Result<TensorId> Scores(Lowering& node, const Heads& heads) {
  TENON_ASSIGN_OR_RETURN(TensorId scores, PlainProducts(node, heads));
  TENON_ASSIGN_OR_RETURN(const float scale, ReadScale(node, node.ShapeOf(heads.q)[3]));
  const float cap = node.Float("softcap", 0.0F);
  if (!(cap > 0.0F)) return Scaled(node, scores, scale);
  TENON_ASSIGN_OR_RETURN(scores, Scaled(node, scores, double{scale} / double{cap}));
  TENON_ASSIGN_OR_RETURN(scores, node.Unary(scores, {UnaryFunction::kTanh, 0.0F, 0.0F}));
  return Scaled(node, scores, cap);
}

Result<TensorId> Shares(Lowering& node, TensorId scores, TensorId mask, TensorId sink) {
  const Shape shape = node.ShapeOf(scores);
  if (mask != kNone) {
    TENON_ASSIGN_OR_RETURN(scores, node.Binary(BinaryFunction::kAdd, scores, mask));
    if (node.ShapeOf(scores) != shape) return InputError("its mask is larger than its scores");
  }
  if (sink != kNone) {
    ConcatAttributes concat;
    concat.axis = 3;
    TENON_ASSIGN_OR_RETURN(scores, node.Emit(OpKind::kConcat, {scores, sink}, Attributes(concat)));
  }
  SoftmaxAttributes softmax;
  softmax.axis = 3;
  TENON_ASSIGN_OR_RETURN(const TensorId shares,
                         node.Emit(OpKind::kSoftmax, {scores}, Attributes(softmax)));
  return sink == kNone ? shares : LastPart(node, shares, 0, shape[3]);
}

Result<TensorId> AttentionByHead(Lowering& node, const Heads& heads, TensorId mask, TensorId sink) {
  TENON_ASSIGN_OR_RETURN(const TensorId scores, Scores(node, heads));
  TENON_ASSIGN_OR_RETURN(const TensorId shares, Shares(node, scores, mask, sink));
  return node.Emit(OpKind::kMatMul, {shares, heads.v}, Attributes(MatMulAttributes()));
}

Status JoinHeads(Lowering& node, TensorId x) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(x, node.Transpose(x, {0, 2, 1, 3}));
  return node.Reshape(x, {shape[0], shape[2], int64_t{shape[1]} * shape[3]}, 0).status();
}

Status EmitAttention(Lowering& node, const Heads& heads, TensorId mask) {
  TENON_ASSIGN_OR_RETURN(const TensorId y, AttentionByHead(node, heads, mask));
  return JoinHeads(node, y);
}

Result<TensorId> AfterPast(Lowering& node, TensorId past, TensorId x, int present) {
  if (past != kNone) {
    ConcatAttributes concat;
    concat.axis = 2;
    TENON_ASSIGN_OR_RETURN(x, node.Emit(OpKind::kConcat, {past, x}, Attributes(concat)));
  }
  if (present != kIntermediate) node.Alias(present, x);
  return x;
}

}  // namespace tenon::converter
