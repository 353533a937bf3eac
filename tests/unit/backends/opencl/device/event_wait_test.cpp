#include "backends/opencl/device/event_wait.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <thread>

#include "backends/opencl/device/device.hpp"
#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr Deadline kMillisecond = 1'000'000;
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

  /// Waits for it while another thread ends it a little later.
  Status WaitWhileItEnds(cl_int state) {
    std::thread other([this, state] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
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
    functions_ = Cl();
    functions_.SetEventCallback = [](cl_event, cl_int, Callback, void* data) {
      kept_ = data;
      return answer_;
    };
    InterceptClFunctions(&functions_);
  }
  DriverWithoutCallbacks(const DriverWithoutCallbacks&) = delete;
  DriverWithoutCallbacks& operator=(const DriverWithoutCallbacks&) = delete;
  ~DriverWithoutCallbacks() { InterceptClFunctions(nullptr); }

  [[nodiscard]] static bool WasAsked() { return kept_ != nullptr; }

 private:
  static cl_int answer_;
  static void* kept_;  // what a driver would keep
  ClFunctions functions_;
};

cl_int DriverWithoutCallbacks::answer_ = CL_SUCCESS;
void* DriverWithoutCallbacks::kept_ = nullptr;

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
  CHECK(held.WaitWhileItEnds(CL_COMPLETE).ok());
  CHECK(DriverWithoutCallbacks::WasAsked());
}

TEST_CASE("OpenCL event wait: ends though the driver forgets to call back") {
  HeldEvent held;
  const DriverWithoutCallbacks driver(CL_SUCCESS);
  CHECK(held.WaitWhileItEnds(CL_COMPLETE).ok());
  CHECK(DriverWithoutCallbacks::WasAsked());
}

TEST_CASE("OpenCL event wait: an event may end after the wait was given up") {
  HeldEvent held;
  CHECK(WaitForEvent(held.event(), Now() + kMillisecond).code() == StatusCode::kDeadlineExceeded);
  CHECK(WaitForEvent(held.event(), Now()).code() == StatusCode::kDeadlineExceeded);
  held.End(CL_COMPLETE);
  CHECK(WaitForEvent(held.event(), Now() + kMinute).ok());
}

}  // namespace tenon::opencl::testing
