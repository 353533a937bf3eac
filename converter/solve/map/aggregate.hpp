// Aggregates ops into segments (docs/methods.md, M3): each op is marked with a unit; ops of one
// unit form segments for which a backend is started once, as few as possible, such that no segments
// wait for each other in a cycle. This code depends on neither graphs nor boards.
//
// In an order without cycles two neighbouring segments of one unit could be one, so the fewest
// segments are the fewest runs of equal units that any topological order of the ops has. A run may
// always include every op of its unit that is ready: that never makes the rest harder. So the only
// choice is which unit comes next; with two units it is made only once, at the start.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "converter/solve/time/segment_times.hpp"

namespace tenon::converter {

struct Aggregation {
  /// Is indexed by op. Segments are numbered so that no op needs one of a later segment.
  std::vector<int32_t> segment_of_op;
  std::vector<int32_t> unit_of_segment;
  bool exact = false;  ///< there is no aggregation with fewer segments
  int64_t work = 0;

  [[nodiscard]] size_t segments() const { return unit_of_segment.size(); }
};

/// Returns the fewest segments that a search over the order of units finds, level by level. The
/// search is exact while `work_budget` (ops examined) lasts and never worse than GreedyAggregation.
/// Each op is in the first possible segment. Deterministic.
[[nodiscard]] Aggregation Aggregate(const TaskGraph& problem, int64_t work_budget = 20'000'000);

/// Visits the ops once in their order; each joins the last segment if that is of its unit.
[[nodiscard]] Aggregation SourceOrderAggregation(const TaskGraph& problem);

/// Chooses as the next unit the one with the most ops that are ready or that these make ready.
[[nodiscard]] Aggregation GreedyAggregation(const TaskGraph& problem);

/// Chooses as the next unit the one with the most ready ops, for every unit that can be first, and
/// returns the aggregation with the fewest segments: with two units there are none with fewer.
/// O(units (ops + edges)), for the inside of searches.
[[nodiscard]] Aggregation QuickAggregation(const TaskGraph& problem);

/// Keeps the order of units, but puts each op in the last possible segment. Segments that become
/// empty are dropped.
[[nodiscard]] Aggregation AsLateAsPossible(const TaskGraph& problem,
                                           const Aggregation& aggregation);

/// Returns the aggregation's segments in its order, with ops by number.
[[nodiscard]] SegmentList ListOf(const SegmentProblem& problem, const Aggregation& aggregation);

/// Returns true if every op has a segment of its unit and needs nothing of a later one.
[[nodiscard]] bool IsAggregation(const TaskGraph& problem, const Aggregation& aggregation);

}  // namespace tenon::converter
