// Moves quantize and dequantize ops past ops that only move or select elements, so that those work
// on bytes, and so that the quantize and dequantize ops meet what they can be fused with.
#pragma once

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Until nothing changes:
///   - of quantize ops with the same input and the same parameters one is kept;
///   - m(dequantize(q)) becomes dequantize(m(q)), for reshape, transpose, slice, expand, gather,
///     copy, max_pool, resize to the nearest, maxima and minima along axes, pad with a value that
///     the quantization has exactly, and concat of operands quantized alike;
///   - quantize(m(x)) becomes m(quantize(x)) where nothing else reads m(x), for the same ops, and
///     concat of anything;
///   - quantize(dequantize(q)) of equal parameters becomes q.
/// What stays is logged only if `log` is set. Returns the number of changes.
[[nodiscard]] Result<int> MoveQuantization(Graph& graph, bool log, PassReport& report);

}  // namespace tenon::converter
