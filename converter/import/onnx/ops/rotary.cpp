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

Status LowerRotaryEmbedding(Lowering& node) {
  enum : int { kX, kPositions, kCos, kSin };
  TENON_RETURN_IF_ERROR(RefuseFlags(node, {"is_packed_batching"}));
  if (node.Float("scale", 1.0F) != 1.0F) return InputError("its scale must be 1");
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(kX));
  TENON_ASSIGN_OR_RETURN(const TensorId positions, node.Input(kPositions));
  TENON_ASSIGN_OR_RETURN(const TensorId cos, node.Input(kCos));
  TENON_ASSIGN_OR_RETURN(const TensorId sin, node.Input(kSin));
  const Shape shape = node.ShapeOf(x);
  const Shape cache = node.ShapeOf(cos);
  if (cache.rank != 2 || node.ShapeOf(sin) != cache || cache[1] < 1) {
    return InputError("its caches must be two matrices of one shape");
  }
  int64_t heads = node.Int("num_heads", 0);
  const int64_t size = node.Int("rotary_embedding_dim", 0);
  if (size != 0 && size != 2 * cache[1]) return InputError("its caches have {} columns", cache[1]);
  if (shape.rank == 3 && heads == 0) heads = shape[2] / (2 * cache[1]);
  TensorId by_head = x;
  if (shape.rank == 3) {
    TENON_ASSIGN_OR_RETURN(by_head, SplitHeads(node, x, heads));
  } else if (shape.rank != 4) {
    return InputError("its input has {} dimensions, 3 or 4 are wanted", shape.rank);
  }
  const Shape heads_shape = node.ShapeOf(by_head);
  Rotation rotation;
  rotation.interleaved = node.Flag("interleaved", false);
  TENON_ASSIGN_OR_RETURN(rotation.cos, RowsAtPositions(node, cos, positions, heads_shape));
  TENON_ASSIGN_OR_RETURN(rotation.sin, RowsAtPositions(node, sin, positions, heads_shape));
  TENON_ASSIGN_OR_RETURN(TensorId y, Rotated(node, by_head, rotation));
  if (shape.rank == 3) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 1, 3}));
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, DimsOf(shape)));
  }
  node.Alias(0, y);
  return {};
}

}  // namespace tenon::converter
