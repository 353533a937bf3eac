// Evaluates graphs with the portable CPU kernels, op by op: folds constants in tests, and shows
// that an imported graph computes what the model says.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter::test {

using Values = std::map<TensorId, std::vector<std::byte>>;

/// Computes `wanted` (all ops that they need), given the values of graph inputs.
[[nodiscard]] Status Evaluate(const Graph& graph, const std::vector<TensorId>& wanted,
                              Values& values);

/// A ConstantFolder.
[[nodiscard]] Status FoldWithPortableKernels(Graph& graph, const std::vector<TensorId>& tensors);

}  // namespace tenon::converter::test
