#include <algorithm>

#include "converter/layout/arena_plan.hpp"
#include "converter/schedule/lower_schedule.hpp"
#include "converter/solve/place/place.hpp"
#include "converter/solve/sort_and_unique.hpp"

namespace tenon::converter {

PlacedHolds PlaceHolds(const TimeSchedule& schedule, int64_t limit, int64_t work) {
  // Numbers times consecutively, because the placer visits each one.
  std::vector<Picoseconds> times;
  for (const FastHold& hold : schedule.holds) {
    times.push_back(hold.start);
    times.push_back(hold.end);
  }
  SortAndUnique(times);
  const auto rank = [&](Picoseconds time) {
    return std::lower_bound(times.begin(), times.end(), time) - times.begin();
  };
  std::vector<size_t> buffer_of_hold;
  std::vector<Buffer> buffers;
  for (const FastHold& hold : schedule.holds) {
    if (hold.taken_over >= 0) {
      const size_t buffer = buffer_of_hold[static_cast<size_t>(hold.taken_over)];
      buffers[buffer].upper = rank(hold.end);
      buffer_of_hold.push_back(buffer);
      continue;
    }
    buffer_of_hold.push_back(buffers.size());
    buffers.push_back(
        {rank(hold.start), rank(hold.end), hold.bytes, kStorageAlignment, std::nullopt});
  }
  PlaceOptions options;
  options.limit = limit;
  options.work_budget = work;
  const Placement placement = PlaceBuffers(buffers, options);
  PlacedHolds result;
  for (const size_t buffer : buffer_of_hold) result.offsets.push_back(placement.offsets[buffer]);
  result.bytes = placement.peak;
  result.lower_bound = placement.lower_bound;
  result.proven_optimal = placement.proven_optimal;
  result.work = placement.work;
  return result;
}

}  // namespace tenon::converter
