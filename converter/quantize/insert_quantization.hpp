// Puts a quantization scheme into a graph: weights as i8, pairs of quantize and dequantize around
// ops, which fusion then turns into ops on integers, and biases that make up for the mean error.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/quantize/choose_scales.hpp"
#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

// Weights as i8, symmetric, with a scale for every output channel.

struct QuantizedWeights {
  std::vector<int8_t> values;  ///< -127 to 127, in the order of the float weights
  std::vector<float> scales;   ///< one for each index of `axis`
  int32_t axis = 0;

  /// values * scales: what the integers stand for.
  [[nodiscard]] std::vector<float> Dequantize(const Shape& shape) const;
};

/// Quantizes the weights of a convolution or matrix product that reads activations of scale
/// `input_scale`. Scales are the largest weight / 127, but never so small that the bias in units of
/// input_scale * scale leaves 30 bits.
[[nodiscard]] QuantizedWeights QuantizeWeights(const Graph& graph, const Op& layer,
                                               float input_scale);

// Puts a quantization scheme into a graph, as pairs of quantize and dequantize around ops, which
// fusion then turns into ops on integers.

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

// Takes out of each layer the mean error that quantization brings into its channels.

/// Per output channel of every layer of the scheme: the mean over samples and positions of what the
/// layer computes from its rounded input and weights, less what it computes from the float ones.
/// All layers get the float graph's activations, so that no error counts twice. Errors: as of
/// GraphRunner.
[[nodiscard]] Result<std::map<OpId, std::vector<double>>> MeanErrors(
    const Graph& graph, const QuantizationScheme& scheme, const std::vector<Sample>& samples);

/// Takes those means from the layers' biases (a layer without gets one). For the quantized form
/// only: as a float graph it no longer computes the same.
/// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
/// 2019, section 4.2 and appendix D (from samples, empirical); here for all layers at once.
[[nodiscard]] Status CorrectBiases(Graph& graph, const std::map<OpId, std::vector<double>>& means);

}  // namespace tenon::converter
