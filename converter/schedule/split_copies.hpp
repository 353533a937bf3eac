// Cuts copies that are too large for fast memory into copies of windows: layouts and views put them
// in after ops have been split.
#pragma once

#include <cstdint>

#include "converter/ir/locations.hpp"

namespace tenon::converter {

/// Every copy whose input and output have more than `most_bytes` together becomes several, along
/// the axis with the largest extent: windows of the input (slices) are copied into windows of the
/// output (a concatenation), both of which are views. `locations` follows.
[[nodiscard]] Status SplitCopies(Graph& graph, Locations& locations, int64_t most_bytes);

}  // namespace tenon::converter
