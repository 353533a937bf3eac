// Chooses the order of tasks with the smallest makespan on units that run in parallel
// (docs/methods.md, C6): tries all orders where there are few; else searches over downsets without
// regard to memory, whose result is a bound and, where memory limits nothing, the optimum
// (segment_search.hpp); then runs a seeded search from several starting points. Ties go to the
// smaller peak of fast memory. The result is never worse than the source order, list scheduling and
// the random orders tried.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "converter/progress.hpp"
#include "converter/solve/time/time_problem.hpp"

namespace tenon::converter {

struct TimeSearchOptions {
  /// Limits the tasks issued in all evaluated orders together, about a third of a microsecond each.
  /// This is not in seconds, so that results are repeatable.
  int64_t work_budget = 3'000'000;
  uint64_t seed = 1;
  int random_orders = 10;        ///< the baseline is the best of them
  int64_t count_budget = 2'000;  ///< downsets that counting the orders may take
  int smallest_subgraph = 4;     ///< of those between key nodes; smaller ones join a neighbour
  int largest_subgraph = 64;     ///< larger ones are cut further, where paths fork or meet
  Picoseconds target = 0;        ///< stop at the first order that is as short
  std::vector<Index> start;      ///< an order known to be good; may be empty
  /// May be empty. Reports the search after the baselines; subgraphs add a quarter of the budget.
  ProgressFunction progress;
};

struct TimeSubgraph {
  size_t tasks = 0;
  std::optional<uint64_t> orders;  ///< that there are; none if not counted
  int64_t tried = 0;
  bool exact = false;   ///< all orders were tried, by themselves
  bool shared = false;  ///< searched once with an identical one
};

/// Is the time that an order takes; none if it does not fit into fast memory.
using OrderTime = std::optional<Picoseconds>;

struct TimeOrder {
  std::vector<Index> order;
  OrderTime source;
  OrderTime random;  ///< the best of several
  OrderTime list;
  OrderTime chosen;
  TimeBound bound;
  int64_t peak_bytes = 0;
  int64_t tried = 0;               ///< orders evaluated as a whole
  std::optional<uint64_t> orders;  ///< that there are; none if not counted
  bool exact = false;              ///< all were tried, or the chosen one reaches the bound
  std::vector<TimeSubgraph> subgraphs;
  Index stuck = 0;  ///< a task that fast memory has no space for, if no order fits
};

/// Deterministic.
[[nodiscard]] TimeOrder FindTimeOrder(const TimeProblem& problem, const TimeSearchOptions& options);

// Chooses which storages lie in slow memory although they would fit into the fast one, so that ops
// work on copies of the windows they use and the rest takes no fast memory.

/// Inverts `slow` of single storages while that shortens the order, the largest first; those in
/// `fixed` stay. `work` limits the tasks issued in all evaluations together. Returns true if any
/// has changed.
bool ImproveRoots(TimeProblem& problem, const std::vector<Index>& order,
                  const std::vector<bool>& fixed, int64_t work);

}  // namespace tenon::converter
