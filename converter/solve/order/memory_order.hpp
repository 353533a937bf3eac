// Chooses the order of nodes with the smallest peak of live bytes: subgraph by subgraph between
// key nodes, exactly where that can be afforded, else by a beam of growing width.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/progress.hpp"
#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

struct MemoryOrderOptions {
  /// Work units, all subgraphs and searches together: one for each downset expanded in a subgraph
  /// of a hundred nodes, ten in one of a thousand, each about 1.5 microseconds. Not seconds, so
  /// that results repeat.
  int64_t work_budget = 1'000'000;
  /// Downsets that counting the orders of a subgraph may take, and a hundredth of what all
  /// subgraphs together may; none are counted beyond.
  int64_t count_budget = 2'000;
  uint64_t seed = 1;
  int smallest_subgraph = 4;  ///< smaller ones join a neighbour
  bool key_nodes = true;      ///< cut at them; else all nodes are searched as one subgraph
  ProgressFunction progress;  ///< may be empty
};

struct SubgraphOrder {
  size_t nodes = 0;
  /// Topological orders that there are; UINT64_MAX for that many or more; none if not counted.
  std::optional<uint64_t> orders;
  int64_t source_peak = 0;
  int64_t peak = 0;
  int64_t lower_bound = 0;  ///< no order of this subgraph needs less
  int64_t expanded = 0;     ///< downsets
  bool exact = false;       ///< no order of it can make the peak of the whole smaller
};

struct MemoryOrder {
  std::vector<Index> order;  ///< the source order where nothing smaller was found
  int64_t source_peak = 0;
  int64_t peak = 0;
  int64_t lower_bound = 0;  ///< no order needs less
  bool exact = false;       ///< peak == lower_bound
  int64_t expanded = 0;
  std::vector<SubgraphOrder> subgraphs;  ///< in the order of execution
};

/// Deterministic; never worse than the source order. A subgraph that does not make the peak of the
/// whole keeps its source order.
[[nodiscard]] MemoryOrder FindMemoryOrder(const MemoryProblem& problem,
                                          const MemoryOrderOptions& options);

/// The problem's key nodes (see key_nodes.hpp), in the order of execution.
[[nodiscard]] std::vector<Index> KeyNodesOf(const MemoryProblem& problem);

/// Topological orders of the nodes, by counting paths over downsets; UINT64_MAX for that many or
/// more. None if there are more than `most_downsets` downsets. Says how many it has seen.
[[nodiscard]] std::optional<uint64_t> CountOrders(const MemoryProblem& problem,
                                                  int64_t most_downsets,
                                                  int64_t* downsets = nullptr);

}  // namespace tenon::converter
