// Weights as i8, symmetric, with a scale for every output channel.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

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

}  // namespace tenon::converter
