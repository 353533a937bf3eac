// Cuts of a graph into stages, by a seed.
#pragma once

#include <algorithm>
#include <random>
#include <vector>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Stages that grow along the order at random places, on units 0 and 1 of the board by turns.
struct RandomCut {
  std::vector<int32_t> stage_of_op;
  std::vector<int32_t> unit_of_stage;
};
inline RandomCut MakeRandomCut(const Graph& graph, uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::vector<OpId> order = graph.OpOrder();
  RandomCut cut;
  cut.stage_of_op.resize(static_cast<size_t>(*std::max_element(order.begin(), order.end())) + 1);
  const size_t stages = std::min<size_t>(1 + random() % 5, order.size());
  int32_t stage = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    const size_t ops_left = order.size() - i;
    const size_t stages_left = stages - static_cast<size_t>(stage) - 1;
    if (i > 0 && stages_left > 0 && (random() % 3 == 0 || ops_left <= stages_left)) ++stage;
    cut.stage_of_op[static_cast<size_t>(order[i])] = stage;
  }
  for (int32_t s = 0; s <= stage; ++s) cut.unit_of_stage.push_back(s % 2);
  return cut;
}

}  // namespace tenon::converter
