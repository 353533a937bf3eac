// Puts a quantization scheme into a graph, as pairs of quantize and dequantize around ops, which
// fusion then turns into ops on integers.
#pragma once

#include <map>

#include "converter/quantize/choose_scales.hpp"

namespace tenon::converter {

enum class QuantizationForm : uint8_t {
  kIntegers,   ///< weights and biases are integer constants, dequantized before their reader
  kSimulated,  ///< they are float constants of the same values: quicker to run as floats
};

/// The f32 tensors that stand for the quantized ones afterwards.
using DequantizedTensors = std::map<TensorId, TensorId>;

/// Every tensor of the scheme gets a quantize and a dequantize behind it. The latter is read by all
/// readers if the tensor comes from an integer op, else by integer ops only: what is float stays as
/// it is for float readers. Layers of the scheme get weights of i8 with a scale per output channel,
/// and biases of i32 in units of the product of both scales. The graph stays valid; its outputs
/// change by what quantization costs. Errors: kInternal only.
[[nodiscard]] Result<DequantizedTensors> InsertQuantization(Graph& graph,
                                                            const QuantizationScheme& scheme,
                                                            QuantizationForm form);

/// Adds f32 tensors x -> quantize -> dequantize before the op `position` (kNone: at the end) and
/// gives the last one. A constant is rounded instead with kSimulated.
[[nodiscard]] Result<TensorId> AddRounded(Graph& graph, OpId position, TensorId x,
                                          const ActivationScale& scale, QuantizationForm form);

}  // namespace tenon::converter
