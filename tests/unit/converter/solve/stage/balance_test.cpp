#include "converter/solve/stage/balance.hpp"

#include <doctest/doctest.h>

#include "tests/unit/converter/solve/stage/stage_problems.hpp"

namespace tenon::converter {
namespace {

StageCut CutOf(const StageProblem& problem, const std::vector<int32_t>& stage_of_op,
               const std::vector<int32_t>& unit_of_stage) {
  StageCut cut;
  cut.stage_of_op = stage_of_op;
  cut.unit_of_stage = unit_of_stage;
  MeasureCut(problem, cut);
  return cut;
}

TEST_CASE("Balance: the rate is of units, whose stages take turns") {
  const StageProblem problem = ChainOnCores({10, 20, 30, 20}, 3);
  CHECK(BalanceRate(CutOf(problem, {0, 0, 0, 0}, {0})) == 1.0);
  CHECK(BalanceRate(CutOf(problem, {0, 0, 1, 1}, {0, 1})) == doctest::Approx(30.0 / 50));
  CHECK(BalanceRate(CutOf(problem, {0, 1, 2, 3}, {0, 1, 0, 1})) == 1.0);
}

TEST_CASE("Balance: the bound is what the longest op leaves to the others") {
  const StageProblem problem = ChainOnCores({10, 60, 20}, 3);
  CHECK(BalanceBound(problem, CutOf(problem, {0, 1, 1}, {0, 1})) == doctest::Approx(30.0 / 60));
  CHECK(BalanceBound(problem, CutOf(problem, {0, 1, 2}, {0, 1, 2})) == doctest::Approx(15.0 / 60));
  CHECK(BalanceBound(problem, CutOf(problem, {0, 0, 0}, {0})) == 1.0);
}

TEST_CASE("Balance: no cut of a chain onto equal cores is above the bound") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    StageProblem problem = RandomStageProblem(
        seed, {.ops = 9, .units = 3, .cores = true, .transfers = false, .cannot_percent = 0});
    for (StageUnit& unit : problem.units) unit.start = 0;
    problem.least_stages = 2;
    const auto cut = CutStages(problem);
    REQUIRE(cut.has_value());
    CHECK(BalanceRate(*cut) <= BalanceBound(problem, *cut) + 1e-9);
  }
}

TEST_CASE("Balance: stages are made more equally long within the period, or stay as they are") {
  StageProblem problem = ChainOnCores({30, 5, 5, 5, 5, 5, 5}, 3);
  problem.least_stages = 3;
  // The least period is 30 whatever the other two stages have.
  StageCut cut = CutOf(problem, {0, 1, 1, 1, 1, 1, 2}, {0, 1, 2});
  BoundaryOptions as_before;
  as_before.even_out = false;
  ImproveBoundaries(problem, as_before, cut);
  CHECK(cut.stage_time == std::vector<Picoseconds>{30, 25, 5});
  ImproveBoundaries(problem, {}, cut);
  CHECK(cut.stage_time == std::vector<Picoseconds>{30, 15, 15});
  CHECK(cut.period == 30);
}

TEST_CASE("Balance: what built stages took is what the next cut goes by, on all equal units") {
  StageProblem problem = ChainOnCores({10, 10, 10, 10}, 2);
  const StageCut cut = *CutStages(problem);
  REQUIRE(cut.stage_time == std::vector<Picoseconds>{20, 20});
  TakeBuiltTimes(cut, {80, 20}, problem);
  CHECK(problem.time[0] == std::vector<Picoseconds>{40, 40});
  CHECK(problem.time[3] == std::vector<Picoseconds>{10, 10});
  problem.most_stages = 2;
  CHECK(CutStages(problem)->stage_of_op == std::vector<int32_t>{0, 1, 1, 1});
}

}  // namespace
}  // namespace tenon::converter
