#include "converter/solve/stage/share_copies.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

namespace tenon::converter {
namespace {

constexpr int32_t kEngine = 9;

/// A stage whose unit would make the copies of `parts` itself.
SharingProblem::Stage StageOf(int32_t unit, Picoseconds start, StageCopies parts) {
  SharingProblem::Stage stage;
  stage.start = start;
  stage.own = {start, unit};
  for (const StageCopies::Op& op : parts.ops) stage.own.time += op.time;
  for (const StageCopies::Copy& copy : parts.copies) stage.own.time += copy.time;
  stage.parts = std::move(parts);
  return stage;
}

/// Ops of 10, of which each but the first reads a copy.
StageCopies Tens(int32_t ops, Picoseconds copy) {
  StageCopies parts;
  for (int32_t i = 0; i < ops; ++i) {
    parts.ops.push_back({10, 0});
    if (i > 0) parts.copies.push_back({copy, i, i, 1});
  }
  return parts;
}

SharingProblem TwoStages(StageCopies first, StageCopies second) {
  SharingProblem problem;
  problem.stages = {StageOf(0, 1, std::move(first)), StageOf(1, 1, std::move(second))};
  problem.channels = {{0, 1, 2}};
  problem.engine = kEngine;
  problem.most_helped = 2;
  return problem;
}

TEST_CASE(
    "ShareCopies: the slower stage is helped first, the other one where the engine has time") {
  // 41 + 15 and 41 + 6.
  const auto found = ShareCopies(TwoStages(Tens(4, 5), Tens(4, 2)));
  REQUIRE(found.size() == 2);
  CHECK(found[0].lead[0] >= 0);
  CHECK(found[0].lead[1] >= 0);
  CHECK(found[0].period == 41);
  CHECK(found[1].lead == std::vector<int32_t>{0, -1});
  CHECK(found[1].period == 47);
}

TEST_CASE("ShareCopies: an engine that has too much to do for all helps some") {
  // 21 + 30 and 41 + 15: all copies together take 45.
  const auto found = ShareCopies(TwoStages(Tens(2, 30), Tens(4, 5)));
  REQUIRE(!found.empty());
  for (const CopySharing& sharing : found) CHECK(sharing.period < 56);
}

TEST_CASE("ShareCopies: nothing is gained where nothing is copied, or nobody may be helped") {
  CHECK(ShareCopies(TwoStages(Tens(1, 5), Tens(1, 5))).empty());
  SharingProblem problem = TwoStages(Tens(4, 5), Tens(4, 2));
  problem.most_helped = 0;
  CHECK(ShareCopies(problem).empty());
  problem.most_helped = 1;
  CHECK(ShareCopies(problem).size() == 1);
}

TEST_CASE("ShareCopies: what it says of random pipelines is what they take, and never longer") {
  std::mt19937_64 random(5);
  size_t gains = 0;
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto below = [&](uint64_t count) { return static_cast<int32_t>(random() % count); };
    SharingProblem problem;
    problem.engine = kEngine;
    const int32_t stages = 1 + below(4);
    std::vector<PipelineStage> own;
    for (int32_t s = 0; s < stages; ++s) {
      StageCopies parts;
      const int32_t ops = 1 + below(5);
      for (int32_t i = 0; i < ops; ++i) {
        parts.ops.push_back({1 + below(20), 0});
        if (below(3) > 0) parts.copies.push_back({1 + below(20), i, i, 1});
      }
      problem.stages.push_back(StageOf(s, 1 + below(10), std::move(parts)));
      own.push_back(problem.stages.back().own);
      if (s > 0) problem.channels.push_back({s - 1, s, 2});
    }
    problem.most_helped = static_cast<size_t>(8 - stages);
    const auto period = [&](const std::vector<PipelineStage>& simulated) {
      return std::max(SimulatePipeline(simulated, problem.channels, 32).period,
                      PeriodBound(simulated));
    };
    const Picoseconds without = period(own);
    for (const CopySharing& sharing : ShareCopies(problem)) {
      std::vector<PipelineStage> simulated = own;
      for (size_t s = 0; s < simulated.size(); ++s) {
        if (sharing.lead[s] < 0) continue;
        const auto& stage = problem.stages[s];
        simulated[s] = HelpedStage(stage, StartCopies(stage.parts, {sharing.lead[s]}), kEngine);
        // Alone, with the engine to itself, it is as fast as it can be.
        CHECK(simulated[s].time == stage.start + StartCopies(stage.parts, {}).time);
        CHECK(simulated[s].time <= own[s].time);
      }
      CHECK(period(simulated) == sharing.period);
      CHECK(sharing.period < without);
      ++gains;
    }
  }
  CHECK(gains > 100);
}

}  // namespace
}  // namespace tenon::converter
