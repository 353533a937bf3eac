#include "converter/solve/stage/cut_stages.hpp"

#include <doctest/doctest.h>

#include "tests/unit/converter/solve/stage/stage_problems.hpp"

namespace tenon::converter {
namespace {

void CheckAgainstEveryCut(const RandomStageOptions& options, uint64_t seeds) {
  int64_t several = 0;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    CAPTURE(seed);
    const StageProblem problem = RandomStageProblem(seed, options);
    const auto cut = CutStages(problem, {.stage_slack = 0});
    REQUIRE(cut.has_value());
    CHECK(cut->exact);
    CHECK(IsValidCut(problem, *cut));
    const Picoseconds least = EveryCut(problem).least;
    CHECK(cut->period == least);
    const auto fewer = CutStages(problem, {.stage_slack = 0.1});
    CHECK(static_cast<double>(fewer->period) <= 1.1 * static_cast<double>(least));
    CHECK(fewer->unit_of_stage.size() <= cut->unit_of_stage.size());
    several += cut->unit_of_stage.size() > 1 ? 1 : 0;
  }
  CHECK(several > static_cast<int64_t>(seeds) / 4);  // or there was nothing to find
}

TEST_CASE("CutStages: the least period of every cut, on two units with transfers") {
  CheckAgainstEveryCut({.ops = 9, .units = 2}, 60);
}

TEST_CASE("CutStages: the least period of every cut, on three different units") {
  CheckAgainstEveryCut({.ops = 7, .units = 3}, 40);
}

TEST_CASE("CutStages: the least period of every cut, on equal cores") {
  CheckAgainstEveryCut({.ops = 7, .units = 3, .cores = true}, 40);
}

TEST_CASE("CutStages: the least period of every cut into few stages") {
  CheckAgainstEveryCut({.ops = 9, .units = 2, .transfers = false, .most_stages = 3}, 60);
}

TEST_CASE("CutStages: a unit runs several stages where one each would leave another idle") {
  // Unit 0 is good at the ends, unit 1 in the middle.
  const StageProblem problem = Chain({{4, 40}, {40, 8}, {4, 40}}, 2);
  const auto cut = CutStages(problem);
  REQUIRE(cut.has_value());
  CHECK(cut->unit_of_stage == std::vector<int32_t>{0, 1, 0});
  CHECK(cut->period == 8);
  CHECK(cut->latency == 16);
  CHECK(cut->traffic == 2);
}

TEST_CASE("CutStages: one stage where handing over costs more than it saves") {
  StageProblem problem = Chain({{10, 10}, {10, 10}}, 2);
  problem.units[0].start = problem.units[1].start = 1;
  CHECK(CutStages(problem)->unit_of_stage.size() == 2);
  for (StageUnit& unit : problem.units) unit.read_bytes_per_second = 1e10;  // 100 ps a byte
  CHECK(CutStages(problem)->unit_of_stage.size() == 1);
}

TEST_CASE("CutStages: where two stages are asked for, the best two even if one is better") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    StageProblem problem = RandomStageProblem(seed, {.ops = 8, .cannot_percent = 0});
    problem.least_stages = 2;
    problem.most_stages = 2;
    const auto cut = CutStages(problem, {.stage_slack = 0});
    REQUIRE(cut.has_value());
    CHECK(cut->unit_of_stage.size() == 2);
    CHECK(cut->period == EveryCut(problem).least);
    StageCut improved = *cut;
    ImproveBoundaries(problem, {}, improved);
    CHECK(improved.unit_of_stage.size() == 2);
  }
}

TEST_CASE("CutStages: stages that gain next to nothing are saved") {
  const StageProblem uneven = Chain({{2, 9}, {500, 700}, {700, 498}, {9, 2}, {1, 9}}, 2);
  CHECK(CutStages(uneven, {.stage_slack = 0})->period == 503);
  CHECK(CutStages(uneven, {.stage_slack = 0})->unit_of_stage.size() == 3);
  const auto fewer = CutStages(uneven);
  CHECK(fewer->unit_of_stage.size() == 2);
  CHECK(fewer->period == 509);
}

TEST_CASE("CutStages: an op that only one unit runs stays there") {
  const StageProblem problem = Chain({{10, 1}, {10, kCannotRun}, {10, 1}}, 2);
  const auto cut = CutStages(problem);
  REQUIRE(cut.has_value());
  CHECK(cut->unit_of_stage[static_cast<size_t>(cut->stage_of_op[1])] == 0);
  CHECK(cut->period == 10);
}

TEST_CASE("CutStages: no cut where an op runs nowhere, and none is needed where there is no op") {
  CHECK_FALSE(CutStages(Chain({{1, 1}, {kCannotRun, kCannotRun}}, 2)).has_value());
  CHECK(CutStages(Chain({}, 2))->unit_of_stage.empty());
}

TEST_CASE("CutStages: a long order is cut within its budget, not worse than in two") {
  StageProblem problem = RandomStageProblem(5, {.ops = 1500, .units = 2});
  problem.most_stages = 2;
  const auto two = CutStages(problem);
  problem.most_stages = 8;
  const auto cut = CutStages(problem, {.work_budget = 2'000'000});
  REQUIRE(two.has_value());
  REQUIRE(cut.has_value());
  CHECK_FALSE(cut->exact);
  CHECK(IsValidCut(problem, *cut));
  CHECK(cut->period <= two->period);
}

TEST_CASE("CutStages: the same arguments give the same cut") {
  const StageProblem problem = RandomStageProblem(7, {.ops = 30, .units = 3});
  CHECK(CutStages(problem)->stage_of_op == CutStages(problem)->stage_of_op);
}

TEST_CASE(
    "ImproveBoundaries: never a longer period than the slack, never more traffic for nothing") {
  int better = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const StageProblem problem = RandomStageProblem(seed, {.ops = 24, .units = 2});
    const auto cut = CutStages(problem);
    REQUIRE(cut.has_value());
    StageCut improved = *cut;
    ImproveBoundaries(problem, {.slack = 0.02}, improved);
    CHECK(IsValidCut(problem, improved));
    CHECK(static_cast<double>(improved.period) <= 1.02 * static_cast<double>(cut->period));
    if (improved.period >= cut->period) CHECK(improved.traffic <= cut->traffic);
    better += improved.period < cut->period || improved.traffic < cut->traffic ? 1 : 0;
  }
  CHECK(better > 0);
}

TEST_CASE("ImproveBoundaries: an op moves over the boundary to those that read it") {
  // op 1 writes 100 bytes for op 2 only, op 0 writes 1 byte for op 1: it belongs behind the cut.
  StageProblem problem;
  problem.units.resize(2);
  problem.time = {{50, 50}, {1, 1}, {50, 50}};
  problem.values = {{0, {1}, false, 1}, {1, {2}, false, 100}};
  StageCut cut;
  cut.stage_of_op = {0, 0, 1};
  cut.unit_of_stage = {0, 1};
  MeasureCut(problem, cut);
  CHECK(cut.traffic == 100);
  ImproveBoundaries(problem, {}, cut);
  CHECK(cut.stage_of_op == std::vector<int32_t>{0, 1, 1});
  CHECK(cut.traffic == 1);
  CHECK(cut.period == 51);
}

}  // namespace
}  // namespace tenon::converter
