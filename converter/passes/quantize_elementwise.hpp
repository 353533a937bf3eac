// What quantize ops store of additions, averages and the like.
#pragma once

#include <string>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Makes one quantized op of what the quantize op `id` stores if that is, with relu, clip, maximum
/// and minimum with a constant behind it: a sum, difference, product, quotient, maximum or minimum
/// of two tensors, an average pool, a sum or mean along axes, or a softmax, dequantize ops making
/// the operands (i8 or u8, one scale each).
/// Returns why not, or empty if it was done.
[[nodiscard]] Result<std::string> TryQuantizeResult(Graph& graph, OpId id);

}  // namespace tenon::converter
