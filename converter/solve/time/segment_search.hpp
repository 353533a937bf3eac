// Searches for the segments and the order of ops with the least time (docs/methods.md, C6, M3):
// over downsets, the sets of ops that can be done first, with what is known about time there.
//
// Ops are appended one by one, each to the last segment or as the first of a new one, so that all
// lists of segments are covered. A state is a downset, when each unit is free, and when those of
// its ops end that other units still wait for. Of two states with the same downset, one that is
// nowhere later makes the other superfluous (dominance); one that cannot end sooner than what is
// known is dropped too. Where the states of every size are few, the result is exact. Beyond that
// only the most promising of each size are kept (a beam). This code depends on neither graphs nor
// boards.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/order/memory_problem.hpp"
#include "converter/solve/time/segment_times.hpp"

namespace tenon::converter {

struct SegmentSearchOptions {
  /// Limits what is looked at: ops and edges of states that are made, about 10 nanoseconds each.
  int64_t work_budget = 20'000'000;
  size_t most_states = 4096;      ///< kept of each size
  Picoseconds upper = INT64_MAX;  ///< only shorter ones are looked for
  /// Numbers its nodes as the segment problem its ops; null: memory is not limited.
  const MemoryProblem* memory = nullptr;
  int64_t most_bytes = INT64_MAX;  ///< that may live at the same time if ops run one by one
};

struct SegmentSearch {
  SegmentList list;      ///< empty: nothing shorter than `upper` was found
  Picoseconds time = 0;  ///< of that list; else `upper`
  /// No list takes less (of those that stay within `most_bytes`).
  Picoseconds bound = 0;
  bool exact = false;                   ///< time == bound
  int64_t states = 0;                   ///< that were made
  std::vector<int64_t> states_by_size;  ///< element i: those with i + 1 ops done
};

/// Deterministic.
[[nodiscard]] SegmentSearch SearchSegments(const SegmentProblem& problem,
                                           const SegmentSearchOptions& options);

}  // namespace tenon::converter
