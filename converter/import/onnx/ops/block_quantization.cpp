#include "converter/import/onnx/ops/block_quantization.hpp"

#include <algorithm>

#include "converter/ir/shapes.hpp"

namespace tenon::converter {
namespace {

/// One number for each block as one for each element of `shape`.
Result<TensorId> ForElements(Lowering& node, TensorId x, const Shape& shape,
                             const BlockedAxis& blocks) {
  TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {blocks.outer, blocks.count, 1, blocks.inner}));
  TENON_ASSIGN_OR_RETURN(const Shape repeated,
                         ShapeFromDims({blocks.outer, blocks.count, blocks.block, blocks.inner}));
  TENON_ASSIGN_OR_RETURN(x, node.Expand(x, repeated));
  TENON_ASSIGN_OR_RETURN(
      x, node.Reshape(x, {blocks.outer, blocks.count * blocks.block, blocks.inner}));
  TENON_ASSIGN_OR_RETURN(x, node.Slice(x, SliceAlong(node.ShapeOf(x), 1, 0, blocks.size)));
  return node.Reshape(x, DimsOf(shape));
}

bool IsConstant(Lowering& node, TensorId id) {
  return id == kNone || node.graph().tensor(id).IsConstant();
}

Result<TensorId> ConstantBlocks(Lowering& node, TensorId x, TensorId scale, TensorId zero_point,
                                const BlockedAxis& blocks, DType dtype) {
  const Shape shape = node.ShapeOf(x);
  TENON_RETURN_IF_ERROR(node.CheckRoomFor(shape.Elements()));
  TENON_ASSIGN_OR_RETURN(std::vector<double> values, node.ConstantDoubles(x));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> scales, node.ConstantDoubles(scale));
  std::vector<double> zeros(scales.size());
  if (zero_point != kNone) {
    TENON_ASSIGN_OR_RETURN(zeros, node.ConstantDoubles(zero_point));
  }
  auto value = values.begin();
  for (int64_t outer = 0; outer < blocks.outer; ++outer) {
    for (int64_t i = 0; i < blocks.size; ++i) {
      const int64_t row = (outer * blocks.count + i / blocks.block) * blocks.inner;
      for (int64_t inner = 0; inner < blocks.inner; ++inner, ++value) {
        const auto place = static_cast<size_t>(row + inner);
        *value = (*value - zeros[place]) * scales[place];
      }
    }
  }
  return node.Constant("weights", dtype, shape, values);
}

}  // namespace

Result<BlockedAxis> ReadBlockedAxis(Lowering& node, TensorId x, TensorId scale, int64_t axis,
                                    int64_t block) {
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t at, node.Axis(axis, shape.rank));
  if (block < 1 || shape[at] < 1) {
    return InputError("block_size is {} for a dimension of {}", block, shape[at]);
  }
  BlockedAxis blocks;
  blocks.outer = ElementsBetween(shape, 0, at);
  blocks.size = shape[at];
  blocks.inner = ElementsBetween(shape, at + 1, shape.rank);
  blocks.block = std::min(block, blocks.size);
  blocks.count = (blocks.size + blocks.block - 1) / blocks.block;
  Shape wanted = shape;
  wanted[at] = static_cast<int32_t>(blocks.count);
  if (node.ShapeOf(scale) != wanted) {
    return InputError("its scales have shape {}, {} is wanted for blocks of {} along axis {}",
                      fmt::join(DimsOf(node.ShapeOf(scale)), "x"), fmt::join(DimsOf(wanted), "x"),
                      block, at);
  }
  return blocks;
}

Result<TensorId> DequantizedBlocks(Lowering& node, TensorId x, TensorId scale, TensorId zero_point,
                                   const BlockedAxis& blocks, DType dtype) {
  if (zero_point != kNone && node.ShapeOf(zero_point) != node.ShapeOf(scale)) {
    return InputError("its zero points have not the shape of its scales");
  }
  if (IsConstant(node, x) && IsConstant(node, scale) && IsConstant(node, zero_point)) {
    return ConstantBlocks(node, x, scale, zero_point, blocks, dtype);
  }
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Cast(x, DType::kF32));
  if (zero_point != kNone) {
    TENON_ASSIGN_OR_RETURN(TensorId zero, node.Cast(zero_point, DType::kF32));
    TENON_ASSIGN_OR_RETURN(zero, ForElements(node, zero, shape, blocks));
    TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kSub, y, zero));
  }
  TENON_ASSIGN_OR_RETURN(scale, node.Cast(scale, DType::kF32));
  TENON_ASSIGN_OR_RETURN(scale, ForElements(node, scale, shape, blocks));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMul, y, scale));
  return node.Cast(y, dtype);
}

Result<TensorId> ScaledBlocks(Lowering& node, TensorId x, TensorId scale, TensorId zero_point,
                              const BlockedAxis& blocks) {
  if (zero_point != kNone && node.ShapeOf(zero_point) != node.ShapeOf(scale)) {
    return InputError("its zero points have not the shape of its scales");
  }
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Cast(x, DType::kF32));
  TENON_ASSIGN_OR_RETURN(scale, node.Cast(scale, DType::kF32));
  TENON_ASSIGN_OR_RETURN(scale, ForElements(node, scale, shape, blocks));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kDiv, y, scale));
  TENON_ASSIGN_OR_RETURN(y, node.Unary(y, {UnaryFunction::kRound, 0.0F, 0.0F}));
  if (zero_point == kNone) return y;
  TENON_ASSIGN_OR_RETURN(TensorId zero, node.Cast(zero_point, DType::kF32));
  TENON_ASSIGN_OR_RETURN(zero, ForElements(node, zero, shape, blocks));
  return node.Binary(BinaryFunction::kAdd, y, zero);
}

}  // namespace tenon::converter
