#include "backends/fpga/device/poll.hpp"

#include <sched.h>
#include <time.h>

namespace tenon::fpga {
namespace {

/// Polls follow each other at once for so long: small segments take no more. Then with sleeps.
constexpr Deadline kEagerNanoseconds = 200'000;
constexpr long kSleepNanoseconds = 50'000;

}  // namespace

Deadline Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Deadline>(now.tv_sec) * 1'000'000'000U + static_cast<Deadline>(now.tv_nsec);
}

void Pause(Deadline start) {
  if (Now() - start < kEagerNanoseconds) {
    sched_yield();
    return;
  }
  const timespec pause = {0, kSleepNanoseconds};
  nanosleep(&pause, nullptr);
}

}  // namespace tenon::fpga
