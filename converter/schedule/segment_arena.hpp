// Where the bytes of segments lie, and which waits that takes.
//
// What only one segment touches lies in a block of its own, in which bytes are used again op by op:
// a unit runs its ops in order, so nobody waits for that. Blocks, and what crosses segments, count
// from the start of the first segment that touches them to the end of the last. So bytes change
// hands between segments only, and all that a segment has to wait for can be waited for before its
// first op; and what a segment reads stays until its end, for whoever must run it again.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/step_waits.hpp"

namespace tenon::converter {

/// Segments come in an order in which none needs a later one.
struct TimedSegment {
  std::vector<OpId> ops;
  Picoseconds start = 0;
  Picoseconds end = 0;
};

struct SegmentArena {
  /// Steps are the segments' ops, one after the other.
  ArenaPlan plan;
  /// Steps, as AddReuseNeeds takes them: writers are the first steps of segments.
  std::vector<UsedBytes> uses;
};

/// If that needs more than `limit` bytes, segments that could run side by side share bytes too, as
/// if each ran alone, in their order; the result may still be over the limit.
[[nodiscard]] SegmentArena PlaceSegments(const Graph& graph, const Locations& locations,
                                         const std::vector<TimedSegment>& segments, int64_t limit,
                                         const ArenaOptions& options);

}  // namespace tenon::converter
