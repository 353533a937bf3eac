// Random chains of ops as networks have them, and comparing graphs by what they compute.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/graph.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"

namespace tenon::test {

/// Bytes of a graph's outputs, by the portable kernels.
inline std::vector<std::vector<std::byte>> OutputsOf(
    const converter::Graph& graph, const std::vector<std::vector<std::byte>>& inputs) {
  const Evaluation evaluation = EvaluateGraph(graph, inputs);
  REQUIRE_MESSAGE(evaluation.error.empty(), evaluation.error);
  std::vector<std::vector<std::byte>> outputs;
  for (const converter::Graph::Port& port : graph.outputs()) {
    outputs.push_back(evaluation.values.at(port.tensor));
  }
  return outputs;
}

/// A narrow input, wide images, a narrow output: 64, 1024, 1024 and 64 rows of 4 bytes, each
/// `batch` times.
[[nodiscard]] converter::Graph Hourglass(int32_t batch);

/// A random image network: convolutions of all windows, strides and paddings, pools, residuals,
/// concatenations, pixel shuffles, nearest resizing, several outputs.
class RandomNetwork {
 public:
  explicit RandomNetwork(uint64_t seed) : random_(seed) {}

  converter::Graph Make(int ops, int32_t batch);

 private:
  [[nodiscard]] int32_t Pick(int32_t low, int32_t high) {
    return low + static_cast<int32_t>(random_.Next() % static_cast<uint64_t>(high - low + 1));
  }
  converter::TensorId PickImage() {
    const auto last = static_cast<int32_t>(images_.size()) - 1;
    return images_[static_cast<size_t>(Pick(std::max(0, last - 3), last))];
  }
  converter::TensorId Weights(const Shape& shape);
  bool AddRandomOp();
  converter::Result<converter::TensorId> Conv(converter::TensorId x);
  converter::Result<converter::TensorId> Pool(converter::TensorId x);
  converter::Result<converter::TensorId> Residual(converter::TensorId x);
  converter::Result<converter::TensorId> Concat(converter::TensorId x);
  converter::Result<converter::TensorId> Shuffle(converter::TensorId x);
  converter::Result<converter::TensorId> Resize(converter::TensorId x);
  [[nodiscard]] std::vector<converter::TensorId> Alike(converter::TensorId x, bool channels) const;

  converter::SplitMix64 random_;
  converter::Graph graph_;
  std::vector<converter::TensorId> images_;
};

}  // namespace tenon::test
