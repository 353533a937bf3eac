// Orders that are found without a search.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

// List scheduling for memory: an order in near-linear time, the start of every search and all that
// the largest graphs can afford.

/// Which of several nodes that change the live bytes alike comes first.
enum class GreedyTie {
  kSource,  ///< the one that comes first in the source order
  kLatest,  ///< the one made ready last, so that what was begun is finished
};

/// Takes the ready node that leaves the fewest bytes alive, then the one that needs the fewest
/// while it runs, until all are done. O((nodes + edges) log nodes).
[[nodiscard]] std::vector<Index> GreedyOrder(const MemoryProblem& problem, GreedyTie tie);

// A random order of nodes: the baseline that a search must beat, and the source of candidates for
// measuring.

/// Takes one of the nodes whose predecessors are done, each as likely, until all are: every order
/// that respects the predecessors can come out, not all equally often. The same for the same seed
/// on every machine. O(nodes + edges).
[[nodiscard]] std::vector<Index> RandomOrder(const MemoryProblem& problem, uint64_t seed);

}  // namespace tenon::converter
