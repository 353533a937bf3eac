// Changes of a float graph that make it lose less when it is quantized.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

// Cross-layer equalisation: evens out the ranges of the channels between two convolutions.

/// Largest magnitude of every channel (dimension 1), of tensors that convolutions read.
using ChannelMaxima = std::map<TensorId, std::vector<double>>;

/// Where a convolution's result goes through nothing but relu or leaky relu (which let positive
/// factors pass) into one other convolution, channel i of the first is divided by s and the second
/// multiplied by it. The graph computes the same function. s = sqrt(r1 / r2), r2 being the largest
/// weight of that channel in the second, and r1
///   - without `maxima`: the largest weight of the channel in the first, so that both are
///     sqrt(r1 r2) then (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
///     Correction", 2019, section 4.1);
///   - with `maxima`: the largest value that the channel takes (Xiao et al., "SmoothQuant", 2023,
///     equation 4, with alpha = 1/2). If the second is depthwise, whose every weight channel has a
///     scale of its own, s = r1, and all channels take values of one range.
/// Repeated until the factors are near 1, since chains overlap. Deterministic.
///
/// Requires: batch norms folded into convolutions. Declines: another function between (a clip's
/// bound is no factor), several readers, weights that are shared or no constants.
[[nodiscard]] Status EqualizeLayers(Graph& graph, PassReport& report, ChannelMaxima maxima = {});

// First convolutions of a float graph that a camera's bytes come into: they read the bytes.

/// Where a convolution that may compute with integers, and is not in `keep`, reads values that lie
/// for each channel on a line over the bytes of an input, it is given those bytes through a
/// dequantize op instead: one scale, and the byte that is nearest to 0 as zero point, of each
/// channel. Weights take what the channels' gains differ by; the bias takes what is left of the
/// zero points, at most half a byte. The graph computes the same but for rounding, and where a
/// convolution pads: there the rest of the zero point is counted that padding does not have.
///
/// Left as they are: convolutions of other values, and channels whose 0 no byte stands for.
[[nodiscard]] Status TakeBytes(Graph& graph, const std::set<OpId>& keep);

}  // namespace tenon::converter
