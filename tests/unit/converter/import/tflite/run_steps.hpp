// Evaluates an imported graph whose state is that of a step before.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {

using PortValues = std::map<std::string, std::vector<float>>;

/// Every output's floats, those that states leave among them ("h.next" of the state "h").
[[nodiscard]] inline PortValues RunStep(TfliteBuilder& model, const PortValues& inputs) {
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  for (const auto& [port, floats] : inputs) {
    REQUIRE(graph->FindPort(false, port) != nullptr);
    auto& bytes = values[graph->FindPort(false, port)->tensor];
    bytes.resize(floats.size() * sizeof(float));
    std::memcpy(bytes.data(), floats.data(), bytes.size());
  }
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  REQUIRE(Evaluate(*graph, wanted, values).ok());
  PortValues found;
  for (const auto& port : graph->outputs()) {
    const auto& bytes = values.at(port.tensor);
    std::vector<float>& floats = found[port.name];
    floats.resize(bytes.size() / sizeof(float));
    std::memcpy(floats.data(), bytes.data(), bytes.size());
  }
  return found;
}

/// The bits of integers, as RunStep takes them.
[[nodiscard]] inline std::vector<float> Bits(const std::vector<int32_t>& values) {
  std::vector<float> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(int32_t));
  return bits;
}

}  // namespace tenon::converter::test
