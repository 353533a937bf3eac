// Changes a float graph so that quantization loses less accuracy.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

// Cross-layer equalisation: evens out the ranges of the channels between two convolutions.

/// The largest magnitude of every channel (dimension 1) of the tensors that convolutions read.
using ChannelMaxima = std::map<TensorId, std::vector<double>>;

/// Where a convolution's result goes only through relu or leaky relu (which let positive factors
/// pass) into one other convolution, channel i of the first is divided by s and the second
/// multiplied by it. The graph computes the same function. s = sqrt(r1 / r2), r2 being the largest
/// weight of that channel in the second, and r1
///   - without `maxima`: the largest weight of the channel in the first, so that both become
///     sqrt(r1 r2) (Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias
///     Correction", 2019, section 4.1);
///   - with `maxima`: the largest value that the channel takes (Xiao et al., "SmoothQuant", 2023,
///     equation 4, with alpha = 1/2). If the second is depthwise, whose every weight channel has a
///     scale of its own, s = r1, so that all channels have the same range.
/// Repeated until the factors are near 1, since chains overlap. Deterministic.
///
/// Requires: batch norms folded into convolutions. Declines: another function between (a clip's
/// bound does not scale), several readers, weights that are shared or not constant.
[[nodiscard]] Status EqualizeLayers(Graph& graph, PassReport& report, ChannelMaxima maxima = {});

// Makes first convolutions of a float graph read a camera's bytes.

/// Applies to convolutions that may compute with integers, are not in `keep`, and read values that
/// are, per channel, a linear function of an input's bytes. Such a convolution reads the bytes
/// through a dequantize op instead, with one scale and, per channel, the byte nearest to 0 as zero
/// point. The weights absorb the channels' different gains, the bias the rest of the zero points,
/// at most half a byte. The graph computes the same except for rounding and at padding, to which
/// the bias wrongly adds the rest of the zero point.
///
/// Convolutions of other values, and those with a channel whose 0 no byte represents, stay
/// unchanged.
[[nodiscard]] Status TakeBytes(Graph& graph, const std::set<OpId>& keep);

}  // namespace tenon::converter
