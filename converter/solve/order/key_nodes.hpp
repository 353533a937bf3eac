// Finds the key nodes of a DAG: the nodes that lie on every path from a source to a sink. They cut
// a graph into subgraphs whose orders can be chosen one by one. This code does not depend on ops or
// tensors.
#pragma once

#include <utility>
#include <vector>

#include "converter/status.hpp"

namespace tenon::converter {

/// Nodes are 0 .. nodes-1. An edge (a, b) means that a comes before b. Parallel edges are allowed.
struct Dag {
  int nodes = 0;
  std::vector<std::pair<int, int>> edges;
};

/// Returns the nodes in an order in which every edge leads forwards: 0, 1, 2, ... where that is
/// one. O(V + E). Errors (kInternal): an endpoint out of range, or a cycle.
[[nodiscard]] Result<std::vector<int>> TopologicalOrder(const Dag& dag);

/// Returns the key nodes in the order of the paths. Several sources (sinks) count as if one virtual
/// node came before (after) them all, which itself is not listed. Every other node is an ancestor
/// or a descendant of each key node. O(V + E). Errors: as TopologicalOrder.
[[nodiscard]] Result<std::vector<int>> FindKeyNodes(const Dag& dag);

/// Cuts the DAG behind its key nodes: a subgraph consists of the nodes between two of them and the
/// later one. A subgraph of one node joins the one before it; after that, one of fewer than
/// `smallest` nodes joins the smaller of its neighbours (the one before, if equal). Subgraphs are
/// in the order of the paths, their nodes in topological order (ascending where the numbers are a
/// topological order). O(V + E). Errors: as TopologicalOrder.
[[nodiscard]] Result<std::vector<std::vector<int>>> CutAtKeyNodes(const Dag& dag, int smallest);

/// Cuts subgraphs of more than `largest` nodes further, behind nodes where paths fork or meet: in
/// every stretch of `largest` nodes of their order behind the one that the fewest edges bypass.
/// Such cuts are not on all paths, so the orders of what is cut there are not independent. O(V +
/// E).
[[nodiscard]] std::vector<std::vector<int>> CutAtForksAndJoins(
    const Dag& dag, const std::vector<std::vector<int>>& parts, int largest);

}  // namespace tenon::converter
