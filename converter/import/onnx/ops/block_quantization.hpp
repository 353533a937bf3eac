// Numbers of which each block along one axis has a scale of its own, as the weights of language
// models have.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// How a tensor's dimension falls into blocks, of which the last may be shorter.
struct BlockedAxis {
  int64_t outer = 1;  ///< elements of the dimensions before it
  int64_t size = 0;
  int64_t inner = 1;  ///< elements of those behind it
  int64_t block = 1;
  int64_t count = 0;  ///< of blocks
};

/// The blocks of x along `axis`; says so if `scale` has not one number for each.
[[nodiscard]] Result<BlockedAxis> ReadBlockedAxis(Lowering& node, TensorId x, TensorId scale,
                                                  int64_t axis, int64_t block);

/// (x - zero point) * scale, of `dtype`; `zero_point` may be kNone. Constants become a constant.
[[nodiscard]] Result<TensorId> DequantizedBlocks(Lowering& node, TensorId x, TensorId scale,
                                                 TensorId zero_point, const BlockedAxis& blocks,
                                                 DType dtype);

/// x / scale rounded to the nearest, plus the zero point: f32, not yet within the bounds of a type.
[[nodiscard]] Result<TensorId> ScaledBlocks(Lowering& node, TensorId x, TensorId scale,
                                            TensorId zero_point, const BlockedAxis& blocks);

}  // namespace tenon::converter
