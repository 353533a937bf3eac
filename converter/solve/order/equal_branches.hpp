// Equal branches of a memory problem: chains of nodes that could change places without any
// difference, such as the branches of a wide fan. Searching all their permutations is hopeless, and
// of no use.
#pragma once

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

/// The same problem with more predecessors: of equal branches, the first node of one comes after
/// the first node of the branch before, the second after the second, and so on. The smallest peak
/// stays the same: in any order the branches may change names step by step, so that whichever is
/// the k-th to come to a step is the k-th branch there, and every downset has as many bytes alive
/// as before. O((nodes + edges) log nodes).
[[nodiscard]] MemoryProblem WithEqualBranchesInTurn(const MemoryProblem& problem);

}  // namespace tenon::converter
