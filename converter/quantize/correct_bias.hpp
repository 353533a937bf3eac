// Takes out of each layer the mean error that quantization brings into its channels.
#pragma once

#include <map>
#include <vector>

#include "converter/quantize/choose_scales.hpp"
#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

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
