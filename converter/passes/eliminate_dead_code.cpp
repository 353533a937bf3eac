#include "converter/passes/eliminate_dead_code.hpp"

#include <ranges>

namespace tenon::converter {

Status EliminateDeadCode(Graph& graph, PassReport& report) {
  const Graph& reading = graph;  // asking for a changeable op would reindex its inputs
  for (OpId id : std::views::reverse(graph.OpOrder())) {
    const std::vector<TensorId>& outputs = reading.op(id).outputs;
    if (std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return graph.IsRead(t); })) {
      continue;
    }
    graph.EraseOp(id);
    ++report.changed;
  }
  for (TensorId id : graph.Tensors()) {
    const bool read = graph.IsRead(id);
    if (graph.IsInput(id)) {
      if (!read) {
        report.declined.push_back({reading.tensor(id).name,
                                   "nobody reads this graph input, but "
                                   "users feed it by name"});
      }
    } else if (!read && reading.tensor(id).producer == kNone) {
      graph.EraseTensor(id);
      ++report.changed;
    }
  }
  return Status();
}

}  // namespace tenon::converter
