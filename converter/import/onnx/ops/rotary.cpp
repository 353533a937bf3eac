#include "converter/import/onnx/ops/rotary.hpp"

#include <utility>

#include "converter/import/onnx/ops/attention_parts.hpp"
#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// The two members of each pair among the first 2 * half numbers of x's last dimension.
Result<std::pair<TensorId, TensorId>> PairsOf(Lowering& node, TensorId x, int64_t half,
                                              bool interleaved) {
  const Shape shape = node.ShapeOf(x);
  const int32_t step = interleaved ? 2 : 1;
  TENON_ASSIGN_OR_RETURN(const TensorId first, node.Slice(x, SliceAlong(shape, 3, 0, half, step)));
  TENON_ASSIGN_OR_RETURN(const TensorId second,
                         node.Slice(x, SliceAlong(shape, 3, interleaved ? 1 : half, half, step)));
  return std::pair(first, second);
}

/// A cache's rows for the words of x [B, heads, L, size], [B or 1, 1, L, half].
Result<TensorId> RowsOf(Lowering& node, TensorId cache, TensorId positions, const Shape& x) {
  if (positions != kNone) return RowsAtPositions(node, cache, positions, x);
  const Shape shape = node.ShapeOf(cache);
  if (shape[0] != x[0] || shape[1] != x[2]) {
    return InputError("its caches have {} x {} rows, {} x {} are wanted", shape[0], shape[1], x[0],
                      x[2]);
  }
  return node.Reshape(cache, {x[0], 1, x[2], shape[2]});
}

}  // namespace

Result<TensorId> RowsAtPositions(Lowering& node, TensorId cache, TensorId positions,
                                 const Shape& x) {
  const Shape shape = node.ShapeOf(positions);
  const int64_t half = node.ShapeOf(cache)[1];
  if (shape.rank != 1 || shape[0] != 1) {
    if (shape.rank != 2 || shape[0] != x[0] || shape[1] != x[2]) {
      return InputError("its position_ids do not have one number for each word");
    }
    TENON_ASSIGN_OR_RETURN(const TensorId rows, EmitGather(node, cache, positions, 0));
    return node.Reshape(rows, {x[0], 1, x[2], half});
  }
  // One number: where the first word stands.
  TENON_ASSIGN_OR_RETURN(const TensorId first, node.Reshape(positions, {1}));
  TENON_ASSIGN_OR_RETURN(const TensorId count, Iota(node, node.DTypeOf(first), x[2], 0, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId places, node.Binary(BinaryFunction::kAdd, count, first));
  TENON_ASSIGN_OR_RETURN(const TensorId rows, EmitGather(node, cache, places, 0));
  return node.Reshape(rows, {1, 1, x[2], half});
}

Result<TensorId> Rotated(Lowering& node, TensorId x, const Rotation& rotation) {
  using F = BinaryFunction;
  const Shape shape = node.ShapeOf(x);
  const int64_t half = node.ShapeOf(rotation.cos)[3];
  if (2 * half > shape[3]) return InputError("its heads are smaller than the rotation");
  TENON_ASSIGN_OR_RETURN(const auto pair, PairsOf(node, x, half, rotation.interleaved));
  const auto combine = [&](TensorId by_cos, TensorId by_sin, F function) -> Result<TensorId> {
    TENON_ASSIGN_OR_RETURN(const TensorId a, node.Binary(F::kMul, by_cos, rotation.cos));
    TENON_ASSIGN_OR_RETURN(const TensorId b, node.Binary(F::kMul, by_sin, rotation.sin));
    return node.Binary(function, a, b);
  };
  std::vector<TensorId> parts(2);
  TENON_ASSIGN_OR_RETURN(parts[0], combine(pair.first, pair.second, F::kSub));
  TENON_ASSIGN_OR_RETURN(parts[1], combine(pair.second, pair.first, F::kAdd));
  ConcatAttributes concat;
  concat.axis = 3;
  if (rotation.interleaved) {
    concat.axis = 4;
    for (TensorId& part : parts) {
      TENON_ASSIGN_OR_RETURN(part, node.Reshape(part, {shape[0], shape[1], shape[2], half, 1}));
    }
    TENON_ASSIGN_OR_RETURN(const TensorId pairs,
                           node.Emit(OpKind::kConcat, parts, Attributes(concat)));
    parts.resize(1);
    TENON_ASSIGN_OR_RETURN(parts[0], node.Reshape(pairs, {shape[0], shape[1], shape[2], 2 * half}));
    concat.axis = 3;
  }
  if (2 * half < shape[3]) {
    TENON_ASSIGN_OR_RETURN(const TensorId rest, LastPart(node, x, 2 * half, shape[3] - 2 * half));
    parts.push_back(rest);
  }
  if (parts.size() == 1) return parts[0];
  return node.Emit(OpKind::kConcat, parts, Attributes(concat));
}

Status EmitRotaryEmbedding(Lowering& node, const RotaryInputs& inputs) {
  TensorId positions = inputs.positions;
  if (positions != kNone) {
    TENON_ASSIGN_OR_RETURN(positions, NotNegative(node, positions, "position_ids"));
  }
  const Shape shape = node.ShapeOf(inputs.x);
  const Shape cache = node.ShapeOf(inputs.cos);
  const int32_t rank = positions == kNone ? 3 : 2;
  if (cache.rank != rank || node.ShapeOf(inputs.sin) != cache || cache[rank - 1] < 1) {
    return InputError("its caches must have one shape of {} dimensions", rank);
  }
  const int64_t half = cache[rank - 1];
  int64_t heads = node.Int("num_heads", 0);
  const int64_t size = node.Int("rotary_embedding_dim", 0);
  if (size != 0 && size != 2 * half) {
    return InputError("rotary_embedding_dim is {}, but its caches have {} columns", size, half);
  }
  if (shape.rank == 3 && heads == 0) heads = shape[2] / (2 * half);
  TensorId by_head = inputs.x;
  if (shape.rank == 3) {
    TENON_ASSIGN_OR_RETURN(by_head, SplitHeads(node, inputs.x, heads));
  } else if (shape.rank != 4) {
    return InputError("its input has {} dimensions, 3 or 4 are wanted", shape.rank);
  }
  const Shape heads_shape = node.ShapeOf(by_head);
  Rotation rotation;
  rotation.interleaved = node.Flag("interleaved", false);
  TENON_ASSIGN_OR_RETURN(rotation.cos, RowsOf(node, inputs.cos, positions, heads_shape));
  TENON_ASSIGN_OR_RETURN(rotation.sin, RowsOf(node, inputs.sin, positions, heads_shape));
  TENON_ASSIGN_OR_RETURN(TensorId y, Rotated(node, by_head, rotation));
  if (shape.rank == 3) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 1, 3}));
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(shape)));
  }
  node.Alias(0, y);
  return {};
}

Status LowerRotaryEmbedding(Lowering& node) {
  enum : int { kX, kPositions, kCos, kSin };
  TENON_RETURN_IF_ERROR(RefuseFlags(node, {"is_packed_batching"}));
  node.Ignore({"scale"});  // as ONNX Runtime does
  RotaryInputs inputs;
  TENON_ASSIGN_OR_RETURN(inputs.x, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(inputs.positions, node.Input(kPositions));
  TENON_ASSIGN_OR_RETURN(inputs.cos, node.Input(kCos));
  TENON_ASSIGN_OR_RETURN(inputs.sin, node.Input(kSin));
  return EmitRotaryEmbedding(node, inputs);
}

}  // namespace tenon::converter
