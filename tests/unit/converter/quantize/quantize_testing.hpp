// Graphs and samples for tests of quantization.
#pragma once

#include <doctest/doctest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "converter/ir/elements.hpp"
#include "converter/ir/text.hpp"
#include "converter/quantize/graph_runner.hpp"

namespace tenon::converter {

inline Graph GraphOf(std::string_view text) {
  Result<Graph> graph = ParseGraph(text);
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().message));
  return std::move(*graph);
}

inline std::vector<std::byte> BytesOf(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// `count` samples of all inputs (f32): multiples of 2^-23 in [-1, 1).
inline std::vector<Sample> RandomSamples(const Graph& graph, size_t count, uint64_t seed = 1) {
  std::vector<Sample> samples(count);
  for (Sample& sample : samples) {
    for (const Graph::Port& port : graph.inputs()) {
      const Tensor& tensor = graph.tensor(port.tensor);
      sample.push_back(RandomElements(tensor.dtype, tensor.shape.Elements(), seed++));
    }
  }
  return samples;
}

inline OpId OpNamed(const Graph& graph, std::string_view name) {
  for (const OpId id : graph.OpOrder()) {
    if (graph.op(id).name == name) return id;
  }
  FAIL("no such op");
  return kNone;
}

}  // namespace tenon::converter
