#include "converter/solve/program/memory_program.hpp"

#include <doctest/doctest.h>

#include "converter/solve/program/greedy_steps.hpp"
#include "tests/unit/converter/solve/program/memory_program_testing.hpp"

namespace tenon::converter {
namespace {

MemoryProgramOptions Exact() {
  MemoryProgramOptions options;
  options.most_nodes = 5000;
  options.depth = 8;
  options.most_repeats = 8;
  options.relative_gap = 0;
  return options;
}

/// A tensor a is used at once and, long after a bulky branch, again.
MemoryStepsProblem LongSkip(int64_t out_and_in, int64_t again) {
  MemoryStepsProblem problem;
  const auto storage = [&](int64_t bytes) {
    problem.storages.push_back({bytes, false, false, true, out_and_in / 2, out_and_in / 2});
  };
  storage(1);  // x
  storage(4);  // a
  storage(6);  // b
  storage(6);  // c
  storage(1);  // d
  storage(1);  // y
  problem.storages[0].from_start = true;
  problem.storages[0].may_move = false;
  problem.storages[5].to_end = true;
  const auto op = [&](int64_t time, std::vector<Index> reads, Index writes) {
    problem.ops.push_back({time, std::move(reads), {writes}, 0, true, {}});
  };
  op(again, {0}, 1);  // a = f(x)
  op(10, {1}, 2);     // b
  op(10, {2}, 3);     // c, the fullest: x, a, b and c are 17 bytes
  op(10, {3}, 4);     // d
  op(10, {0, 1, 4}, 5);
  problem.slow_bytes = 100;
  problem.fast_bytes = 13;
  return problem;
}

TEST_CASE("A program that fits as it is runs every op once") {
  MemoryStepsProblem problem = LongSkip(2, 5);
  problem.fast_bytes = 17;
  const MemoryProgram program = SolveMemoryProgram(problem, Exact());
  CHECK(program.fits);
  CHECK(program.steps == EveryOpOnce(problem));
  CHECK(program.cost.fast_peak == 17);
}

TEST_CASE("What is cheap to compute is computed again, and what is cheap to move is moved") {
  const MemoryProgram again = SolveMemoryProgram(LongSkip(8, 5), Exact());
  REQUIRE(again.fits);
  CHECK(again.cost.time == 50);
  CHECK(again.steps[4] == MemoryStep{StepKind::kRun, 0});
  const MemoryProgram moved = SolveMemoryProgram(LongSkip(4, 5), Exact());
  REQUIRE(moved.fits);
  CHECK(moved.cost.time == 49);
  CHECK(moved.cost.slow_peak == 4);
}

TEST_CASE("With a copy engine moves take place beside ops") {
  MemoryStepsProblem problem = LongSkip(8, 5);
  problem.copy_engine = true;
  problem.fast_bytes = 13;
  const MemoryProgram program = SolveMemoryProgram(problem, Exact());
  REQUIRE(program.fits);
  CHECK(program.cost.time <= 50);
  CHECK(program.cost.time >= 45);
}

TEST_CASE("Steps that read what is not there, or leave out an op, are not valid") {
  const MemoryStepsProblem problem = LongSkip(2, 5);
  std::vector<MemoryStep> steps = EveryOpOnce(problem);
  CHECK(CostOf(problem, steps).valid);
  steps.insert(steps.begin(), {StepKind::kMoveIn, 1});
  CHECK_FALSE(CostOf(problem, steps).valid);
  steps = EveryOpOnce(problem);
  steps.pop_back();
  CHECK_FALSE(CostOf(problem, steps).valid);
  steps = EveryOpOnce(problem);
  std::swap(steps[1], steps[2]);
  CHECK_FALSE(CostOf(problem, steps).valid);
}

TEST_CASE("On small problems no program is faster than the one that is found") {
  std::mt19937 random(7);
  int solved = 0;
  int changed = 0;
  int equal = 0;
  for (int round = 0; round < 150; ++round) {
    MemoryStepsProblem problem = RandomSteps(random, 7, round % 2 == 0, round % 3 == 0);
    const CostOfSteps once = CostOf(problem, EveryOpOnce(problem));
    problem.fast_bytes = once.fast_peak * (55 + round % 40) / 100;
    const std::optional<int64_t> least = LeastTimeByTrying(problem, /*in_order=*/false);
    const std::optional<int64_t> ordered = LeastTimeByTrying(problem, /*in_order=*/true);
    const MemoryProgram program = SolveMemoryProgram(problem, Exact());
    CAPTURE(round);
    if (ordered) REQUIRE(program.fits);
    if (program.fits) REQUIRE(least.has_value());
    if (!program.fits) continue;
    ++solved;
    changed += *least > once.time ? 1 : 0;
    CHECK(program.cost.time >= *least);
    if (ordered) CHECK(program.cost.time <= *ordered);
    if (ordered) CHECK(program.bound <= *ordered);
    equal += program.cost.time == *least ? 1 : 0;
  }
  CHECK(equal * 20 >= solved * 19);  // else only an order of repeated ops that is not tried helps
  CHECK(solved > 20);
  CHECK(changed > 12);
}

TEST_CASE("What is found is valid, within its limits and never slower than the greedy search") {
  std::mt19937 random(11);
  int fitting = 0;
  for (int round = 0; round < 30; ++round) {
    MemoryStepsProblem problem = RandomSteps(random, 24, round % 3 != 0, round % 2 == 0);
    problem.copy_engine = round % 3 == 1;
    const int64_t whole = CostOf(problem, EveryOpOnce(problem)).fast_peak;
    problem.fast_bytes = whole * (60 + round % 40) / 100;
    MemoryProgramOptions options;
    options.most_nodes = 10;
    options.most_window_ops = 12;
    const MemoryProgram program = SolveMemoryProgram(problem, options);
    const CostOfSteps cost = CostOf(problem, program.steps);
    REQUIRE(cost.valid);
    CHECK(cost.time == program.cost.time);
    if (!program.fits) continue;
    ++fitting;
    CHECK(cost.fast_peak <= problem.fast_bytes);
    CHECK(cost.slow_peak <= problem.slow_bytes);
    CHECK(cost.time >= program.once_time);
    if (program.greedy_time > 0) CHECK(cost.time <= program.greedy_time);
    CHECK(SolveMemoryProgram(problem, options).steps == program.steps);
  }
  CHECK(fitting > 4);
}

}  // namespace
}  // namespace tenon::converter
