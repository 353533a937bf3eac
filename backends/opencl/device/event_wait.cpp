#include "backends/opencl/device/event_wait.hpp"

#include <sched.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

#include "backends/opencl/device/cl_error.hpp"

namespace tenon::opencl {
namespace {

/// Polls follow each other at once for so long, since most waits are short; then this thread sleeps
/// until the driver wakes it: polls with short sleeps take a tenth of a core from a device that is
/// made of the host's cores.
constexpr Deadline kEagerNanoseconds = 50'000;
/// Between polls where the driver wakes nobody.
constexpr long kSleepNanoseconds = 50'000;
/// Sleeps grow to this, should a driver forget to wake this thread, or do so late.
constexpr Deadline kLongestSleepNanoseconds = 20'000'000;
/// Waits beyond so many at once poll: no run allocates memory.
constexpr size_t kAlarms = 64;

/// Rings when the driver says that an event has ended, which may be after the wait for it. Alarms
/// are used again once they have rung and nobody waits. One that the driver forgets (PoCL 3.1 those
/// of commands that failed) stays as it is, since the driver might still call it.
class Alarm {
 public:
  /// Returns null where it cannot be set.
  static Alarm* Set(cl_event event) {
    Alarm* const alarm = Take();
    if (alarm == nullptr) return nullptr;
    if (Cl().SetEventCallback(event, CL_COMPLETE, &Alarm::Ring, alarm) == CL_SUCCESS) return alarm;
    alarm->LetGo();
    alarm->LetGo();
    return nullptr;
  }

  /// Sleeps until it rings, at most for so long. Returns whether it has rung.
  bool Sleep(Deadline nanoseconds) {
    std::unique_lock<std::mutex> lock(mutex_);
    return rings_.wait_for(lock, std::chrono::nanoseconds(static_cast<int64_t>(nanoseconds)),
                           [this] { return has_rung_; });
  }

  /// The one who waits, and the driver once it has rung, let go of it.
  void LetGo();

 private:
  struct Pool;

  /// Is never destroyed: drivers have threads that end after everything else.
  static Pool& PoolOfAll();

  static Alarm* Take();

  static void CL_CALLBACK Ring(cl_event /*event*/, cl_int /*state*/, void* data) {
    auto* const alarm = static_cast<Alarm*>(data);
    {
      const std::lock_guard<std::mutex> lock(alarm->mutex_);
      alarm->has_rung_ = true;
      alarm->rings_.notify_one();
    }
    alarm->LetGo();
  }

  std::mutex mutex_;
  std::condition_variable rings_;
  bool has_rung_ = false;
  std::atomic<int> holders_{0};
  Alarm* next_ = nullptr;  // in the list of free ones
};

struct Alarm::Pool {
  Pool() {
    for (Alarm& alarm : alarms) {
      alarm.next_ = free;
      free = &alarm;
    }
  }

  std::mutex mutex;
  Alarm* free = nullptr;
  Alarm alarms[kAlarms];
};

Alarm::Pool& Alarm::PoolOfAll() {
  alignas(Pool) static unsigned char memory[sizeof(Pool)];
  static Pool* const pool = new (memory) Pool();
  return *pool;
}

void Alarm::LetGo() {
  if (--holders_ > 0) return;
  Pool& pool = PoolOfAll();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  next_ = pool.free;
  pool.free = this;
}

Alarm* Alarm::Take() {
  Pool& pool = PoolOfAll();
  const std::lock_guard<std::mutex> lock(pool.mutex);
  Alarm* const alarm = pool.free;
  if (alarm == nullptr) return nullptr;
  pool.free = alarm->next_;
  alarm->has_rung_ = false;
  alarm->holders_ = 2;
  return alarm;
}

/// Sleeps between polls of one event.
class Sleeper {
 public:
  explicit Sleeper(cl_event event) : event_(event) {}
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  ~Sleeper() {
    if (alarm_ != nullptr) alarm_->LetGo();
  }

  /// Sleeps until the event ends, a little longer, or not quite as long; beyond `left` nanoseconds
  /// by no more than a poll's pause.
  void Sleep(Deadline left) {
    if (is_first_) alarm_ = Alarm::Set(event_);
    is_first_ = false;
    if (alarm_ != nullptr && !has_rung_) {
      has_rung_ = alarm_->Sleep(std::min(left, longest_));
      // A driver that calls late, or never, delays nobody by more than the time waited so far.
      longest_ = std::min(2 * longest_, kLongestSleepNanoseconds);
      return;
    }
    const timespec pause = {0, kSleepNanoseconds};
    nanosleep(&pause, nullptr);
  }

 private:
  cl_event event_;
  Alarm* alarm_ = nullptr;
  Deadline longest_ = kEagerNanoseconds;
  bool is_first_ = true;
  bool has_rung_ = false;
};

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
  Sleeper sleeper(event);
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
    sleeper.Sleep(deadline - now);
  }
}

}  // namespace tenon::opencl
