// Softmax as its versions have it, for the operators that contain one.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// Softmax, or its logarithm, of `x` along the node's attribute `axis`. With `flattens`, as before
/// opset 13, x is seen as a matrix: the dimensions before `axis` (default 1) are rows, all others
/// together are columns. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitSoftmax(Lowering& node, TensorId x, bool flattens, bool log,
                                           int output = kIntermediate);

}  // namespace tenon::converter
