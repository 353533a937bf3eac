// Computes at conversion what depends on constants only: runs it as a small plan through the public
// C interface, on the portable kernels.
#pragma once

#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Turns `tensors`, which depend on constants only, into constants. The ops that made them stay
/// (without readers) until dead code is eliminated. Errors: kInput if a tensor depends on a graph
/// input; errors of the run.
[[nodiscard]] Status FoldTensors(Graph& graph, const std::vector<TensorId>& tensors);

}  // namespace tenon::converter
