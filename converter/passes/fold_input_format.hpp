// Lets first convolutions read bytes: what lies between them and an input of u8 disappears.
//
// Requires:   fused ops; integer ops where the model is quantized.
// Guarantees: a float convolution's outputs change by rounding only (its weights take the scale, it
//             subtracts the mean); a quantized convolution's not at all: it is given the bytes only
//             if they are, for each of the 256 values, its own input but for the zero point. Where
//             they are not, the way from bytes to quantized values is one lookup.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// What the elements of a tensor that is made from bytes, one from one, stand for.
struct ByteValues {
  TensorId bytes = kNone;  ///< u8
  /// Dimension k of the tensor is dimension `permutation[k]` of the bytes.
  std::vector<int32_t> permutation;
  /// Of each channel (dimension 1 of rank 4; of other ranks all together) and each byte, exactly as
  /// the ops between compute it: f32, or whole numbers of a quantized tensor.
  std::vector<std::array<float, 256>> values;
  int ops = 0;                  ///< between, transposes apart
  bool through_floats = false;  ///< some of them compute in f32
};

/// None if the tensor is made otherwise than by cast, add, sub, mul and div with constants for each
/// channel, quantize, dequantize, lookup and transpose. What a quantizer may ask for the exact
/// range and scale of an input.
[[nodiscard]] std::optional<ByteValues> FindByteValues(const Graph& graph, TensorId tensor);

/// gain * byte + shift, for each channel of a tensor made from bytes. No gain is 0.
struct ByteLine {
  std::vector<double> gain;
  std::vector<double> shift;
};

/// None if a channel's values lie on no line, or on a level one.
[[nodiscard]] std::optional<ByteLine> LineOf(const ByteValues& made);

/// Values of a convolution's weights (f32, constant), each times the gain of the input channel that
/// it meets.
[[nodiscard]] std::vector<float> ScaleInputChannels(const Tensor& weights, int32_t group,
                                                    const std::vector<double>& gain);

/// Asks PassContext::why_worse_kernel.
[[nodiscard]] Status FoldInputFormats(Graph& graph, PassContext& context);

}  // namespace tenon::converter
