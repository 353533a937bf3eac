// Makes orders without a search.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

// List scheduling for memory makes an order in near-linear time, which is the start of every search
// and all that is affordable for the largest graphs.

/// Selects which of several nodes comes first if they change the live bytes by the same amount.
enum class GreedyTie {
  kSource,  ///< the one that comes first in the source order
  kLatest,  ///< the one made ready last, so that what was begun is finished
};

/// Takes the ready node that leaves the fewest bytes alive, then the one that needs the fewest
/// while it runs, until all are done. O((nodes + edges) log nodes).
[[nodiscard]] std::vector<Index> GreedyOrder(const MemoryProblem& problem, GreedyTie tie);

// A random order of nodes is the baseline that a search must beat, and the source of candidates for
// measuring.

/// Takes one of the nodes whose predecessors are done, each equally likely, until all are done.
/// Every order that respects the predecessors can result, but not all equally often. The result is
/// the same for the same seed on every machine. O(nodes + edges).
[[nodiscard]] std::vector<Index> RandomOrder(const MemoryProblem& problem, uint64_t seed);

/// Takes, of the nodes whose predecessors are done, the one with the largest priority (the smaller
/// number, if equal). Nodes beyond the end of `priority` have 0. O((nodes + edges) log nodes).
[[nodiscard]] std::vector<Index> PriorityOrder(const MemoryProblem& problem,
                                               const std::vector<double>& priority);

}  // namespace tenon::converter
