// Changes of what an op stores that the op can make itself.
#pragma once

#include <string>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// If the quantize op `id` stores again what one dequantize op gives, bounded by relu, clip,
/// maximum and minimum with a constant at most, at the same scale, and nothing else reads that:
/// lets the op that made the bytes store them so. Zero points must be equal, or differ by the 128
/// between i8 and u8. That op is a quantized one or, if there are no bounds, a quantize op. Returns
/// whether it was done; the results are the same bit for bit.
[[nodiscard]] bool TryStoreOtherwise(Graph& graph, OpId id);

}  // namespace tenon::converter
