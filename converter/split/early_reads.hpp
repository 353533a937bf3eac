// Lets what enters a shortcut die early: a pointwise convolution with steps reads every second
// pixel of its input, say. Where other ops read that input before, those pixels alone are copied
// first, so that the rest does not wait for the convolution (docs/methods.md, C4).
#pragma once

#include <cstdint>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Copies, before the first op that reads it, what such convolutions read of their input, and takes
/// their steps away. Leaves those alone whose input is an output of the graph, or needs more than
/// `most_bytes` together with what its first reader makes: there nothing fits before it is cut.
/// Results are the same bit for bit. Returns how many convolutions were changed.
[[nodiscard]] Result<int> ReadEarly(Graph& graph, int64_t most_bytes);

}  // namespace tenon::converter
