// Convolutions and matrix products between dequantize and quantize ops.
#pragma once

#include <string>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Makes a quantized product of the convolution or matrix product `id` (f32) if dequantize ops make
/// both its operands: x with one scale, the weights with one or one per output channel. The
/// multiplier is x_scale * w_scale / y_scale, and the bias is counted in units of x_scale *
/// w_scale.
///
/// A bias added behind it, and relu, clip, maximum and minimum with a constant, are taken in if a
/// quantize op follows. The output is what that stores, or f32 where there is none or something
/// else reads the result, too. A residual, and an activation that does not only bound, become float
/// ops behind it.
/// Returns why not, or empty if it was done.
[[nodiscard]] Result<std::string> TryQuantizeProduct(Graph& graph, OpId id);

/// Weights of u8 with a zero point of 128 become i8 with 0, which is the same and what fast kernels
/// take. `id`: a quantized convolution or product. Returns whether it was done.
[[nodiscard]] bool MakeWeightsSymmetric(Graph& graph, OpId id);

}  // namespace tenon::converter
