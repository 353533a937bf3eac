// Places the bytes of segments and finds the waits that this requires.
//
// What only one segment touches is placed in a block of its own, in which ops reuse bytes without
// waits, since a unit runs its ops in order. Blocks, and storages that cross segments, are alive
// from the start of the first segment that touches them to the end of the last. So bytes are reused
// only between segments, and a segment can do all its waits before its first op. What a segment
// reads stays until its end, so that a fall-back can run it again.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/step_waits.hpp"

namespace tenon::converter {

/// Segments are in an order in which none needs a later one.
struct TimedSegment {
  std::vector<OpId> ops;
  /// What only this segment touches stays inside the device that runs it: it is in no arena.
  bool keeps_own = false;
  Picoseconds start = 0;
  Picoseconds end = 0;
};

struct SegmentArena {
  /// Its steps are the ops of all segments, one segment after another.
  ArenaPlan plan;
  /// Input of AddReuseNeeds: writers are the first steps of segments.
  std::vector<UsedBytes> uses;
};

/// Places all segments. If that needs more than `limit` bytes, segments that could run concurrently
/// share bytes too, as if they ran one after another; the result may still exceed the limit.
[[nodiscard]] SegmentArena PlaceSegments(const Graph& graph, const Locations& locations,
                                         const std::vector<TimedSegment>& segments, int64_t limit,
                                         const ArenaOptions& options);

}  // namespace tenon::converter
