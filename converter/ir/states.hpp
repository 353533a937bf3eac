// Questions about what a graph keeps from one run to the next (Graph::State).
#pragma once

#include <algorithm>
#include <string_view>

#include "converter/ir/graph.hpp"

namespace tenon::converter {

/// Returns true if the input or output of this name holds a state, and so is no port of the plan.
[[nodiscard]] inline bool IsState(const Graph& graph, bool output, std::string_view port) {
  return std::any_of(graph.states.begin(), graph.states.end(), [&](const Graph::State& state) {
    return (output ? state.output : state.input) == port;
  });
}

}  // namespace tenon::converter
