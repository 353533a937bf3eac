// Computes when segments run, given their order on the units, and finds segments and orders that
// make this short (docs/methods.md, M3). This code depends on neither graphs nor boards.
//
// A unit runs its segments one after the other in the order of the list. One that is started
// (TaskUnit::waits_at_start) begins a segment when everything that any op of it needs from other
// units is ready; others wait op by op. What an op writes is available to others when the op is
// done, whatever comes after it in its segment.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/tasks.hpp"

namespace tenon::converter {

struct SegmentProblem {
  std::vector<TaskUnit> units;
  TaskGraph ops;                      ///< units are indices of `units`
  std::vector<Picoseconds> duration;  ///< by op; at least 1

  [[nodiscard]] size_t size() const { return duration.size(); }
};

struct SegmentOps {
  int32_t unit = 0;
  std::vector<int32_t> ops;  ///< in order of execution

  friend bool operator==(const SegmentOps& a, const SegmentOps& b) {
    return a.unit == b.unit && a.ops == b.ops;
  }
};
/// Lists segments in an order in which no segment needs a later one.
using SegmentList = std::vector<SegmentOps>;

struct SegmentTimes {
  Picoseconds makespan = 0;
  std::vector<Picoseconds> start;   ///< by segment of the list
  std::vector<Picoseconds> end;     ///< by segment of the list
  std::vector<Picoseconds> op_end;  ///< by op
};

/// Computes the times of all segments and ops. O(ops + edges).
[[nodiscard]] SegmentTimes TimesOf(const SegmentProblem& problem, const SegmentList& list);

/// Orders each segment's ops by the longest time to the end of everything, so that the ops that
/// others wait for come first.
void OrderByTails(const SegmentProblem& problem, SegmentList& list);

/// Returns the list ordered by the longest time from a segment to the end of everything: a unit
/// begins with the segment that the most work follows.
[[nodiscard]] SegmentList OrderedByTails(const SegmentProblem& problem, const SegmentList& list);

/// Returns the list in the order of the segments' starts: of those whose predecessors are placed,
/// the one that starts first comes next. So all that end before a segment starts come before it.
[[nodiscard]] SegmentList SortedByStart(const SegmentProblem& problem, const SegmentList& list);

/// Splits segments whose merging makes others wait: a part that must wait long gets a segment of
/// its own where that, with the start that it costs, ends everything sooner. Reorders segments
/// where that does too. Never makes it longer. `work_budget` limits the ops and edges examined.
/// Returns the work done.
int64_t ImproveSegments(const SegmentProblem& problem, int64_t work_budget, SegmentList& list);

}  // namespace tenon::converter
