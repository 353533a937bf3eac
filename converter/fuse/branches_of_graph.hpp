// Expresses a graph as the problem of finding its parallel branches (docs/methods.md, F1).
#pragma once

#include <vector>

#include "converter/ir/graph.hpp"
#include "converter/solve/fuse/branch_graph.hpp"

namespace tenon::converter {

/// Nodes are ops that are executed, numbered in the graph's order.
struct BranchesOfGraph {
  BranchGraph graph;
  std::vector<OpId> op_of_node;
};

/// Returns true if the op costs nothing before locations are known: its output shares memory with
/// its input by its kind (a reshape, a slice, a concatenation).
[[nodiscard]] bool IsViewByKind(const Op& op);

/// Returns the problem with a node for every op for which `is_executed` holds; paths lead through
/// all others. Constants make no dependencies.
template <typename IsExecuted>
[[nodiscard]] BranchesOfGraph FindBranchesOfGraph(const Graph& graph,
                                                  const IsExecuted& is_executed);

/// Makes such a problem op by op, in the graph's order.
class BranchGraphBuilder {
 public:
  explicit BranchGraphBuilder(const Graph& graph) : graph_(graph) {}
  void Add(OpId id, bool is_executed);
  [[nodiscard]] BranchesOfGraph Take() { return std::move(branches_); }

 private:
  const Graph& graph_;
  BranchesOfGraph branches_;
  std::vector<std::vector<int32_t>> writers_;  ///< by tensor: nodes whose results it has
};

template <typename IsExecuted>
BranchesOfGraph FindBranchesOfGraph(const Graph& graph, const IsExecuted& is_executed) {
  BranchGraphBuilder builder(graph);
  for (const OpId id : graph.OpOrder()) builder.Add(id, is_executed(graph.op(id)));
  return builder.Take();
}

}  // namespace tenon::converter
