// List scheduling for memory: an order in near-linear time, the start of every search and all that
// the largest graphs can afford.
#pragma once

#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// Which of several nodes that change the live bytes alike comes first.
enum class GreedyTie {
  kSource,  ///< the one that comes first in the source order
  kLatest,  ///< the one made ready last, so that what was begun is finished
};

/// Takes the ready node that leaves the fewest bytes alive, then the one that needs the fewest
/// while it runs, until all are done. O((nodes + edges) log nodes).
[[nodiscard]] std::vector<Index> GreedyOrder(const MemoryProblem& problem, GreedyTie tie);

}  // namespace tenon::converter
