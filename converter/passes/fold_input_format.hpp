// Lets first convolutions read bytes: cast, mean and scale before them disappear.
//
// Requires:   fused ops; integer ops where the model is quantized.
// Guarantees: a float convolution's outputs change by rounding only (its weights take the scale, it
//             subtracts the mean); a quantized convolution's not at all: it is given the bytes only
//             if they are, for each of the 256 values, its own input but for the zero point. Where
//             they are not, the way from bytes to quantized values is one lookup.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "converter/passes/pass.hpp"

namespace tenon::converter {

/// What the elements of a float tensor [N, C, H, W] that is made from bytes stand for.
struct ByteValues {
  TensorId bytes = kNone;  ///< u8, of the same shape
  /// Of each channel and byte, as the ops between compute it in f32.
  std::vector<std::array<float, 256>> values;
  /// The same up to rounding: gain[c] * byte + shift[c].
  std::vector<double> gain;
  std::vector<double> shift;
};

/// None if the tensor is made otherwise than by cast, add, sub, mul and div with constants for each
/// channel. What a quantizer may ask for the exact range and scale of an input.
[[nodiscard]] std::optional<ByteValues> FindByteValues(const Graph& graph, TensorId tensor);

/// `why_not`: why an op must not be written otherwise, or empty; null: it may always.
[[nodiscard]] Status FoldInputFormats(
    Graph& graph,
    const std::function<std::string(const Graph& graph, const Op& before, const Op& after)>&
        why_not,
    PassReport& report);

}  // namespace tenon::converter
