// Devices that are missing, fail or do not answer, with the CPU's form in the plan and without.
#include "tests/unit/sdk/src/device_testing.hpp"

#if defined(__SANITIZE_ADDRESS__)
extern "C" void __lsan_disable();
extern "C" void __lsan_enable();
#endif

namespace tenon::test {
namespace {

using namespace std::chrono_literals;

bool Has(const std::string& text, const std::string& words) {
  CAPTURE(text);
  const bool found = text.find(words) != std::string::npos;
  CHECK_MESSAGE(found, "expected '" << words << "' in '" << text << "'");
  return found;
}

// --- from the start ---------------------------------------------------------------------------

TEST_CASE("Fall-back: without it, a backend that is missing is an error that says so") {
  const LoadedDevicePlan plan(Relay(), {});
  CHECK(plan.status() == TENON_UNSUPPORTED);
  Has(plan.error(), "the plan needs backend 'scripted'");
}

TEST_CASE("Fall-back: the CPU stands in for a backend that is missing, and the plan says so") {
  const LoadedDevicePlan plan(Relay(true), {});
  Has(plan.notice(), "'scripted', which this program was built without; its ops run on the CPU");
  DeviceSession session(plan);
  CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
  CHECK(session.status() == TENON_OK);
  tenon_op_info op;
  REQUIRE(tenon_plan_op(plan.get(), 1, &op) == TENON_OK);
  CHECK(std::string(op.backend) == "cpu");
  CHECK(std::string(op.kernel) == "cpu.unary.portable");
  CHECK(std::string(op.planned_kernel) == "scripted.unary.portable");
}

TEST_CASE("Fall-back: a plan that only names devices brings the CPU with it") {
  DeviceGraph graph = DeviceOnly(true);
  PlanSpec spec = DevicePlan(graph).spec();
  spec.backends = {"scripted"};  // the CPU is not in the list
  spec.segments[0].backend = 0;
  const LoadedDevicePlan plan(spec.Write(), {});
  DeviceSession session(plan);
  CHECK(session.Run(1) == ExpectedValues(graph, 1));
  const LoadedDevicePlan alone(spec.Write(), {}, /*with_cpu=*/false);
  CHECK(alone.status() == TENON_UNSUPPORTED);
}

TEST_CASE("Fall-back: a device that cannot be opened, or its kernels loaded") {
  for (const DeviceCall call : {DeviceCall::kOpen, DeviceCall::kLoad}) {
    ScriptedBackend device;
    device.Fail(call);
    {
      const LoadedDevicePlan strict(Relay(), {device.handle()});
      CHECK(strict.status() == TENON_BACKEND_FAILURE);
      Has(strict.error(), "scripted: ");
      Has(strict.error(), "failure on demand");
    }
    CHECK(device.open_devices() == 0);
    device.Fail(call, call == DeviceCall::kLoad ? 1 : 0);
    const LoadedDevicePlan plan(Relay(true), {device.handle()});
    Has(plan.notice(), "failure on demand; its ops run on the CPU");
    CHECK(device.open_devices() == 0);
    CHECK(device.open_kernels() == 0);
    DeviceSession session(plan);
    CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
    CHECK(device.open_queues() == 0);
  }
}

TEST_CASE("Fall-back: a stream or kernel that cannot be opened leaves one session to the CPU") {
  for (const DeviceCall call : {DeviceCall::kOpenQueue, DeviceCall::kKernelOpen}) {
    ScriptedBackend device;
    const LoadedDevicePlan strict(Relay(), {device.handle()});
    device.Fail(call);
    {
      const DeviceSession session(strict);
      CHECK(session.status() == TENON_BACKEND_FAILURE);
      Has(session.error(), "scripted: ");
    }
    const LoadedDevicePlan plan(Relay(true), {device.handle()});
    device.Fail(call);
    DeviceSession session(plan);
    CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
    REQUIRE(session.notices().size() == 1);
    Has(session.notices()[0], "scripted: ");
    session.Run(2);
    CHECK(session.notices().size() == 1);  // told once
    device.ResetCounts();
    DeviceSession other(plan);
    CHECK(other.Run(1) == ExpectedValues(Relay(), 1));
    CHECK(other.notices().empty());
    CHECK(device.count(DeviceCall::kRun) == 2);
  }
}

// --- in a run ---------------------------------------------------------------------------------

constexpr DeviceCall kRunCalls[] = {DeviceCall::kStart,  DeviceCall::kUpload, DeviceCall::kRun,
                                    DeviceCall::kSignal, DeviceCall::kSubmit, DeviceCall::kWait,
                                    DeviceCall::kKernel};

TEST_CASE("Fall-back: without it, a failing call ends the run with the op and the backend") {
  for (const DeviceGraph& graph : {Relay(), Detour(), DeviceOnly()}) {
    for (const DeviceCall call : kRunCalls) {
      for (size_t after = 0; after < 2; ++after) {
        CAPTURE(static_cast<int>(call));
        CAPTURE(after);
        ScriptedBackend device;
        const LoadedDevicePlan plan(graph, {device.handle()});
        DeviceSession session(plan);
        device.Fail(call, after);
        session.Run(1);
        if (device.count(call) <= after) continue;  // there was no such call
        CHECK(session.status() == TENON_BACKEND_FAILURE);
        Has(session.error(), "scripted: op");
        Has(session.error(), "failure on demand");
        device.Behave();
        CHECK(session.Run(2) == ExpectedValues(graph, 2));
        CHECK(session.status() == TENON_OK);
        CHECK(device.protocol_errors() == 0);
      }
    }
  }
}

TEST_CASE("Fall-back: with it, whatever call fails, the run ends with the right values") {
  for (const bool own_memory : {true, false}) {
    for (const DeviceGraph& graph : {Relay(true), Detour(true), DeviceOnly(true)}) {
      for (const DeviceCall call : kRunCalls) {
        for (size_t after = 0; after < 3; ++after) {
          CAPTURE(static_cast<int>(call));
          CAPTURE(after);
          ScriptedBackend device({"scripted", own_memory});
          const LoadedDevicePlan plan(graph, {device.handle()});
          DeviceSession session(plan);
          device.Fail(call, after);
          const Values values = session.Run(1, after % 2 == 0);
          CHECK(session.status() == TENON_OK);
          CHECK(values == ExpectedValues(graph, 1));
          const size_t failures = device.count(call) > after ? 1 : 0;
          REQUIRE(session.notices().size() == failures);
          if (failures > 0) {
            Has(session.notices()[0], "scripted: op");
            Has(session.notices()[0], "failure on demand");
            CHECK(session.notices()[0] == tenon_session_notice(session.get()));
          }
          // The next run is the device's again.
          device.Behave();
          device.ResetCounts();
          CHECK(session.Run(2) == ExpectedValues(graph, 2));
          CHECK(device.count(DeviceCall::kRun) > 0);
          CHECK(session.notices().size() == failures);
          CHECK(device.protocol_errors() == 0);
          CHECK(device.lost_signals() == 0);
        }
      }
    }
  }
}

TEST_CASE("Fall-back: random failures in random graphs never change a value") {
  ScriptedBackend device;
  ScriptedBackend other({"other", true});
  DeviceGraph graph;
  graph.backends = {"cpu", "scripted", "other"};
  graph.fallback = true;
  graph.ops = {{{0}, 1, UnaryFunction::kExp},
               {{1}, 2, UnaryFunction::kNeg},
               {{1}, 1, UnaryFunction::kTanh},
               {{2, 3}, 1},
               {{4}, 0, UnaryFunction::kAbs},
               {{4, 5}, 2},
               {{1, 6}, 1}};
  graph.outputs = {7};
  const LoadedDevicePlan plan(graph, {device.handle(), other.handle()});
  DeviceSession session(plan);
  std::mt19937 random(3);
  size_t told = 0;
  for (uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    ScriptedBackend& victim = random() % 2 == 0 ? device : other;
    victim.Fail(kRunCalls[random() % std::size(kRunCalls)], random() % 4, 1 + random() % 2);
    CHECK(session.Run(seed, random() % 2 == 0) == ExpectedValues(graph, seed));
    CHECK(session.status() == TENON_OK);
    device.Behave();
    other.Behave();
    told = session.notices().size();
  }
  CHECK(told > 100);
  CHECK(device.protocol_errors() + other.protocol_errors() == 0);
}

TEST_CASE("Fall-back: a device that cannot even be drained is not used again by the session") {
  ScriptedBackend device;
  {
    const LoadedDevicePlan plan(Relay(), {device.handle()});
    DeviceSession session(plan);
    device.Fail(DeviceCall::kRun);
    device.Fail(DeviceCall::kDrain, 0, 2);
    session.Run(1);
    CHECK(session.status() == TENON_BACKEND_FAILURE);
    session.Run(2);
    CHECK(session.status() == TENON_BACKEND_FAILURE);
    Has(session.error(), "is not used any more");
    DeviceSession second(plan);
    CHECK(second.Run(2) == ExpectedValues(Relay(), 2));
  }
  const LoadedDevicePlan plan(Relay(true), {device.handle()});
  DeviceSession session(plan);
  device.Fail(DeviceCall::kRun);
  device.Fail(DeviceCall::kDrain, 0, 2);
  CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
  device.ResetCounts();
  CHECK(session.Run(2) == ExpectedValues(Relay(), 2));
  CHECK(session.status() == TENON_OK);
  CHECK(device.count(DeviceCall::kStart) == 0);
  CHECK(session.notices().size() == 2);  // that it failed; that it is given up
}

// --- no answer --------------------------------------------------------------------------------

TEST_CASE("Deadline: a device that does not answer in time ends the run, and is left alone") {
  for (const bool fallback : {false, true}) {
    CAPTURE(fallback);
    ScriptedBackend device;
    {
      const LoadedDevicePlan plan(Relay(fallback), {device.handle()});
      DeviceSession session(plan);
      session.SetTimeout(50ms);
      CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
      device.Hang(1);
      const auto start = std::chrono::steady_clock::now();
      session.Run(2);
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      CHECK(session.status() == TENON_DEADLINE_EXCEEDED);
      Has(session.error(), "scripted: op2: the device does not answer");
      CHECK(elapsed.count() >= 0.05);
      CHECK(elapsed.count() < 2.0);
      CHECK(tenon_session_is_busy(session.get()) == 1);

      // The device may still write to this session's memory: at once, and in words.
      session.Run(3);
      CHECK(session.status() == TENON_DEADLINE_EXCEEDED);
      Has(session.error(), "still works on an earlier run");

      // Others do not even ask it.
      DeviceSession other(plan);
      device.ResetCounts();
      const Values values = other.Run(3);
      CHECK(device.count(DeviceCall::kStart) == 0);
      if (fallback) {
        CHECK(other.status() == TENON_OK);
        CHECK(values == ExpectedValues(Relay(), 3));
      } else {
        CHECK(other.status() == TENON_BACKEND_FAILURE);
        Has(other.error(), "scripted: the device failed or did not answer");
      }

      device.Release();
      while (tenon_session_is_busy(session.get()) != 0) std::this_thread::sleep_for(1ms);
      session.Run(4);
      if (fallback) {
        CHECK(session.Run(4) == ExpectedValues(Relay(), 4));
        CHECK(session.status() == TENON_OK);
      } else {
        CHECK(session.status() == TENON_BACKEND_FAILURE);
      }
    }
    CHECK(device.open_queues() == 0);
    CHECK(device.protocol_errors() == 0);
  }
}

TEST_CASE("Deadline: a slow device is waited for as long as it takes, if nothing else was said") {
  ScriptedBackend device;
  device.Delay(100'000, 100'000);
  const LoadedDevicePlan plan(Relay(), {device.handle()});
  DeviceSession session(plan);
  tenon_session_set_timeout(session.get(), 0, nullptr);
  CHECK(session.Run(1) == ExpectedValues(Relay(), 1));
  CHECK(session.status() == TENON_OK);
}

TEST_CASE("Deadline: a session that is closed while its device hangs gives its memory up") {
#if defined(__SANITIZE_ADDRESS__)
  __lsan_disable();  // the memory is lost on purpose
#endif
  ScriptedBackend device;
  const LoadedDevicePlan plan(Relay(), {device.handle()});
  {
    DeviceSession session(plan);
    session.SetTimeout(20ms);
    device.Hang();
    session.Run(1);
    CHECK(session.status() == TENON_DEADLINE_EXCEEDED);
  }
#if defined(__SANITIZE_ADDRESS__)
  __lsan_enable();
#endif
  CHECK(device.open_queues() == 1);  // still there, with the memory that it may write to
  // Kernels read the plan, which must therefore outlive them.
  device.CloseQueues();
}

}  // namespace
}  // namespace tenon::test
