// Quick estimates of time against the simulator: equal where they say so, never shorter elsewhere.
#include "converter/solve/time/task_steps.hpp"

#include <doctest/doctest.h>

#include <random>

#include "converter/solve/time/segment_search.hpp"
#include "converter/solve/time/time_orders.hpp"
#include "tests/unit/converter/solve/time/time_problems.hpp"

namespace tenon::converter {
namespace {

/// A host and devices with starts.
SegmentProblem RandomSegments(uint64_t seed) {
  std::mt19937_64 random(seed);
  SegmentProblem problem;
  problem.units = {{0, false}, {static_cast<Picoseconds>(random() % 40), true}, {7, true}};
  const size_t ops = 1 + random() % 30;
  for (size_t op = 0; op < ops; ++op) {
    problem.ops.unit.push_back(static_cast<int32_t>(random() % problem.units.size()));
    problem.duration.push_back(static_cast<Picoseconds>(1 + random() % 20));
    std::vector<int32_t> predecessors;
    for (size_t p = op < 8 ? 0 : op - 8; p < op; ++p) {
      if (random() % 4 == 0) predecessors.push_back(static_cast<int32_t>(p));
    }
    problem.ops.predecessors.push_back(std::move(predecessors));
  }
  return problem;
}

TEST_CASE("TimesOf: equals the simulation of the list's steps, segment by segment") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const SegmentProblem problem = RandomSegments(seed);
    SegmentSearchOptions options;
    options.most_states = 1 + seed % 3;
    const SegmentList list = SearchSegments(problem, options).list;
    const SegmentTimes estimate = TimesOf(problem, list);
    const auto simulated = Simulate(StepsOf(problem, list));
    CAPTURE(seed);
    REQUIRE(simulated.ok());
    CHECK(simulated->makespan == estimate.makespan);
    size_t step = 0;
    for (const SegmentOps& segment : list) {
      for (const int32_t op : segment.ops) {
        CHECK(simulated->end[step++] == estimate.op_end[static_cast<size_t>(op)]);
      }
    }
  }
}

TEST_CASE("TimeEvaluator: where nothing is moved, it equals the simulation of its events") {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 2 + static_cast<Index>(seed % 30);
    settings.units = 1 + static_cast<Index>(seed % 3);
    settings.constant_share = settings.shared_constant_share = 0;
    TimeProblem problem = RandomTimeProblem(seed, settings);
    for (TimeStorage& storage : problem.storages) storage.slow = false;
    for (TimeValue& value : problem.values) {
      if (value.from_start) problem.storages[value.storage].from_start = true;
      value.from_start = value.to_end = false;
    }
    problem.fast_bytes = int64_t{1} << 40;
    const TimeSchedule schedule = TimeEvaluator(problem).Record(ListOrderOf(problem));
    const auto simulated = Simulate(StepsOf(problem, schedule));
    CAPTURE(seed);
    REQUIRE(simulated.ok());
    CHECK(simulated->makespan == schedule.makespan);
  }
}

TEST_CASE("TimeEvaluator: with transfers it is never shorter than the simulation of its events") {
  int with_transfers = 0;
  int longer = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 2 + static_cast<Index>(seed % 30);
    const TimeProblem problem = RandomTimeProblem(seed, settings);
    const TimeSchedule schedule = TimeEvaluator(problem).Record(ListOrderOf(problem));
    if (schedule.events.empty()) continue;  // does not fit
    const auto simulated = Simulate(StepsOf(problem, schedule));
    CAPTURE(seed);
    REQUIRE(simulated.ok());
    CHECK(simulated->makespan <= schedule.makespan);
    if (schedule.transfer_time > 0) ++with_transfers;
    if (simulated->makespan < schedule.makespan) ++longer;
  }
  CHECK(with_transfers > 100);
  CHECK(longer > 10);
}

TEST_CASE("WithoutMemory: no schedule with transfers takes less than the best without memory") {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomTimeSettings settings;
    settings.tasks = 2 + static_cast<Index>(seed % 8);
    const TimeProblem problem = RandomTimeProblem(seed, settings);
    const SegmentSearch best = SearchSegments(WithoutMemory(problem), {});
    CAPTURE(seed);
    REQUIRE(best.exact);
    for (const auto& order : {SourceOrderOf(problem), ListOrderOf(problem)}) {
      const TimeOutcome outcome = TimeEvaluator(problem).Evaluate(order);
      if (outcome.fits) CHECK(outcome.makespan >= best.time);
    }
  }
}

}  // namespace
}  // namespace tenon::converter
