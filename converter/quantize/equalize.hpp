// Cross-layer equalisation: evens out the ranges of the channels between two convolutions.
#pragma once

#include "converter/passes/pass.hpp"

namespace tenon::converter {

/// Where a convolution's result goes through nothing but relu or leaky relu (which let positive
/// factors pass) into one other convolution, channel i of the first is divided by s and the second
/// multiplied by it, s = sqrt(r1 / r2), r1 and r2 being the largest weights of that channel in the
/// first and in the second: then both are sqrt(r1 r2), and all channels of the tensor between have
/// their share of its 256 values. The graph computes the same function. Repeated until the factors
/// are near 1, since chains overlap. Deterministic: looks at weights alone.
///
/// Requires: batch norms folded into convolutions. Declines: another function between (a clip's
/// bound is no factor), several readers, weights that are shared or no constants.
/// Source: Nagel et al., "Data-Free Quantization Through Weight Equalization and Bias Correction",
/// 2019, section 4.1.
[[nodiscard]] Status EqualizeLayers(Graph& graph, PassReport& report);

}  // namespace tenon::converter
