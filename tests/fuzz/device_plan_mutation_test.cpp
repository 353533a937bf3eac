// Hostile versions of plans with devices and stages: refused, or they run and give the same values.
#include "tests/fuzz/plan_spec_mutation.hpp"
#include "tests/unit/sdk/src/device_testing.hpp"

namespace tenon::test {
namespace {

/// The graph's plan with a stage per worker: waits become channels of one slot.
PlanSpec AsPipeline(const DeviceGraph& graph) {
  PlanSpec spec = DevicePlan(graph).spec();
  spec.mode = 1;
  spec.stages.clear();
  for (uint16_t i = 0; i < spec.workers.size(); ++i) spec.stages.push_back(i);
  for (SegmentSpec& segment : spec.segments) segment.stage = segment.backend;
  for (auto& steps : spec.workers) {
    for (StepSpec& step : steps) step.waits.clear();
  }
  return spec;
}

/// in -> cpu -> device -> device -> other -> out in three stages.
PlanSpec ThreeStages() {
  DeviceGraph graph;
  graph.backends = {"cpu", "scripted", "other"};
  graph.ops = {{{0}, 0, UnaryFunction::kNeg},
               {{1}, 1, UnaryFunction::kExp},
               {{2}, 1, UnaryFunction::kTanh},
               {{3, 1}, 2}};
  graph.outputs = {4};
  PlanSpec spec = AsPipeline(graph);
  // Arenas: a stage's own each, then the rings from 0 to 2 and from 1 to 2.
  spec.arenas = {spec.arenas[0],
                 spec.arenas[0],
                 spec.arenas[0],
                 {spec.arenas[0].bytes, 64, 0, 2},
                 {spec.arenas[0].bytes, 64, 0, 2}};
  const uint16_t homes[] = {0, 3, 1, 4, 2};
  for (size_t i = 0; i < spec.storages.size(); ++i) spec.storages[i].index = homes[i];
  spec.channels = {{0, 2, {1}, 2, 3}, {1, 2, {3}, 2, 4}};
  return spec;
}

struct Subject {
  PlanSpec spec;
  Values expected;
};

std::vector<Subject> Subjects() {
  std::vector<Subject> subjects;
  for (const DeviceGraph& graph :
       {Relay(), Relay(true), Detour(), Detour(true), DeviceOnly(true)}) {
    subjects.push_back({DevicePlan(graph).spec(), ExpectedValues(graph, 7)});
  }
  DeviceGraph graph;
  graph.ops = {{{0}, 0, UnaryFunction::kNeg},
               {{1}, 0, UnaryFunction::kExp},
               {{2}, 0, UnaryFunction::kTanh},
               {{3, 1}, 0}};
  graph.outputs = {4};
  subjects.push_back({ThreeStages(), ExpectedValues(graph, 7)});
  return subjects;
}

TEST_CASE("Device plan mutation: the plans themselves run") {
  ScriptedBackend device;
  ScriptedBackend other({"other", true});
  for (const Subject& subject : Subjects()) {
    const LoadedDevicePlan plan(subject.spec.Write(), {device.handle(), other.handle()});
    DeviceSession session(plan);
    CHECK(session.Run(7) == subject.expected);
  }
}

TEST_CASE("Device plan mutation: changed schedules are refused or change no value") {
  ScriptedBackend device;
  ScriptedBackend other({"other", true});
  device.Delay(0, 50);
  other.Delay(0, 50);
  const std::vector<Subject> subjects = Subjects();
  std::mt19937 random(5);
  int ran = 0;
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    CAPTURE(i);
    const Subject& subject = subjects[random() % subjects.size()];
    PlanSpec spec = subject.spec;
    for (size_t k = 1 + random() % 2; k > 0; --k) MutateSchedule(spec, random);
    const LoadedDevicePlan plan(spec.Write(), {device.handle(), other.handle()});
    if (plan.status() != TENON_OK) {
      ++refused;
      continue;
    }
    DeviceSession session(plan);
    const Values values = session.Run(7, i % 2 == 0);
    REQUIRE_MESSAGE(session.status() == TENON_OK, session.error());
    CHECK(values == subject.expected);
    CHECK(device.protocol_errors() + other.protocol_errors() == 0);
    ++ran;
  }
  MESSAGE(ran << " ran, " << refused << " refused");
  CHECK(ran > 300);
  CHECK(refused > 1000);
}

}  // namespace
}  // namespace tenon::test
