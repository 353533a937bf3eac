// A random order of nodes: the baseline that a search must beat, and the source of candidates for
// measuring.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// Takes one of the nodes whose predecessors are done, each as likely, until all are: every order
/// that respects the predecessors can come out, not all equally often. The same for the same seed
/// on every machine. O(nodes + edges).
[[nodiscard]] std::vector<Index> RandomOrder(const MemoryProblem& problem, uint64_t seed);

}  // namespace tenon::converter
