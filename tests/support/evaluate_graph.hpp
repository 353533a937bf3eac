// Evaluates a graph op by op, every tensor in dense row-major memory of its own: the independent
// answer that plans with views, in-place hand-overs and fused ops are compared with.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::test {

struct Evaluation {
  std::string error;  ///< empty if every op ran
  std::map<converter::TensorId, std::vector<std::byte>> values;
  double largest = 0;  ///< magnitude among all finite f32 values, inputs and constants included
};

/// `inputs` are row-major bytes, one per graph input. Runs the portable kernels.
[[nodiscard]] Evaluation EvaluateGraph(const converter::Graph& graph,
                                       const std::vector<std::vector<std::byte>>& inputs);

}  // namespace tenon::test
