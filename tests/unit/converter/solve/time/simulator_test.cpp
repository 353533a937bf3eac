#include "converter/solve/time/simulator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace tenon::converter {
namespace {

/// A step that takes `compute` and waits for `waits`.
SimulatedStep Computing(int32_t unit, Picoseconds compute, std::vector<int32_t> waits = {}) {
  SimulatedStep step;
  step.unit = unit;
  step.compute = compute;
  step.waits = std::move(waits);
  return step;
}

/// A step that moves bytes through one port.
SimulatedStep Moving(int32_t unit, int32_t port, int64_t bytes, Picoseconds fixed = 0) {
  SimulatedStep step;
  step.unit = unit;
  step.fixed = fixed;
  step.uses = {{port, bytes}};
  return step;
}

constexpr double kBytePerPicosecond = 1e12;

/// Two units and a port of one byte per picosecond.
SimulatedProgram TwoUnits(bool shared) {
  return {{"first", "second"}, {{"port", kBytePerPicosecond, shared}}, {}};
}

Simulation MustSimulate(const SimulatedProgram& program) {
  Result<Simulation> result = Simulate(program);
  REQUIRE_MESSAGE(result.ok(), result.error().message);
  return std::move(*result);
}

TEST_CASE("Simulate: a unit runs its steps one at a time, in their order") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Computing(0, 10), Computing(1, 3), Computing(0, 5)};
  const Simulation result = MustSimulate(program);
  CHECK(result.start == std::vector<Picoseconds>{0, 0, 10});
  CHECK(result.end == std::vector<Picoseconds>{10, 3, 15});
  CHECK(result.busy == std::vector<Picoseconds>{15, 3});
  CHECK(result.makespan == 15);
}

TEST_CASE("Simulate: a step waits for others, later ones too, and holds up those behind it") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Computing(0, 10, {2}), Computing(0, 1), Computing(1, 7)};
  const Simulation result = MustSimulate(program);
  CHECK(result.start == std::vector<Picoseconds>{7, 17, 0});
  CHECK(result.makespan == 18);
}

TEST_CASE("Simulate: compute and transfers run side by side after the fixed part") {
  SimulatedProgram program = TwoUnits(false);
  program.ports.push_back({"slow", kBytePerPicosecond / 4, false});
  SimulatedStep step = Computing(0, 30);
  step.fixed = 5;
  step.uses = {{0, 20}, {1, 10}};
  program.steps = {step};
  CHECK(MustSimulate(program).makespan == 5 + 40);
  program.steps[0].compute = 41;
  CHECK(MustSimulate(program).makespan == 5 + 41);
}

TEST_CASE("Simulate: two uses of one port by a step add up") {
  for (const bool shared : {false, true}) {
    SimulatedProgram program = TwoUnits(shared);
    program.steps = {Moving(0, 0, 20)};
    program.steps[0].uses.push_back({0, 15});
    CHECK(MustSimulate(program).makespan == 35);
  }
}

TEST_CASE("Simulate: a port of unknown bandwidth takes no time") {
  for (const bool shared : {false, true}) {
    SimulatedProgram program = TwoUnits(shared);
    program.ports[0].bytes_per_second = 0;
    program.steps = {Moving(0, 0, 1'000'000, 2)};
    CHECK(MustSimulate(program).makespan == 2);
  }
}

TEST_CASE("Simulate: a private port gives each user its bandwidth") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Moving(0, 0, 100), Moving(1, 0, 60)};
  CHECK(MustSimulate(program).end == std::vector<Picoseconds>{100, 60});
}

TEST_CASE("Simulate: a shared port is divided among those who use it at the moment") {
  // Together until the second is done at 120; the first has 40 of its bytes left then.
  SimulatedProgram program = TwoUnits(true);
  program.steps = {Moving(0, 0, 100), Moving(1, 0, 60)};
  CHECK(MustSimulate(program).end == std::vector<Picoseconds>{160, 120});
  // Alone for 30, together for 140, alone for 0: both end when 100 + 70 bytes are through.
  program.steps = {Moving(0, 0, 100), Moving(1, 0, 70, 30)};
  CHECK(MustSimulate(program).end == std::vector<Picoseconds>{170, 170});
}

TEST_CASE("Simulate: a step that computes longer than it moves leaves the port to others") {
  SimulatedProgram program = TwoUnits(true);
  program.steps = {Moving(0, 0, 10), Moving(1, 0, 50)};
  program.steps[0].compute = 1000;
  CHECK(MustSimulate(program).end == std::vector<Picoseconds>{1000, 60});
}

TEST_CASE("Simulate: users of a shared port that are done at once leave at once") {
  SimulatedProgram program{{"a", "b", "c"}, {{"port", kBytePerPicosecond, true}}, {}};
  program.steps = {Moving(0, 0, 10), Moving(1, 0, 10), Moving(2, 0, 10), Moving(0, 0, 4)};
  CHECK(MustSimulate(program).end == std::vector<Picoseconds>{30, 30, 30, 34});
}

TEST_CASE("Simulate: more users than divide evenly lose less than a picosecond in a million") {
  SimulatedProgram program;
  program.ports = {{"port", kBytePerPicosecond, true}};
  for (int32_t i = 0; i < 23; ++i) {
    program.units.emplace_back("unit");
    program.steps.push_back(Moving(i, 0, 1'000'000));
  }
  const Picoseconds makespan = MustSimulate(program).makespan;
  CHECK(makespan >= 23'000'000);
  CHECK(makespan <= 23'000'001);
}

TEST_CASE("Simulate: no steps take no time, and steps may take none") {
  SimulatedProgram program = TwoUnits(true);
  CHECK(MustSimulate(program).makespan == 0);
  program.steps = {Computing(0, 0), Moving(1, 0, 0), Computing(0, 0, {1})};
  CHECK(MustSimulate(program).makespan == 0);
}

void CheckRefused(const SimulatedProgram& program, std::string_view words,
                  ErrorKind kind = ErrorKind::kInternal) {
  const Result<Simulation> result = Simulate(program);
  REQUIRE_FALSE(result.ok());
  CHECK(result.error().kind == kind);
  CHECK_MESSAGE(result.error().message.find(words) != std::string::npos, result.error().message);
}

TEST_CASE("Simulate: steps that wait for each other in a circle are refused by name") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Computing(0, 1), Computing(1, 1, {2}), Computing(0, 1, {1})};
  CheckRefused(program, "step 1 (unit 'second') and step 2 (unit 'first') wait for each other");
  program.steps = {Computing(0, 1), Computing(1, 1, {1})};
  CheckRefused(program, "step 1 waits for itself");
}

TEST_CASE("Simulate: the order of a unit closes a circle too") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Computing(0, 1, {1}), Computing(0, 1)};
  CheckRefused(program, "wait for each other in a circle");
}

TEST_CASE("Simulate: what is out of range is refused") {
  const auto changed = [](const auto& change) {
    SimulatedProgram program = TwoUnits(true);
    program.steps = {Moving(0, 0, 10)};
    change(program.steps[0]);
    return program;
  };
  CheckRefused(changed([](SimulatedStep& step) { step.unit = 2; }), "unit 2");
  CheckRefused(changed([](SimulatedStep& step) { step.unit = -1; }), "unit -1");
  CheckRefused(changed([](SimulatedStep& step) { step.uses[0].port = 1; }), "port 1");
  CheckRefused(changed([](SimulatedStep& step) { step.uses[0].bytes = -1; }), "moves -1 bytes");
  CheckRefused(changed([](SimulatedStep& step) { step.waits = {1}; }), "waits for step 1");
  CheckRefused(changed([](SimulatedStep& step) { step.fixed = -1; }), "a time below 0");
  CheckRefused(changed([](SimulatedStep& step) { step.compute = -1; }), "a time below 0");
  CheckRefused(changed([](SimulatedStep& step) { step.compute = INT64_MAX; }),
               "is predicted to take", ErrorKind::kUsage);
  CheckRefused(changed([](SimulatedStep& step) { step.uses[0].bytes = INT64_MAX; }),
               "is predicted to take", ErrorKind::kUsage);
}

/// The same model, one picosecond after the other. Ports give whole bytes per picosecond, so that
/// what is left of a transfer is a small fraction. Empty if the steps never end.
std::vector<Picoseconds> EndsTickByTick(const SimulatedProgram& program, Picoseconds limit) {
  const size_t count = program.steps.size();
  std::vector<Picoseconds> end(count, -1);
  std::vector<Picoseconds> start(count, -1);
  std::vector<std::vector<double>> left(count, std::vector<double>(program.ports.size()));
  const auto rate = [&](size_t port) {
    return program.ports[port].bytes_per_second / kBytePerPicosecond;
  };
  const auto is_ready = [&](size_t i) {
    const SimulatedStep& step = program.steps[i];
    for (size_t before = 0; before < i; ++before) {
      if (program.steps[before].unit == step.unit && end[before] < 0) return false;
    }
    return std::all_of(step.waits.begin(), step.waits.end(),
                       [&](int32_t wait) { return end[static_cast<size_t>(wait)] >= 0; });
  };
  const auto is_done = [&](size_t i, Picoseconds now) {
    const SimulatedStep& step = program.steps[i];
    if (now < start[i] + step.fixed + step.compute) return false;
    return std::all_of(left[i].begin(), left[i].end(), [](double bytes) { return bytes < 1e-7; });
  };
  for (Picoseconds now = 0; now < limit; ++now) {
    for (bool changed = true; changed;) {
      changed = false;
      for (size_t i = 0; i < count; ++i) {
        if (start[i] < 0 && is_ready(i)) {
          start[i] = now;
          for (const PortUse& use : program.steps[i].uses) {
            left[i][static_cast<size_t>(use.port)] += static_cast<double>(use.bytes);
          }
          changed = true;
        }
        if (start[i] >= 0 && end[i] < 0 && is_done(i, now)) {
          end[i] = now;
          changed = true;
        }
      }
    }
    for (size_t port = 0; port < program.ports.size(); ++port) {
      std::vector<size_t> users;
      for (size_t i = 0; i < count; ++i) {
        const bool begun = start[i] >= 0 && now >= start[i] + program.steps[i].fixed;
        if (begun && left[i][port] >= 1e-7) users.push_back(i);
      }
      const double share = program.ports[port].shared ? static_cast<double>(users.size()) : 1.0;
      for (const size_t user : users) left[user][port] -= rate(port) / share;
    }
  }
  const bool all = std::all_of(end.begin(), end.end(), [](Picoseconds t) { return t >= 0; });
  return all ? end : std::vector<Picoseconds>();
}

SimulatedProgram RandomProgram(std::mt19937& random) {
  const auto below = [&](uint32_t limit) { return static_cast<int32_t>(random() % limit); };
  SimulatedProgram program;
  program.units.resize(1 + random() % 4, "unit");
  for (int32_t i = below(3); i >= 0; --i) {
    program.ports.push_back({"port", kBytePerPicosecond * (1 + below(2)), below(3) != 0});
  }
  for (int32_t i = 0, count = 1 + below(10); i < count; ++i) {
    SimulatedStep step = Computing(below(static_cast<uint32_t>(program.units.size())), below(30));
    step.fixed = below(3) == 0 ? 0 : below(10);
    // Whole picoseconds for any rate here: the simulator rounds the time that a user has alone.
    for (int32_t use = below(3); use > 0; --use) {
      step.uses.push_back({below(static_cast<uint32_t>(program.ports.size())), 2 * below(20)});
    }
    for (int32_t wait = below(3); i > 0 && wait > 0; --wait)
      step.waits.push_back(below(static_cast<uint32_t>(i)));
    program.steps.push_back(step);
  }
  if (program.steps.size() > 1 && random() % 8 == 0) {
    program.steps[0].waits.push_back(static_cast<int32_t>(program.steps.size()) - 1);
  }
  return program;
}

TEST_CASE("Simulate: equals a simulation in steps of one picosecond") {
  std::mt19937 random(7);
  int circles = 0;
  for (int round = 0; round < 1500; ++round) {
    const SimulatedProgram program = RandomProgram(random);
    const std::vector<Picoseconds> ends = EndsTickByTick(program, 1200);
    const Result<Simulation> result = Simulate(program);
    CAPTURE(round);
    REQUIRE(result.ok() == !ends.empty());
    if (!result.ok()) {
      ++circles;
      continue;
    }
    CHECK(result->end == ends);
    CHECK(result->makespan == *std::max_element(ends.begin(), ends.end()));
  }
  CHECK(circles > 20);
  CHECK(circles < 500);
}

TEST_CASE("Simulate: a chain of a million steps over two units") {
  SimulatedProgram program = TwoUnits(true);
  for (int32_t i = 0; i < 1'000'000; ++i) {
    program.steps.push_back(Moving(i % 2, 0, 3));
    if (i > 0) program.steps.back().waits = {i - 1};
  }
  CHECK(MustSimulate(program).makespan == 3'000'000);
}

TEST_CASE("TimeAtRate: to the nearest picosecond") {
  CHECK(TimeAtRate(1, 1e12) == 1);
  CHECK(TimeAtRate(1, 3e12) == 0);
  CHECK(TimeAtRate(2, 3e12) == 1);
  CHECK(TimeAtRate(602'112, 256e9) == 2'352'000);
  CHECK(TimeAtRate(5, 0) == 0);
  CHECK(TimeAtRate(-5, 1) == 0);
}

TEST_CASE("Simulate: a unit that takes what is ready runs the first step that waits for nothing") {
  SimulatedProgram program = TwoUnits(false);
  program.steps = {Computing(1, 30), Computing(0, 10, {0}), Computing(0, 10), Computing(0, 10)};
  CHECK(MustSimulate(program).start == std::vector<Picoseconds>{0, 30, 40, 50});
  program.takes_ready = {true};
  CHECK(MustSimulate(program).start == std::vector<Picoseconds>{0, 30, 0, 10});
}

TEST_CASE(
    "Simulate: of steps that get ready at one moment such a unit takes the first in the list") {
  SimulatedProgram program = TwoUnits(false);
  program.takes_ready = {true};
  program.steps = {Computing(0, 10), Computing(1, 10), Computing(0, 5, {1}), Computing(0, 5, {0})};
  CHECK(MustSimulate(program).start == std::vector<Picoseconds>{0, 0, 10, 15});
}

}  // namespace
}  // namespace tenon::converter
