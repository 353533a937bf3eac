// Compares what a graph computes before and after a pass.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstring>
#include <string_view>
#include <vector>

#include "tests/support/evaluate_graph.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {

/// The first output, of f32.
inline std::vector<float> FirstOutput(const Graph& graph,
                                      const std::vector<std::vector<std::byte>>& inputs) {
  const auto evaluation = test::EvaluateGraph(graph, inputs);
  if (!evaluation.error.empty()) FAIL(evaluation.error);
  const std::vector<std::byte>& bytes = evaluation.values.at(graph.outputs()[0].tensor);
  std::vector<float> values(bytes.size() / sizeof(float));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

/// Checks that the pass changes the graph, and that the first output is as before: no number is
/// further off than `relative` of it and `absolute` together.
inline void CheckSameNumbers(const Pass& pass, std::string_view text,
                             const std::vector<std::vector<std::byte>>& inputs, float relative,
                             float absolute) {
  CAPTURE(text);
  Graph graph = Parsed(text);
  const std::vector<float> expected = FirstOutput(graph, inputs);
  PassContext context;
  std::vector<PassReport> reports;
  const Status status = RunPass(pass, graph, context, reports);
  if (!status.ok()) FAIL(status.error().message);
  CHECK(reports.front().changed > 0);
  const std::vector<float> computed = FirstOutput(graph, inputs);
  REQUIRE(computed.size() == expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(computed[i] - expected[i]) <= relative * std::abs(expected[i]) + absolute);
  }
}

}  // namespace tenon::converter
