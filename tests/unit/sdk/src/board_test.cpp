// What brings up boards, with devices that do not answer and devices that count a lot.
#include "runtime/backend_api/backend.hpp"
#include "tests/unit/sdk/src/device_testing.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __lsan_disable();
extern "C" void __lsan_enable();
#endif

namespace tenon::test {
namespace {

TEST_CASE("Memory test: a device that answers has its memory looked at") {
  for (const bool own_memory : {false, true}) {
    ScriptedBackend device({"scripted", own_memory});
    tenon_memory_test test{};
    tenon_error error{};
    REQUIRE_MESSAGE(tenon_backend_test_memory(device.handle(), 10'000, &test, &error) == TENON_OK,
                    error.message);
    CHECK(test.wrong_bytes == 0);
    CHECK(test.write_bytes_per_s > 0);
    CHECK(test.read_bytes_per_s > 0);
    CHECK(device.open_queues() == 0);
    CHECK(device.open_devices() == 0);
    CHECK(device.protocol_errors() == 0);
  }
}

TEST_CASE("Memory test: whatever call fails, it says so and leaves nothing open") {
  for (const DeviceCall call :
       {DeviceCall::kOpen, DeviceCall::kOpenQueue, DeviceCall::kStart, DeviceCall::kUpload,
        DeviceCall::kSignal, DeviceCall::kSubmit, DeviceCall::kWait, DeviceCall::kDrain}) {
    CAPTURE(static_cast<int>(call));
    ScriptedBackend device;
    device.Fail(call);
    tenon_memory_test test{};
    tenon_error error{};
    CHECK(tenon_backend_test_memory(device.handle(), 4096, &test, &error) == TENON_BACKEND_FAILURE);
    CHECK(std::string(error.message).find("scripted: ") == 0);
    CHECK(device.open_queues() == 0);
    CHECK(device.open_devices() == 0);
    CHECK(device.protocol_errors() == 0);
  }
}

TEST_CASE("Memory test: a device that does not answer keeps its queue and its memory") {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_disable();  // the memory is lost on purpose
#endif
  for (const DeviceCall call : {DeviceCall::kDrain, DeviceCall::kWait}) {
    CAPTURE(static_cast<int>(call));
    ScriptedBackend device;
    device.Fail(call, 0, 1, StatusCode::kDeadlineExceeded);
    device.Fail(DeviceCall::kDrain, call == DeviceCall::kWait ? 1 : 0, 1000,
                StatusCode::kDeadlineExceeded);
    tenon_memory_test test{};
    CHECK(tenon_backend_test_memory(device.handle(), 4096, &test, nullptr) ==
          TENON_DEADLINE_EXCEEDED);
    CHECK(device.open_queues() == 1);
    CHECK(device.open_devices() == 1);
    device.Behave();
    device.CloseQueues();
  }
#if defined(__SANITIZE_ADDRESS__)
  __lsan_enable();
#endif
}

TEST_CASE("Counters: as many are written as there is room for, and all are counted") {
  ScriptedBackend device;
  Backend counting = device.backend();
  DeviceApi api = *counting.device;
  api.counters = [](void*, Span<DeviceCounter> counters) -> size_t {
    for (size_t i = 0; i < counters.size() && i < 20; ++i) counters[i] = {"starts", 100 + i};
    return 20;
  };
  counting.device = &api;
  DeviceGraph graph;
  graph.ops = {{{0}, 1}};
  graph.outputs = {1};
  const LoadedDevicePlan plan(graph, {reinterpret_cast<const tenon_backend*>(&counting)});
  REQUIRE_MESSAGE(plan.status() == TENON_OK, plan.error());
  for (const size_t room : {0U, 3U, 16U, 20U, 30U}) {
    CAPTURE(room);
    std::vector<tenon_counter> counters(31, tenon_counter{"none", 7});
    CHECK(tenon_plan_counters(plan.get(), "scripted", counters.data(), room) == 20);
    for (size_t i = 0; i < counters.size(); ++i) {
      const bool is_written = i < room && i < 20;
      CHECK(counters[i].value == (is_written ? 100 + i : 7));
      CHECK(std::string(counters[i].name) == (is_written ? "starts" : "none"));
    }
  }
  CHECK(tenon_plan_counters(plan.get(), "cpu", nullptr, 0) == 0);
}

}  // namespace
}  // namespace tenon::test
