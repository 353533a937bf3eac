// Applies a quantization scheme to a graph: stores weights as i8, puts pairs of quantize and
// dequantize around ops, which fusion then turns into ops on integers, and corrects biases by the
// mean error.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/quantize/choose_scales.hpp"
#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

// Quantizes weights to i8, symmetric, with a scale for every output channel.

struct QuantizedWeights {
  std::vector<int8_t> values;  ///< -127 to 127, in the order of the float weights
  std::vector<float> scales;   ///< one for each index of `axis`
  int32_t axis = 0;

  /// Returns values * scales, the real numbers that the integers represent.
  [[nodiscard]] std::vector<float> Dequantize(const Shape& shape) const;
};

/// Quantizes the weights of a convolution or matrix product that reads activations of scale
/// `input_scale`. Scales are the largest weight / 127, but large enough that the bias in units of
/// input_scale * scale fits 30 bits.
[[nodiscard]] QuantizedWeights QuantizeWeights(const Graph& graph, const Op& layer,
                                               float input_scale);

// Inserts pairs of quantize and dequantize around ops, which fusion then turns into ops on
// integers.

enum class QuantizationForm : uint8_t {
  kIntegers,   ///< weights and biases are integer constants, dequantized before their reader
  kSimulated,  ///< they are float constants of the same values: faster to run as floats
};

/// Maps each quantized tensor to the f32 tensor that replaces it.
using DequantizedTensors = std::map<TensorId, TensorId>;

/// Adds a quantize and a dequantize op after every tensor of the scheme. If an integer op makes the
/// tensor, all readers read the dequantized values; else only integer ops do, and float readers
/// still read the float tensor. Layers of the scheme get weights of i8 with a scale per output
/// channel, and biases of i32 in units of the product of both scales. The graph stays valid; its
/// outputs change by what quantization costs. Errors: kInternal only.
[[nodiscard]] Result<DequantizedTensors> InsertQuantization(Graph& graph,
                                                            const QuantizationScheme& scheme,
                                                            QuantizationForm form);

/// Adds x -> quantize -> dequantize before the op `position` (kNone: at the end) and returns the
/// last tensor, which is f32. A constant is rounded instead with kSimulated.
[[nodiscard]] Result<TensorId> AddRounded(Graph& graph, OpId position, TensorId x,
                                          const ActivationScale& scale, QuantizationForm form);

// Removes from each layer the mean error that quantization causes in its channels.

/// Returns, per output channel of every layer of the scheme, the mean over samples and positions of
/// what the layer computes from its rounded input and weights, less what it computes from the float
/// ones. All layers read the float graph's activations, so that no error counts twice. Errors: as
/// of GraphRunner.
[[nodiscard]] Result<std::map<OpId, std::vector<double>>> MeanErrors(
    const Graph& graph, const QuantizationScheme& scheme, const std::vector<Sample>& samples);

/// Subtracts those means from the layers' biases (a layer without one gets one). Only the quantized
/// form benefits: run as a float graph, it no longer computes the same. Source: Nagel et al.,
/// "Data-Free Quantization Through Weight Equalization and Bias Correction", 2019, section 4.2 and
/// appendix D (from samples, empirical); here for all layers at once.
[[nodiscard]] Status CorrectBiases(Graph& graph, const std::map<OpId, std::vector<double>>& means);

}  // namespace tenon::converter
