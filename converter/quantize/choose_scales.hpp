// The scale of every activation that is quantized.
#pragma once

#include <map>

#include "converter/quantize/choose_ops.hpp"
#include "converter/quantize/choose_range.hpp"

namespace tenon::converter {

/// How a graph is to be quantized.
struct QuantizationScheme {
  IntegerOps chosen;
  std::map<TensorId, ChosenRange> tensors;  ///< every one of QuantizedTensors, constants included
};

/// True for what a dequantize op makes of integers that come into the graph: they have their scale,
/// and are not rounded again.
[[nodiscard]] bool IsGivenInIntegers(const Graph& graph, TensorId id);

/// Tensors at both ends of an op that keeps values get one scale, chosen from the values of all
/// that flow together there. `histograms`: of all activations, as CollectRanges gives.
[[nodiscard]] QuantizationScheme MakeScheme(const Graph& graph, IntegerOps chosen,
                                            const std::map<TensorId, Histogram>& histograms,
                                            RangeMethod method);

}  // namespace tenon::converter
