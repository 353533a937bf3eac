// Windows over three spatial dimensions, made of those over two.
#pragma once

#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {

/// A maximum or an average over x [N, C, D, H, W]: over height and width, then over depth. (What
/// counts of a window is a box, so that an average of averages is the average.) `output` as of
/// Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitVolumePool(Lowering& node, OpKind kind, TensorId x,
                                              const std::vector<WindowSpan>& spans,
                                              const PoolAttributes& attributes, int output);

/// A convolution of x [N, C, D, H, W] with w: the sum of one in two dimensions for each tap of the
/// depth. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitVolumeConv(Lowering& node, TensorId x, TensorId w, int output);

}  // namespace tenon::converter
