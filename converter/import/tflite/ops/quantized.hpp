// What the lowerings of quantized operators share.
#pragma once

#include <functional>
#include <vector>

#include "converter/import/tflite/ops/ops.hpp"
#include "converter/ir/fixed_point.hpp"

namespace tenon::converter::tflite {

/// True if the first output and these inputs have one type and one scale and zero point.
[[nodiscard]] Result<bool> SameQuantization(const Node& node, const std::vector<int>& inputs);

/// True if the first output and these inputs are i8 or u8 with one scale each.
[[nodiscard]] Result<bool> HasPerTensorScales(const Node& node, const std::vector<int>& inputs);

/// Type, zero point and bounds of the first output, rounded kFixedPoint. A fused activation narrows
/// the bounds. Errors: an output that is not quantized as a whole; activations that are no bounds.
[[nodiscard]] Result<QuantizedOutput> OutputBounds(const Node& node,
                                                   format::ActivationFunctionType activation);

/// As an attribute. Errors: a factor out of the range that fixed point has.
[[nodiscard]] Result<QuantizedScale> ScaleOf(const FixedPoint& factor);

/// A difference to the input's zero point as the output has it, for a table: TFLite's bits wherever
/// its arithmetic does not overflow, and what saturates every table where it does.
[[nodiscard]] int32_t Rescale(int32_t difference, const QuantizedScale& scale, int32_t zero_point);

/// Multipliers and shifts (a constant of each) by which sums become outputs.
[[nodiscard]] Result<std::vector<TensorId>> Factors(Node& node, const std::vector<double>& factors);

/// y = function(x) for every value x of the input's type, as one lookup; x may be in any order.
/// Results saturate to `to`.
[[nodiscard]] Result<TensorId> Lookup(Node& node, TensorId x, DType to,
                                      const std::function<int32_t(int32_t)>& function);

/// x inside the bounds of `output`, which has x's type; leaves out what changes nothing.
[[nodiscard]] Result<TensorId> Clamp(Node& node, TensorId x, const QuantizedOutput& output);

}  // namespace tenon::converter::tflite
