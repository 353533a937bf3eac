// Proposes lists of segments for a board whose devices are started once per segment: the baselines,
// and what searches find (docs/methods.md, C6, M3).
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "converter/schedule/make_schedule.hpp"
#include "converter/schedule/segment_graph.hpp"
#include "converter/solve/time/segment_search.hpp"

namespace tenon::converter {

/// Returns the ops in this order; neighbours on one unit are a segment. With `most_ops`, segments
/// are cut after so many.
[[nodiscard]] SegmentList MergeNeighbours(const SegmentGraph& graph,
                                          const std::vector<Index>& order,
                                          size_t most_ops = SIZE_MAX);

/// Orders of ops that need no search, with neighbours on one unit merged.
[[nodiscard]] SegmentList SourceSegments(const SegmentGraph& graph);
[[nodiscard]] SegmentList ListSegments(const SegmentGraph& graph);  ///< longest tail first
[[nodiscard]] SegmentList RandomSegments(const SegmentGraph& graph, uint64_t seed);

/// What searches without a limit of memory have found.
struct SegmentProposals {
  std::vector<SegmentList> lists;  ///< the last is the best by the estimate of TimesOf
  SegmentSearch search;            ///< over downsets; its bound holds for all lists
  size_t fewest = 0;               ///< segments, if only their number mattered
  bool fewest_is_exact = false;
  Picoseconds fewest_time = 0;
  int64_t tried = 0;  ///< lists and states of the search
};

/// Merges into few segments first and splits those whose merging delays others; then searches over
/// downsets, unless the result takes no longer than `bound`. Each list's segments have the order
/// inside that needs least memory, unless something ends later because of it.
[[nodiscard]] SegmentProposals ProposeSegments(const SegmentGraph& graph,
                                               const TimeSearchOptions& options, Picoseconds bound);

/// Calls `try_list` with lists that need little memory, until it returns the bytes that one needs
/// and these are at most `limit`: first what the search over downsets finds below a limit of live
/// bytes, then the order with the smallest peak, in ever shorter segments down to single ops. They
/// are to run one after the other, as listed.
void ProposeSmallSegments(const SegmentGraph& graph, const TimeSearchOptions& options,
                          int64_t limit,
                          const std::function<int64_t(const SegmentList& list)>& try_list);

/// Returns the order of ops with the smallest peak of live bytes, if they run one by one.
[[nodiscard]] std::vector<Index> SmallestOrder(const SegmentGraph& graph,
                                               const TimeSearchOptions& options);

/// Returns a report of each subgraph between key nodes.
[[nodiscard]] std::vector<TimeSubgraph> SubgraphsOf(const SegmentGraph& graph,
                                                    const TimeSearchOptions& options,
                                                    const SegmentSearch& search);

}  // namespace tenon::converter
