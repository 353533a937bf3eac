#include "converter/solve/stage/simulate_pipeline.hpp"

#include <doctest/doctest.h>

#include <random>

namespace tenon::converter {
namespace {

using Stages = std::vector<PipelineStage>;
using Channels = std::vector<PipelineChannel>;

TEST_CASE("SimulatePipeline: two stages with two buffers take the slower one's time") {
  const PipelineRun run = SimulatePipeline({{30, 0}, {20, 1}}, {{0, 1, 2}}, 100);
  CHECK(run.period == 30);
  CHECK(run.first_done == 50);
  CHECK(run.makespan == 100 * 30 + 20);
}

TEST_CASE("SimulatePipeline: with one buffer the stages take turns") {
  CHECK(SimulatePipeline({{30, 0}, {20, 1}}, {{0, 1, 1}}, 100).period == 50);
}

TEST_CASE("SimulatePipeline: stages on one unit share it") {
  const Channels channels = {{0, 1, 3}, {1, 2, 3}};
  CHECK(SimulatePipeline({{10, 0}, {25, 1}, {20, 0}}, channels, 100).period == 30);
}

TEST_CASE(
    "SimulatePipeline: a channel over several stages needs a buffer for each input under way") {
  const Stages stages = {{10, 0}, {10, 1}, {10, 2}};
  CHECK(SimulatePipeline(stages, {{0, 1, 2}, {1, 2, 2}, {0, 2, 3}}, 100).period == 10);
  CHECK(SimulatePipeline(stages, {{0, 1, 2}, {1, 2, 2}, {0, 2, 1}}, 100).period == 30);
}

TEST_CASE("SimulatePipeline: a stage of two units ends when both have") {
  // Ops of 10 and 20 on unit 0; a copy of 15 on unit 1 that the second waits for.
  const PipelineStage stage = {35, 0, {{10, 0, {}}, {15, 1, {}}, {20, 0, {0, 1}}}};
  CHECK(SimulatePipeline({stage}, {}, 1).makespan == 35);
  CHECK(SimulatePipeline({stage}, {}, 100).period == 35);
  // A copy that nothing waits for, and that is the last to end.
  const PipelineStage late = {40, 0, {{10, 0, {}}, {30, 1, {0}}, {20, 0, {0}}}};
  CHECK(SimulatePipeline({late}, {}, 100).period == 40);
  CHECK(SimulatePipeline({late, {5, 2}}, {{0, 1, 1}}, 100).period == 45);
}

TEST_CASE("SimulatePipeline: stages share a copy engine") {
  // Each stage alone takes 20; what they copy takes 24.
  const PipelineStage first = {20, 0, {{20, 0, {}}, {12, 2, {}}}};
  const PipelineStage second = {20, 1, {{20, 1, {}}, {12, 2, {}}}};
  CHECK(PeriodBound({first, second}) == 24);
  CHECK(SimulatePipeline({first, second}, {{0, 1, 3}}, 200).period >= 24);
  CHECK(PeriodBound({first, {10, 1}}) == 20);
  const PipelineStage waiting = {32, 0, {{12, 2, {}}, {20, 0, {0}}}};
  CHECK(PeriodBound({waiting}) == 32);
}

TEST_CASE("ChooseDepths: two for neighbours, one more per stage skipped") {
  Channels channels = {{0, 1, 0}, {1, 2, 0}, {0, 2, 0}};
  ChooseDepths({{10, 0}, {12, 1}, {9, 2}}, 8, channels);
  CHECK(channels[0].depth == 2);
  CHECK(channels[1].depth == 2);
  CHECK(channels[2].depth == 3);
}

TEST_CASE("ChooseDepths: three where a stage takes turns with another") {
  Channels channels = {{0, 1, 0}, {1, 2, 0}};
  ChooseDepths({{10, 0}, {25, 1}, {20, 0}}, 8, channels);
  CHECK(channels[0].depth == 3);
  CHECK(channels[1].depth == 3);
}

TEST_CASE("ChooseDepths: random pipelines reach the bound of their units") {
  std::mt19937_64 random(3);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    const auto below = [&](uint64_t count) { return static_cast<int32_t>(random() % count); };
    Stages stages;
    Channels channels;
    const int32_t count = 2 + below(7);
    const auto units = static_cast<uint64_t>(1 + below(4));
    for (int32_t s = 0; s < count; ++s) {
      stages.push_back({1000 + 100 * below(90), below(units)});
      if (s > 0) channels.push_back({s - 1, s, 0});
      if (s > 1 && below(3) == 0) channels.push_back({below(static_cast<uint64_t>(s - 1)), s, 0});
    }
    ChooseDepths(stages, 8, channels);
    const PipelineRun run = SimulatePipeline(stages, channels, 400);
    const Picoseconds bound = PeriodBound(stages);
    CHECK(run.period <= bound + bound / 25);
    CHECK(run.period >= bound - bound / 50);  // no faster than its units
    for (const PipelineChannel& channel : channels) CHECK(channel.depth <= 8 + 1);
  }
}

TEST_CASE("ChooseDepths: never deeper than it may") {
  Channels channels = {{0, 3, 0}};
  ChooseDepths({{10, 0}, {10, 1}, {10, 2}, {10, 3}}, 2, channels);
  CHECK(channels[0].depth == 2);
}

}  // namespace
}  // namespace tenon::converter
