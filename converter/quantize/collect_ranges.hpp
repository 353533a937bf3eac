// What values every activation of a float graph takes on the samples.
#pragma once

#include <map>
#include <vector>

#include "converter/quantize/equalize.hpp"
#include "converter/quantize/graph_runner.hpp"
#include "converter/quantize/histogram.hpp"

namespace tenon::converter {

/// Histograms of all f32 tensors that are no constants, over all samples: run twice, for the ranges
/// and for the counts. Deterministic on one kind of processor. Errors: as of GraphRunner; kInput, a
/// tensor that takes values that are not finite (named).
[[nodiscard]] Result<std::map<TensorId, Histogram>> CollectRanges(
    const Graph& graph, const std::vector<Sample>& samples);

/// Of every activation of f32 that a convolution reads. Errors: as of GraphRunner.
[[nodiscard]] Result<ChannelMaxima> CollectChannelMaxima(const Graph& graph,
                                                         const std::vector<Sample>& samples);

}  // namespace tenon::converter
