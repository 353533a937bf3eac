// Aggregates ops into segments (docs/methods.md, M3): each op is marked with a unit; ops of one
// unit form segments that a backend is started once for, as few as possible, such that no segments
// wait for each other in a circle. Pure: knows nothing of graphs or boards.
//
// In an order without circles two neighbouring segments of one unit could be one, so the fewest
// segments are the fewest runs of equal units that any topological order of the ops has. Whoever is
// at a run may take every op of its unit that is ready: that never makes what is left harder.
// What is open is only which unit comes next; with two units that is no choice but the first.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tenon::converter {

struct AggregateProblem {
  std::vector<std::vector<int32_t>> predecessors;  ///< by op; each smaller than its own number
  std::vector<int32_t> unit;                       ///< by op
};

struct Aggregation {
  /// By op. Segments are numbered in an order in which no op needs one of a later segment.
  std::vector<int32_t> segment_of_op;
  std::vector<int32_t> unit_of_segment;
  bool exact = false;  ///< there is no aggregation with fewer segments
  int64_t work = 0;

  [[nodiscard]] size_t segments() const { return unit_of_segment.size(); }
};

/// The fewest segments that are found: a search over the units' turns, level by level, exact while
/// `work_budget` (ops looked at) lasts and never worse than GreedyAggregation. Each op is in the
/// first segment that can have it. Deterministic.
[[nodiscard]] Aggregation Aggregate(const AggregateProblem& problem,
                                    int64_t work_budget = 20'000'000);

/// Walks the ops once in their order; each joins the last segment if that is of its unit.
[[nodiscard]] Aggregation SourceOrderAggregation(const AggregateProblem& problem);

/// The unit whose ready ops and what they make ready is most comes next.
[[nodiscard]] Aggregation GreedyAggregation(const AggregateProblem& problem);

/// The same units' turns, but each op in the last segment that can have it. Segments that this
/// leaves without ops stay away.
[[nodiscard]] Aggregation AsLateAsPossible(const AggregateProblem& problem,
                                           const Aggregation& aggregation);

/// True if every op has a segment of its unit and needs nothing of a later one.
[[nodiscard]] bool IsAggregation(const AggregateProblem& problem, const Aggregation& aggregation);

}  // namespace tenon::converter
