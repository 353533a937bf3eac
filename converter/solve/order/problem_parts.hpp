// Cuts a memory problem into parts and orders its equal branches, which makes it small enough to be
// searched.
#pragma once

#include <vector>

#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

// ProblemParts cuts an order of a memory problem into runs that can be searched on their own.

class ProblemParts {
 public:
  /// `order` must respect the predecessors; the problem must outlive this object. O(V + E).
  ProblemParts(const MemoryProblem& problem, std::vector<Index> order);

  /// Returns the nodes at positions `begin` up to but not including `end` of the order as a problem
  /// of their own, with the others before and behind them: node i is order()[begin + i]. Its peak
  /// under an order is what the whole reaches there. O(the part).
  [[nodiscard]] MemoryProblem Part(size_t begin, size_t end);

  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  /// Puts the nodes of Part(begin, ...) into the order `local`, by their numbers in it. Parts that
  /// overlap this one must then be cut by a new object.
  void Reorder(size_t begin, const std::vector<Index>& local);

 private:
  static constexpr Index kAbsent = UINT32_MAX;

  const MemoryProblem& problem_;
  std::vector<Index> order_;
  std::vector<Index> position_;       ///< by node
  std::vector<Index> first_, last_;   ///< by storage: positions that touch it; kAbsent if none
  std::vector<int64_t> live_before_;  ///< by position: bytes of storages alive across its start
  std::vector<Index> local_storage_;  ///< scratch, by storage
};

// Equal branches of a memory problem are chains of nodes that could be exchanged without any
// difference, such as the branches of a wide fan. Searching all their permutations is infeasible
// and useless.

/// Returns the same problem with more predecessors: of equal branches, the first node of one comes
/// after the first node of the branch before, the second after the second, and so on. The smallest
/// peak stays the same: in any order the branches may be renumbered at each step, so that the k-th
/// to come to a step is the k-th branch there, and every downset has as many bytes alive as before.
/// O((nodes + edges) log nodes).
[[nodiscard]] MemoryProblem WithEqualBranchesInTurn(const MemoryProblem& problem);

}  // namespace tenon::converter
