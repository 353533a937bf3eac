#include "converter/passes/passes.hpp"

namespace tenon::converter {

Status KeepStates(Graph& graph, PassContext& context) {
  for (const Graph::State& state : graph.states) {
    const Graph::Port* input = graph.FindPort(/*output=*/false, state.input);
    if (graph.IsOutput(input->tensor)) continue;
    std::string name = state.input + ".kept";
    while (graph.FindPort(/*output=*/true, name) != nullptr) name += '_';
    graph.AddOutput(input->tensor, name);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
