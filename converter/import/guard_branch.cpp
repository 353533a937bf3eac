#include "converter/import/guard_branch.hpp"

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"

namespace tenon::converter {
namespace {

TensorId Zero(Graph& graph, DType dtype, const std::string& name) {
  return graph.AddConstant(name, dtype, Shape{},
                           std::vector<std::byte>(static_cast<size_t>(DTypeBytes(dtype))));
}

/// The number of a new op, which is gone again: ops that come later have higher ones.
Result<OpId> Mark(Graph& graph, TensorId condition) {
  TENON_ASSIGN_OR_RETURN(const OpId mark, graph.AddOp(OpKind::kReshape, "branch", {condition},
                                                      Attributes(ReshapeAttributes())));
  graph.EraseOp(mark);
  return mark;
}

}  // namespace

Result<BranchOps> BranchOps::Begin(Graph& graph, TensorId condition) {
  BranchOps branch;
  TENON_ASSIGN_OR_RETURN(branch.mark_, Mark(graph, condition));
  return branch;
}

Status BranchOps::Guard(Graph& graph, TensorId condition, bool taken) const {
  TENON_ASSIGN_OR_RETURN(const OpId end, Mark(graph, condition));
  for (OpId id = mark_; id < end; ++id) {
    const int operand = graph.IsOp(id) ? TraitsOf(graph.op(id).kind).checked_indices : -1;
    if (operand < 0) continue;
    const TensorId indices = graph.op(id).inputs[static_cast<size_t>(operand)];
    if (graph.tensor(indices).constant != nullptr) continue;
    const std::string name = graph.op(id).name + ".guarded";
    const TensorId zero = Zero(graph, graph.tensor(indices).dtype, name + ".zero");
    const std::vector<TensorId> inputs = {condition, taken ? indices : zero,
                                          taken ? zero : indices};
    TENON_ASSIGN_OR_RETURN(const OpId select,
                           graph.InsertOp(id, OpKind::kSelect, name, inputs, Attributes()));
    graph.SetInput(id, static_cast<size_t>(operand), graph.op(select).outputs.front());
  }
  return {};
}

}  // namespace tenon::converter
