// The monotonic clock that deadlines are read on.
#pragma once

#include <chrono>
#include <cstdint>

#include "runtime/backend_api/device.hpp"

namespace tenon {

[[nodiscard]] inline Deadline MonotonicNow() {
  return static_cast<Deadline>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

/// The moment `nanoseconds` from now; kNoDeadline stays what it is, and nothing wraps.
[[nodiscard]] inline Deadline DeadlineAfter(uint64_t nanoseconds) {
  const Deadline now = MonotonicNow();
  return nanoseconds >= kNoDeadline - now ? kNoDeadline : now + nanoseconds;
}

/// For std::condition_variable. Centuries ahead stands for never.
[[nodiscard]] inline std::chrono::steady_clock::time_point TimePointOf(Deadline deadline) {
  constexpr Deadline kFarAway = INT64_MAX / 2;
  return std::chrono::steady_clock::time_point(
      std::chrono::nanoseconds(static_cast<int64_t>(deadline < kFarAway ? deadline : kFarAway)));
}

}  // namespace tenon
