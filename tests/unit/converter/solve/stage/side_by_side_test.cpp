#include "converter/solve/stage/side_by_side.hpp"

#include <doctest/doctest.h>

namespace tenon::converter {
namespace {

SimulatedStep Step(int32_t unit, Picoseconds compute, std::vector<int32_t> waits = {},
                   std::vector<PortUse> uses = {}) {
  SimulatedStep step;
  step.unit = unit;
  step.compute = compute;
  step.waits = std::move(waits);
  step.uses = std::move(uses);
  return step;
}

/// Two ops after each other on one core, of 100 and 60.
SimulatedProgram Chain() {
  SimulatedProgram program;
  program.units = {"core"};
  program.ports = {{"port", 1e12, false}};  // a byte per picosecond
  program.steps = {Step(0, 100), Step(0, 60, {0})};
  return program;
}

Picoseconds TimeOf(const SimulatedProgram& once, const SideBySide& options) {
  const auto time = SideBySideTime(once, options);
  if (!time.ok()) FAIL(time.error().message);
  return *time;
}

SideBySide Copies(int32_t replicas, int64_t runs) {
  SideBySide options;
  options.replicas = replicas;
  options.runs = runs;
  return options;
}

TEST_CASE("SideBySideTime: replicas share the runs, and the last may have fewer") {
  CHECK(TimeOf(Chain(), Copies(1, 1)) == 160);
  CHECK(TimeOf(Chain(), Copies(1, 5)) == 800);
  CHECK(TimeOf(Chain(), Copies(2, 5)) == 480);
  CHECK(TimeOf(Chain(), Copies(3, 3)) == 160);
  CHECK(TimeOf(Chain(), Copies(8, 3)) == 160);
}

TEST_CASE("SideBySideTime: many runs are counted as long as the first few") {
  CHECK(TimeOf(Chain(), Copies(2, 1001)) == 160 * 501);
}

TEST_CASE("SideBySideTime: each run costs waking the replica's thread") {
  SideBySide options = Copies(2, 4);
  options.hand_over = 10;
  CHECK(TimeOf(Chain(), options) == 2 * 170);
}

TEST_CASE("SideBySideTime: replicas take turns on a unit that all share") {
  SimulatedProgram once;
  once.units = {"core", "gpu"};
  once.steps = {Step(0, 10), Step(1, 100, {0})};
  SideBySide options = Copies(2, 2);
  CHECK(TimeOf(once, options) == 110);
  options.one_for_all = {false, true};
  CHECK(TimeOf(once, options) == 210);
}

TEST_CASE("SideBySideTime: what replicas read beyond their caches shares the memory's bandwidth") {
  SimulatedProgram once = Chain();
  once.steps = {Step(0, 50, {}, {{0, 100}})};
  SideBySide options = Copies(2, 2);
  CHECK(TimeOf(once, options) == 100);
  options.memory.bytes_per_second = 1e12;
  CHECK(TimeOf(once, options) == 200);
  options.memory.cache_bytes = 200;  // a step of half of it stays within
  CHECK(TimeOf(once, options) == 100);
  options.memory.cache_bytes = 100;  // half of the bytes are beyond: 50 each at half the bandwidth
  CHECK(TimeOf(once, options) == 100);
  options.memory.cache_bytes = 40;
  CHECK(TimeOf(once, options) == 200);
}

TEST_CASE("WithIdleHelp: a step that runs alone gets all threads, one beside another its own") {
  SimulatedProgram program;
  program.units = {"a", "b"};
  program.steps = {Step(0, 100), Step(0, 80, {0}), Step(1, 80, {0})};
  const auto helped = WithIdleHelp(program, 2, {2.0, 2.0, 2.0});
  REQUIRE(helped.ok());
  CHECK(helped->steps[0].compute == 50);
  CHECK(helped->steps[1].compute == 80);
  CHECK(helped->steps[2].compute == 80);
}

TEST_CASE("WithIdleHelp: more threads than units help them all") {
  SimulatedProgram program;
  program.units = {"a", "b"};
  program.steps = {Step(0, 90), Step(1, 90)};
  const auto helped = WithIdleHelp(program, 4, {4.0, 1.0});
  REQUIRE(helped.ok());
  CHECK(helped->steps[0].compute == 45);
  CHECK(helped->steps[1].compute == 90);
}

}  // namespace
}  // namespace tenon::converter
