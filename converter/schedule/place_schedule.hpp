// Where in fast memory what a schedule holds there lies.
#pragma once

#include <cstdint>
#include <vector>

#include "converter/solve/time/time_schedule.hpp"

namespace tenon::converter {

struct PlacedHolds {
  std::vector<int64_t> offsets;  ///< by hold
  int64_t bytes = 0;
  int64_t lower_bound = 0;
  bool proven_optimal = false;
  int64_t work = 0;
};

/// Holds that are handed over lie in one place. Stops as soon as all fits into `limit`; `work` is
/// the placer's budget.
[[nodiscard]] PlacedHolds PlaceHolds(const TimeSchedule& schedule, int64_t limit, int64_t work);

}  // namespace tenon::converter
