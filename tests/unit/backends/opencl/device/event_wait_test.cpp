#include "backends/opencl/device/event_wait.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <set>
#include <thread>

#include "backends/opencl/device/device.hpp"
#include "tests/unit/backends/opencl/device/queue_bench.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr Deadline kMinute = 60'000 * kMillisecond;

/// An event that ends when it is told to.
class HeldEvent {
 public:
  HeldEvent() {
    REQUIRE(device_.Open(1).ok());
    cl_int code = CL_SUCCESS;
    event_ = Cl().CreateUserEvent(device_.context(), &code);
    REQUIRE(code == CL_SUCCESS);
  }
  HeldEvent(const HeldEvent&) = delete;
  HeldEvent& operator=(const HeldEvent&) = delete;
  ~HeldEvent() { Cl().ReleaseEvent(event_); }

  [[nodiscard]] cl_event event() const { return event_; }
  void End(cl_int state) { REQUIRE(Cl().SetUserEventStatus(event_, state) == CL_SUCCESS); }

  /// Waits for it while another thread ends it a little later, once `begun` says so: that fails
  /// where it does not within ten seconds.
  Status WaitWhileItEnds(
      cl_int state, const std::function<bool()>& begun = [] { return true; }) {
    std::thread other([this, state, &begun] {
      const Deadline end = Now() + 10'000 * kMillisecond;
      do {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
      } while (!begun() && Now() < end);
      CHECK(begun());
      Cl().SetUserEventStatus(event_, state);
    });
    Status status = WaitForEvent(event_, Now() + kMinute);
    other.join();
    return status;
  }

 private:
  Device device_;
  cl_event event_ = nullptr;
};

using Callback = void(CL_CALLBACK*)(cl_event, cl_int, void*);

/// Has the driver refuse callbacks, or take them and never call.
class DriverWithoutCallbacks {
 public:
  explicit DriverWithoutCallbacks(cl_int answer) {
    answer_ = answer;
    kept_ = nullptr;
    questions_ = 0;
    functions_ = Cl();
    get_event_info_ = functions_.GetEventInfo;
    functions_.SetEventCallback = [](cl_event, cl_int, Callback callback, void* data) {
      callback_ = callback;
      kept_ = data;
      return answer_.load();
    };
    functions_.GetEventInfo = [](cl_event event, cl_event_info info, size_t size, void* value,
                                 size_t* needed) {
      ++questions_;
      return get_event_info_(event, info, size, value, needed);
    };
    InterceptClFunctions(&functions_);
  }
  DriverWithoutCallbacks(const DriverWithoutCallbacks&) = delete;
  DriverWithoutCallbacks& operator=(const DriverWithoutCallbacks&) = delete;
  ~DriverWithoutCallbacks() { InterceptClFunctions(nullptr); }

  [[nodiscard]] static bool WasAsked() { return kept_ != nullptr; }
  [[nodiscard]] static void* Kept() { return kept_; }
  /// Calls back after all.
  static void CallBack(cl_event event) { callback_(event, CL_COMPLETE, kept_); }
  /// How often somebody has asked for the state of an event.
  [[nodiscard]] static int Questions() { return questions_; }

 private:
  static inline std::atomic<cl_int> answer_ = CL_SUCCESS;
  static inline std::atomic<Callback> callback_ = nullptr;  // what a driver would keep
  static inline std::atomic<void*> kept_ = nullptr;
  static inline std::atomic<int> questions_ = 0;
  static inline decltype(ClFunctions::GetEventInfo) get_event_info_ = nullptr;
  ClFunctions functions_;
};

/// Counts how often somebody asks for the state of an event from now on.
class Questions {
 public:
  /// Returns true if they are many more than of one whose sleeps grow to 20 ms.
  [[nodiscard]] bool AreMany() const {
    const auto slept = static_cast<int>((Now() - start_) / (20 * kMillisecond));
    return DriverWithoutCallbacks::Questions() - asked_ > slept + 15;
  }

 private:
  int asked_ = DriverWithoutCallbacks::Questions();
  Deadline start_ = Now();
};

}  // namespace

TEST_CASE("OpenCL event wait: ends with the event, and tells whether that failed") {
  CHECK(HeldEvent().WaitWhileItEnds(CL_COMPLETE).ok());
  CHECK(HeldEvent().WaitWhileItEnds(-5).code() == StatusCode::kBackendFailure);
}

TEST_CASE("OpenCL event wait: an event that has ended is not waited for") {
  HeldEvent held;
  held.End(CL_COMPLETE);
  CHECK(WaitForEvent(held.event(), Now() + kMinute).ok());
}

TEST_CASE("OpenCL event wait: ends though the driver refuses to call back") {
  HeldEvent held;
  const DriverWithoutCallbacks driver(CL_OUT_OF_HOST_MEMORY);
  CHECK(held.WaitWhileItEnds(CL_COMPLETE, DriverWithoutCallbacks::WasAsked).ok());
}

TEST_CASE("OpenCL event wait: ends though the driver forgets to call back") {
  HeldEvent held;
  const DriverWithoutCallbacks driver(CL_SUCCESS);
  CHECK(held.WaitWhileItEnds(CL_COMPLETE, DriverWithoutCallbacks::WasAsked).ok());
}

TEST_CASE(
    "OpenCL event wait: whoever waits sleeps long, and looks again once the driver calls back") {
  using std::chrono::milliseconds;
  HeldEvent held;
  const DriverWithoutCallbacks driver(CL_SUCCESS);
  std::thread other([&] {
    while (!DriverWithoutCallbacks::WasAsked()) std::this_thread::sleep_for(milliseconds(1));
    const Questions before;
    std::this_thread::sleep_for(milliseconds(200));
    CHECK_FALSE(before.AreMany());
    const Questions after;
    DriverWithoutCallbacks::CallBack(held.event());
    // On a busy machine it may be a while until it can look often.
    const Deadline end = Now() + 10'000 * kMillisecond;
    while (!after.AreMany() && Now() < end) std::this_thread::sleep_for(milliseconds(1));
    CHECK(after.AreMany());
    held.End(CL_COMPLETE);
  });
  CHECK(WaitForEvent(held.event(), Now() + kMinute).ok());
  other.join();
}

TEST_CASE("OpenCL event wait: alarms that have rung are used again, and forgotten ones are not") {
  std::set<void*> alarms;
  for (int i = 0; i < 200; ++i) {
    HeldEvent held;
    const DriverWithoutCallbacks driver(CL_SUCCESS);
    CHECK(WaitForEvent(held.event(), Now() + kMillisecond).code() == StatusCode::kDeadlineExceeded);
    if (!DriverWithoutCallbacks::WasAsked()) continue;  // this thread was not let run
    alarms.insert(DriverWithoutCallbacks::Kept());
    if (i % 50 != 0) DriverWithoutCallbacks::CallBack(held.event());
    held.End(CL_COMPLETE);
  }
  CHECK(alarms.size() <= 5);
}

TEST_CASE("OpenCL event wait: an event may end after the wait was given up") {
  HeldEvent held;
  CHECK(WaitForEvent(held.event(), Now() + kMillisecond).code() == StatusCode::kDeadlineExceeded);
  CHECK(WaitForEvent(held.event(), Now()).code() == StatusCode::kDeadlineExceeded);
  held.End(CL_COMPLETE);
  CHECK(WaitForEvent(held.event(), Now() + kMinute).ok());
}

}  // namespace tenon::opencl::testing
