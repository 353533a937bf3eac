#include <set>

#include "converter/passes/passes.hpp"

namespace tenon::converter {

Status IsolateOutputs(Graph& graph, PassContext& context) {
  std::set<TensorId> taken;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    const TensorId id = graph.outputs()[i].tensor;
    if (graph.tensor(id).producer != kNone && taken.insert(id).second) continue;
    const std::string name = graph.outputs()[i].name + ".copy";
    TENON_ASSIGN_OR_RETURN(const TensorId copy,
                           graph.AddOpTensor(OpKind::kCopy, name, {id}, Attributes(), name));
    graph.SetPortTensor(/*output=*/true, i, copy);
    taken.insert(copy);
    ++context.report.changed;
  }
  return {};
}

}  // namespace tenon::converter
