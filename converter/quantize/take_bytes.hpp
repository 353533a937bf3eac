// First convolutions of a float graph that a camera's bytes come into: they read the bytes.
#pragma once

#include <set>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

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
