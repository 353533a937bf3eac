// What tests of the cost model share: a unit of round figures, and times of ops of graphs in text.
#pragma once

#include <doctest/doctest.h>

#include <string_view>
#include <utility>
#include <vector>

#include "converter/cost/cost_model.hpp"
#include "converter/ir/locations.hpp"
#include "tests/support/parsed_graph.hpp"

namespace tenon::converter {

inline const Op& ProducerOf(const Graph& graph, std::string_view tensor) {
  const TensorId id = graph.FindTensor(tensor);
  REQUIRE(id != kNone);
  return graph.op(graph.tensor(id).producer);
}

/// Every tensor in bytes of its own, without gaps.
inline Locations DenseIn(const Graph& graph) {
  Locations locations;
  for (const OpId id : graph.OpOrder()) {
    for (const std::vector<TensorId>* operands : {&graph.op(id).inputs, &graph.op(id).outputs}) {
      for (const TensorId operand : *operands) {
        if (operand == kNone) continue;
        const auto place = static_cast<size_t>(operand);
        if (locations.tensors.size() <= place) locations.tensors.resize(place + 1);
        const Tensor& tensor = graph.tensor(operand);
        locations.tensors[place] = {operand, 0, DenseStrides(tensor.shape, tensor.layout)};
      }
    }
  }
  return locations;
}

/// A unit of round figures: 1 GMAC/s and 1 G elementary ops/s, so that one is 1000 ps.
inline Unit RoundUnit(const char* kind) {
  Unit unit;
  unit.name = "unit";
  unit.backend = "cpu";
  unit.kind = kind;
  unit.threads = 4;
  unit.launch_overhead_us = 0.5;
  unit.multiply_accumulates_per_second = {{"f32", 1e9}};
  unit.elementary_ops_per_second = 1e9;
  return unit;
}

inline OpTime TimeOf(std::string_view text, std::string_view tensor, const Unit& unit,
                     int threads = 1) {
  const Graph graph = Parsed(text);
  return AnalyticCostModel(threads).TimeOf(graph, ProducerOf(graph, tensor), unit);
}

/// 4 x 8 outputs of 6 multiply-accumulates, with bias and relu.
inline constexpr std::string_view kProduct = R"(graph g
input %x: f32[4,6]
const %w: f32[6,8] = random(1)
const %b: f32[8] = random(2)
%y = matmul(%x, %w, %b) {activation=relu}
output %y
)";

}  // namespace tenon::converter
