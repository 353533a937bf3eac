// Runs a model of a few nodes, whose inputs are f32, by the portable kernels.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {

using Floats = std::vector<float>;

inline constexpr float kInfinity = std::numeric_limits<float>::infinity();

inline bool Contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

inline std::vector<std::byte> Bytes(const Floats& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// The first output of a model whose inputs are all f32, computed by the portable kernels.
template <typename T = float>
std::vector<T> Run(const ModelBuilder& model, const std::vector<Floats>& inputs) {
  const Result<Graph> graph = model.Import();
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  Values values;
  for (size_t i = 0; i < graph->inputs().size(); ++i) {
    values[graph->inputs()[i].tensor] = Bytes(inputs.at(i));
  }
  const TensorId output = graph->outputs()[0].tensor;
  const Status status = Evaluate(*graph, {output}, values);
  REQUIRE_MESSAGE(status.ok(), status.error().message);
  const std::vector<std::byte>& bytes = values[output];
  std::vector<T> result(bytes.size() / sizeof(T));
  if (!result.empty()) std::memcpy(result.data(), bytes.data(), bytes.size());
  return result;
}

inline void CheckClose(const Floats& got, const Floats& wanted) {
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(wanted[i]));
}

}  // namespace tenon::converter::test
