// Computes at conversion what depends on constants only, by running it: a small plan through the
// public C interface, on the portable kernels.
#pragma once

#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/ir/pass.hpp"

namespace tenon::converter {

/// Turns `tensors`, which depend on constants only, into constants. The ops that made them stay
/// (without readers) until dead code is eliminated.
/// Errors: kInput if a tensor depends on a graph input; or what the run reports.
[[nodiscard]] Status FoldTensors(Graph& graph, const std::vector<TensorId>& tensors);

/// Pass "fold-constants". Requires: nothing. Guarantees: no op reads constants only, except where
/// the result would be much larger than what it is made from (declined).
[[nodiscard]] Status FoldConstants(Graph& graph, PassReport& report);

/// The same, but dequantize ops and what depends on them stay: for while it is still open whether
/// the ops that read them take the quantized values.
[[nodiscard]] Status FoldQuantizedConstants(Graph& graph, PassReport& report);

}  // namespace tenon::converter
