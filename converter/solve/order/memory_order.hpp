// Chooses the order of nodes with the smallest peak of live bytes, one subgraph between key nodes
// after another: exactly where that is affordable, else by a beam search of growing width.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "converter/progress.hpp"
#include "converter/solve/order/memory_problem.hpp"

namespace tenon::converter {

struct MemoryOrderOptions {
  /// Limits the work units of all subgraphs and searches together: a downset expanded in a subgraph
  /// of a hundred nodes takes one, in one of a thousand ten, each about 1.5 microseconds. They are
  /// not seconds, so that results are repeatable.
  int64_t work_budget = 1'000'000;
  /// Limits the downsets that counting the orders of a subgraph may take to this, and those of all
  /// subgraphs together to a hundred times this; orders are not counted beyond.
  int64_t count_budget = 2'000;
  uint64_t seed = 1;
  int smallest_subgraph = 4;  ///< smaller ones join a neighbour
  bool key_nodes = true;      ///< cut at them; else all nodes are searched as one subgraph
  ProgressFunction progress;  ///< may be empty
};

struct SubgraphOrder {
  size_t nodes = 0;
  /// Is the number of topological orders; UINT64_MAX for that many or more; none if not counted.
  std::optional<uint64_t> orders;
  int64_t source_peak = 0;
  int64_t peak = 0;
  int64_t lower_bound = 0;  ///< no order of this subgraph needs less
  int64_t expanded = 0;     ///< downsets
  bool exact = false;       ///< no order of it can make the peak of the whole smaller
  bool shared = false;      ///< searched once with an identical one
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

/// Remembers orders for FindMemoryOrder, by all that they depend on.
struct MemoryOrderMemo {
  size_t most_bytes = size_t{1} << 26;  ///< of keys; what would take more is searched each time
  size_t bytes = 0;
  std::map<std::string, MemoryOrder> known;
};

/// Deterministic; never worse than the source order. A subgraph that does not determine the peak of
/// the whole keeps its source order.
[[nodiscard]] MemoryOrder FindMemoryOrder(const MemoryProblem& problem,
                                          const MemoryOrderOptions& options);
/// The same; what has been searched for before is looked up.
[[nodiscard]] MemoryOrder FindMemoryOrder(const MemoryProblem& problem,
                                          const MemoryOrderOptions& options, MemoryOrderMemo& memo);

/// Returns the problem's key nodes (see key_nodes.hpp), in the order of execution.
[[nodiscard]] std::vector<Index> KeyNodesOf(const MemoryProblem& problem);

/// Returns the number of topological orders, by counting paths over downsets; UINT64_MAX for that
/// many or more. Returns none if there are more than `most_downsets` downsets. Writes how many it
/// has seen to `downsets`.
[[nodiscard]] std::optional<uint64_t> CountOrders(const MemoryProblem& problem,
                                                  int64_t most_downsets,
                                                  int64_t* downsets = nullptr);

}  // namespace tenon::converter
