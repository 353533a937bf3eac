// What the lowerings of matrix products share.
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// NumPy's matmul of the first two inputs with `kind` (matmul or quantized_matmul, untransposed): a
/// vector on the left is a row, on the right a column, and the dimension that this adds is dropped
/// from the result. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitProduct(Lowering& node, OpKind kind,
                                           std::vector<TensorId> inputs,
                                           const Attributes& attributes,
                                           int output = kIntermediate);

/// a b + input `bias` (f32; may be absent) of the node, as its first output.
[[nodiscard]] Status EmitProductWithBias(Lowering& node, TensorId a, TensorId b, int bias);

}  // namespace tenon::converter
