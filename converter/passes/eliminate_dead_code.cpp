#include <algorithm>
#include <vector>

#include "converter/passes/passes.hpp"

namespace tenon::converter {

Status EliminateDeadCode(Graph& graph, PassContext& context) {
  std::vector<OpId> order = graph.OpOrder();
  std::reverse(order.begin(), order.end());
  for (const OpId id : order) {
    const std::vector<TensorId>& outputs = graph.op(id).outputs;
    if (std::any_of(outputs.begin(), outputs.end(), [&](TensorId t) { return graph.IsRead(t); })) {
      continue;
    }
    graph.EraseOp(id);
    ++context.report.changed;
  }
  for (TensorId id : graph.Tensors()) {
    const bool read = graph.IsRead(id);
    if (graph.IsInput(id)) {
      if (!read) {
        context.report.declined.push_back({graph.tensor(id).name,
                                           "nobody reads this graph input, but "
                                           "users feed it by name"});
      }
    } else if (!read && graph.tensor(id).producer == kNone) {
      graph.EraseTensor(id);
      ++context.report.changed;
    }
  }
  return Status();
}

}  // namespace tenon::converter
