// The order search's view of a graph, and back.
//
// Requires:   kernels chosen, layouts assigned, locations known: what is a view costs nothing, what
//             works in place is priced so, workspaces are known.
// Guarantees: the problem's peak under an order is the placer's lower bound under that order,
//             except for paddings of alignment.
#pragma once

#include <vector>

#include "converter/ir/locations.hpp"
#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

struct OrderProblem {
  MemoryProblem problem;
  std::vector<OpId> steps;  ///< by node: the op; elided ops are no nodes
};

/// Nodes are the ops that execute, in the graph's order; storages are the roots of what they touch.
[[nodiscard]] OrderProblem MakeOrderProblem(const Graph& graph, const Locations& locations);

/// All ops of the graph with the executed ones in the order `steps`; an elided op comes just before
/// the first that needs it, or at the end. `steps` must respect the problem's precedence.
[[nodiscard]] std::vector<OpId> WithElidedOps(const Graph& graph, const Locations& locations,
                                              const std::vector<OpId>& steps);

}  // namespace tenon::converter
