// Lets first convolutions read bytes: removes the ops between them and an input of u8.
//
// Requires:   fused ops; integer ops where the model is quantized.
// Guarantees: a float convolution's outputs change by rounding only (its weights take the scale, it
//             subtracts the mean); a quantized convolution's do not change: it reads the bytes only
//             if each of the 256 values equals its own input apart from the zero point. Otherwise
//             one lookup converts bytes to quantized values.
#pragma once

#include <array>
#include <optional>
#include <vector>

#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// The real values of a tensor, each element of which is made from one byte.
struct ByteValues {
  TensorId bytes = kNone;  ///< u8
  /// Dimension k of the tensor is dimension `permutation[k]` of the bytes.
  std::vector<int32_t> permutation;
  /// By channel (dimension 1 of rank 4; other ranks count as one channel) and byte: the exact
  /// result of the ops between, in f32, or integers for a quantized tensor.
  std::vector<std::array<float, 256>> values;
  int ops = 0;                  ///< number of ops between, without transposes
  bool through_floats = false;  ///< true if some of them compute in f32
};

/// Returns none if the tensor is made by ops other than cast, add, sub, mul and div with constants
/// per channel, quantize, dequantize, lookup and transpose. A quantizer can derive the exact range
/// and scale of an input from the result.
[[nodiscard]] std::optional<ByteValues> FindByteValues(const Graph& graph, TensorId tensor);

/// Expresses each channel of a tensor made from bytes as gain * byte + shift. No gain is 0.
struct ByteLine {
  std::vector<double> gain;
  std::vector<double> shift;
};

/// Returns none if a channel's values are not linear in the bytes, or are constant.
[[nodiscard]] std::optional<ByteLine> LineOf(const ByteValues& made);

/// Returns a convolution's weights (f32, constant), each multiplied by the gain of its input
/// channel.
[[nodiscard]] std::vector<float> ScaleInputChannels(const Tensor& weights, int32_t group,
                                                    const std::vector<double>& gain);

/// Folds formats into convolutions. Calls PassContext::why_worse_kernel.
[[nodiscard]] Status FoldInputFormats(Graph& graph, PassContext& context);

}  // namespace tenon::converter
