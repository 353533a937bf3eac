// Sessions of plans with devices: values, and what devices are told.
#include <algorithm>
#include <cmath>

#include "tenon/debug.h"
#include "tests/unit/sdk/src/device_testing.hpp"

namespace tenon::test {
namespace {

/// Everything that was opened has been closed, and nothing broke the rules.
void CheckLeftClean(const ScriptedBackend& device) {
  CHECK(device.protocol_errors() == 0);
  CHECK(device.lost_signals() == 0);
  CHECK(device.open_queues() == 0);
  CHECK(device.open_kernels() == 0);
  CHECK(device.open_devices() == 0);
}

TEST_CASE("Devices: the values are those of the CPU, bound or not, in every run") {
  for (const bool own_memory : {true, false}) {
    CAPTURE(own_memory);
    ScriptedBackend device({"scripted", own_memory});
    for (const DeviceGraph& graph : {Relay(), DeviceOnly(), Detour(), Detour(true)}) {
      const LoadedDevicePlan plan(graph, {device.handle()});
      DeviceSession session(plan);
      for (uint32_t seed = 1; seed <= 3; ++seed) {
        for (const bool bound : {false, true}) {
          const Values values = session.Run(seed, bound);
          REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
          CHECK(values == ExpectedValues(graph, seed));
        }
      }
    }
    CheckLeftClean(device);
  }
}

TEST_CASE("Devices: one start per segment, one wait per tensor that crosses") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(Detour(), {device.handle()});
  CHECK(device.count(DeviceCall::kOpen) == 1);
  DeviceSession session(plan);
  session.Run(1);
  REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
  CHECK(device.count(DeviceCall::kOpenQueue) == 1);
  CHECK(device.count(DeviceCall::kStart) == 2);
  CHECK(device.count(DeviceCall::kSubmit) == 2);
  CHECK(device.count(DeviceCall::kRun) == 4);
  CHECK(device.count(DeviceCall::kUpload) == 2);  // the input; what the CPU makes
  CHECK(device.count(DeviceCall::kSignal) == 2);  // what the CPU reads; the output
  CHECK(device.count(DeviceCall::kMoment) == 0);
  CHECK(device.count(DeviceCall::kWait) == 2);
  CHECK(device.count(DeviceCall::kDrain) == 0);
}

TEST_CASE("Devices: a session that has not run, or not to its end, leaves nothing behind") {
  ScriptedBackend device;
  {
    const LoadedDevicePlan plan(Relay(), {device.handle()});
    const DeviceSession session(plan);
    CHECK(device.open_devices() == 1);
    CHECK(device.open_queues() == 1);
    CHECK(device.open_kernels() == 4);  // of two ops: loaded, and opened
  }
  CheckLeftClean(device);
}

TEST_CASE("Devices: the CPU works while a device does") {
  // The device's op and the CPU's take 50 ms each and do not depend on each other.
  ScriptedBackend device;
  ScriptedBackend other({"other", true});
  DeviceGraph graph;
  graph.backends = {"cpu", "scripted", "other"};
  graph.ops = {{{0}, 1, UnaryFunction::kExp}, {{0}, 2, UnaryFunction::kNeg}, {{1, 2}, 0}};
  graph.outputs = {3};
  const LoadedDevicePlan plan(graph, {device.handle(), other.handle()});
  DeviceSession session(plan);
  device.Delay(50'000, 50'000);
  other.Delay(50'000, 50'000);
  // A busy machine lets some runs take longer; one after the other none would take so little.
  constexpr int kRuns = 20;
  double least = 1e9;
  for (int run = 0; run < kRuns && least >= 0.095; ++run) {
    const auto start = std::chrono::steady_clock::now();
    const Values values = session.Run(1);
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
    REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
    CHECK(values == ExpectedValues(graph, 1));
    CHECK(elapsed.count() >= 0.05);
    least = std::min(least, elapsed.count());
  }
  CHECK(least < 0.095);
}

TEST_CASE("Devices: a trace waits for every op of a device") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(Relay(), {device.handle()});
  DeviceSession session(plan);
  device.Delay(5'000, 5'000);
  std::vector<uint64_t> times(tenon_plan_op_count(plan.get()), 0);
  tenon_trace trace{};
  trace.context = &times;
  trace.record = [](void* context, size_t op, uint64_t nanoseconds) {
    static_cast<std::vector<uint64_t>*>(context)->at(op) = nanoseconds;
  };
  trace.clock_nanoseconds = [](void*) { return SteadyClock(); };
  tenon_error error;
  REQUIRE_MESSAGE(tenon_session_run_traced(session.get(), &trace, &error) == TENON_OK,
                  error.message);
  CHECK(times[1] >= 5'000'000);
  CHECK(times[2] >= 5'000'000);
  CHECK(device.protocol_errors() == 0);
}

/// What Relay's first op on the device writes is read inside its segment alone: its values as the
/// host has them once the op is recorded.
std::vector<float> SeenInside(const DeviceSession& session) {
  struct Seen {
    const float* arena;
    std::vector<float> values;
  } seen{static_cast<const float*>(tenon_session_input(session.get(), 0)), {}};
  for (size_t i = 0; i < 16; ++i) static_cast<float*>(tenon_session_input(session.get(), 0))[i] = 1;
  tenon_trace trace{};
  trace.context = &seen;
  trace.record = [](void* context, size_t op, uint64_t) {
    auto& s = *static_cast<Seen*>(context);
    constexpr size_t kTensor = 2 * 16;  // each has 64 bytes of its own
    if (op == 1) s.values.assign(s.arena + kTensor, s.arena + kTensor + 16);
  };
  trace.clock_nanoseconds = [](void*) { return SteadyClock(); };
  REQUIRE(tenon_session_run_traced(session.get(), &trace, nullptr) == TENON_OK);
  return seen.values;
}

TEST_CASE("Devices: what is written inside a segment is shown where that is asked for") {
  for (const bool own_memory : {true, false}) {
    ScriptedBackend device({"scripted", own_memory});
    const LoadedDevicePlan plan(Relay(), {device.handle()});
    DeviceSession session(plan);
    const std::vector<float> expected(16, std::exp(-1.0F));
    if (own_memory) CHECK(SeenInside(session) != expected);
    tenon_session_show_tensors(session.get(), 1);
    const std::vector<float> seen = SeenInside(session);
    for (size_t i = 0; i < expected.size(); ++i) CHECK(seen[i] == doctest::Approx(expected[i]));
    tenon_session_show_tensors(session.get(), 0);
    if (own_memory) {
      device.ResetCounts();
      SeenInside(session);
      CHECK(device.count(DeviceCall::kSignal) == 1);  // what the CPU reads
    }
    CHECK(device.protocol_errors() == 0);
  }
  tenon_session_show_tensors(nullptr, 1);
}

TEST_CASE("Devices: what a stream holds is told") {
  ScriptedBackend device;
  const LoadedDevicePlan plan(Relay(), {device.handle()});
  const DeviceSession session(plan);
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena(plan.get(), 0, &arena) == TENON_OK);
  CHECK(tenon_session_packed_bytes(session.get()) == arena.bytes);
}

/// Ops in random order of dependence, on random backends.
DeviceGraph RandomDeviceGraph(uint32_t seed) {
  std::mt19937 random(seed);
  DeviceGraph graph;
  graph.backends = {"cpu", "scripted", "other"};
  graph.inputs = 1 + random() % 2;
  graph.fallback = random() % 2 == 0;
  const size_t ops = 1 + random() % 20;
  constexpr UnaryFunction kFunctions[] = {UnaryFunction::kNeg, UnaryFunction::kTanh,
                                          UnaryFunction::kSigmoid, UnaryFunction::kAbs};
  std::vector<bool> is_read(graph.inputs + ops, false);
  for (size_t i = 0; i < ops; ++i) {
    DeviceOp op;
    for (size_t k = 1 + random() % 2; k > 0; --k) {
      op.inputs.push_back(static_cast<uint32_t>(random() % (graph.inputs + i)));
      is_read[op.inputs.back()] = true;
    }
    op.backend = random() % graph.backends.size();
    op.function = kFunctions[random() % 4];
    graph.ops.push_back(op);
  }
  for (uint32_t value = static_cast<uint32_t>(graph.inputs); value < is_read.size(); ++value) {
    if (!is_read[value] || random() % 8 == 0) graph.outputs.push_back(value);
  }
  return graph;
}

TEST_CASE("Devices: random graphs on random backends give the CPU's values") {
  ScriptedBackend device;
  ScriptedBackend other({"other", false});
  device.Delay(0, 100);
  other.Delay(0, 100, 2);
  for (uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    const DeviceGraph graph = RandomDeviceGraph(seed);
    const LoadedDevicePlan plan(graph, {device.handle(), other.handle()});
    DeviceSession session(plan);
    const Values values = session.Run(seed, seed % 2 == 0);
    REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
    CHECK(values == ExpectedValues(graph, seed));
    CHECK(session.notices().empty());
  }
  CheckLeftClean(device);
  CheckLeftClean(other);
}

}  // namespace
}  // namespace tenon::test
