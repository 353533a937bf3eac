#include "backends/opencl/device/event_wait.hpp"

#include <sched.h>
#include <time.h>

#include "backends/opencl/device/cl_error.hpp"

namespace tenon::opencl {
namespace {

/// Polls follow each other at once for so long, since most waits are short; then with sleeps.
constexpr Deadline kEagerNanoseconds = 50'000;
constexpr long kSleepNanoseconds = 50'000;

}  // namespace

Deadline Now() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<Deadline>(now.tv_sec) * 1'000'000'000U + static_cast<Deadline>(now.tv_nsec);
}

Status WaitForEvent(cl_event event, Deadline deadline) {
  if (deadline == kNoDeadline) {
    // The event's own state, read below, says what failed.
    (void)Cl().WaitForEvents(1, &event);
  }
  const Deadline start = Now();
  for (;;) {
    cl_int state = CL_QUEUED;
    TENON_RETURN_IF_ERROR(TENON_CL(GetEventInfo, event, CL_EVENT_COMMAND_EXECUTION_STATUS,
                                   sizeof(state), &state, nullptr));
    if (state == CL_COMPLETE) return OkStatus();
    if (state < 0) return ClStatus(state, "a command on the OpenCL device");
    const Deadline now = Now();
    TENON_ENSURE(now < deadline, kDeadlineExceeded,
                 "the OpenCL device did not answer: waited {0} us past the call",
                 static_cast<int64_t>((now - start) / 1000));
    if (now - start < kEagerNanoseconds) {
      sched_yield();
      continue;
    }
    const timespec pause = {0, kSleepNanoseconds};
    nanosleep(&pause, nullptr);
  }
}

}  // namespace tenon::opencl
