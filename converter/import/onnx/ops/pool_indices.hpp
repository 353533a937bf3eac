// MaxPool's second output: where in its input each maximum lies.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// The node's second output: indices into all of x [N, C, H, W], flattened row by row, or with
/// `columns_first` column by column within an image's channel. Of equal elements of a window the
/// first counts. x is f32, f64, i8, u8, i32 or i64.
[[nodiscard]] Status EmitMaxPoolIndices(Lowering& node, TensorId x, const PoolAttributes& pool,
                                        bool columns_first);

}  // namespace tenon::converter
