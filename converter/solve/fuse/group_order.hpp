// Orders ops so that those which start together are neighbours. This code depends on neither graphs
// nor boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/fuse/branch_graph.hpp"

namespace tenon::converter {

struct GroupedOrder {
  std::vector<int32_t> ops;
  std::vector<std::vector<int32_t>> groups;  ///< in the order of `ops`, each with its ops as there
};

/// Returns `ops` (some of the graph's, in an order that respects the predecessors) with every group
/// as neighbours, and close to where they were: each group stands for one op, and of those that can
/// come next the one whose first op came first does. Of a group only the ops that are in `ops`
/// count, two at least; its own order is kept. Contracting the groups must leave the graph acyclic.
[[nodiscard]] GroupedOrder OrderWithGroups(const BranchGraph& graph,
                                           const std::vector<int32_t>& ops,
                                           const std::vector<std::vector<int32_t>>& groups);

}  // namespace tenon::converter
