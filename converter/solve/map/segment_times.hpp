// When segments run, by what order on which units, and the segments and orders that make this
// short (docs/methods.md, M3). Pure: knows nothing of graphs or boards.
//
// A unit runs its segments one after the other in the order of the list. One that is started
// (SegmentUnit::waits_at_start) begins a segment when everything that any op of it needs from other
// units is there; others wait op by op. What an op writes is there for others when the op is done,
// whatever comes after it in its segment.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/map/aggregate.hpp"
#include "converter/solve/time/simulator.hpp"

namespace tenon::converter {

struct SegmentUnit {
  Picoseconds start = 0;       ///< what each segment costs beside its ops
  bool waits_at_start = true;  ///< false: it is the host itself
};

struct SegmentProblem {
  std::vector<SegmentUnit> units;
  AggregateProblem ops;               ///< units are indices of `units`
  std::vector<Picoseconds> duration;  ///< by op; at least 1

  [[nodiscard]] size_t size() const { return duration.size(); }
};

struct SegmentOps {
  int32_t unit = 0;
  std::vector<int32_t> ops;  ///< in order of execution
};
/// In an order in which no segment needs a later one.
using SegmentList = std::vector<SegmentOps>;

struct SegmentTimes {
  Picoseconds makespan = 0;
  std::vector<Picoseconds> start;   ///< by segment of the list
  std::vector<Picoseconds> end;     ///< by segment of the list
  std::vector<Picoseconds> op_end;  ///< by op
};

/// O(ops + edges).
[[nodiscard]] SegmentTimes TimesOf(const SegmentProblem& problem, const SegmentList& list);

/// The aggregation's segments in its order, ops by number.
[[nodiscard]] SegmentList ListOf(const SegmentProblem& problem, const Aggregation& aggregation);

/// Each segment's ops in the order of the longest time to the end of everything, so that what
/// others wait for comes first.
void OrderByTails(const SegmentProblem& problem, SegmentList& list);

/// The list in the order of the longest time to the end of everything that segments have before
/// them: a unit begins with what most comes after.
[[nodiscard]] SegmentList OrderedByTails(const SegmentProblem& problem, const SegmentList& list);

/// Splits segments whose merging makes others wait: a part that must wait long goes into a segment
/// of its own where that, with the start that it costs, ends everything sooner; and reorders
/// segments where that does. Never makes it longer. `work_budget`: ops and edges looked at. Gives
/// the work done.
int64_t ImproveSegments(const SegmentProblem& problem, int64_t work_budget, SegmentList& list);

}  // namespace tenon::converter
