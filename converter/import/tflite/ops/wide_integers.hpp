// Integers of 16 and 32 bits between those of 8: what integer layers with a state compute with.
#pragma once

#include "converter/import/tflite/ops/quantized.hpp"

namespace tenon::converter::tflite {

/// 2^-exponent, by which a number of up to 2^30 is divided with one rounding, halves away from
/// zero.
[[nodiscard]] QuantizedScale PowerOfTwo(int32_t exponent);

/// A positive real factor. Errors: out of the range that fixed point has.
[[nodiscard]] Result<QuantizedScale> FactorOf(float factor);

/// i16, with all its values, or those up to `most` either way.
[[nodiscard]] QuantizedOutput Words(int32_t most);
[[nodiscard]] QuantizedOutput Words();

/// The sums of x, less its zero point, times rows of constant `weights`, and `bias` if there is
/// one: i32.
[[nodiscard]] Result<TensorId> IntegerSums(Node& node, TensorId x, int32_t zero_point,
                                           TensorId weights, TensorId bias = kNone);

/// x * factor, rounded and saturated to `output`.
[[nodiscard]] Result<TensorId> Rescaled(Node& node, TensorId x, const QuantizedScale& factor,
                                        const QuantizedOutput& output);

/// x * factor + y.
[[nodiscard]] Result<TensorId> ScaledPlus(Node& node, TensorId x, const QuantizedScale& factor,
                                          TensorId y, const QuantizedOutput& output);

/// x * y * factor.
[[nodiscard]] Result<TensorId> ScaledProduct(Node& node, TensorId x, TensorId y,
                                             const QuantizedScale& factor,
                                             const QuantizedOutput& output);

}  // namespace tenon::converter::tflite
