#include "converter/stage/fetch_constants.hpp"

#include <doctest/doctest.h>

#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/stage/random_cut.hpp"
#include "tests/unit/converter/stage/run_pipeline.hpp"
#include "tests/unit/converter/stage/slow_memory.hpp"
#include "tests/unit/converter/stage/twin_case.hpp"

namespace tenon::converter {
namespace {

using Case = test::TwinCase;

TEST_CASE("FetchConstants: where constants are fetched, each stage fetches its own") {
  Case with;
  test::StageConstants(with.board);
  size_t fetched = 0;
  size_t helped = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Graph graph = test::RandomGraph(seed);
    std::vector<PassReport> reports;
    REQUIRE(Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().empty()) continue;
    RandomCut cut = MakeRandomCut(graph, seed);
    for (int32_t& unit : cut.unit_of_stage) unit = 0;  // only the CPU fetches
    const auto staged =
        BuildPipelineFromCut(graph, with.options, cut.stage_of_op, cut.unit_of_stage);
    if (!staged.ok()) FAIL(staged.error().message);
    const Graph& made = staged->staged.graph;
    for (const OpId id : staged->staged.steps) {
      const Op& op = made.op(id);
      for (const TensorId input : op.inputs) {
        if (input == kNone || !made.tensor(input).IsConstant()) continue;
        if (made.tensor(input).ByteSize() == 0) continue;  // nothing to fetch
        CHECK(IsFetch(made, op));
        ++fetched;
      }
    }
    Case plain;
    const auto expected_program =
        BuildPipelineFromCut(graph, plain.options, cut.stage_of_op, cut.unit_of_stage);
    REQUIRE(expected_program.ok());
    std::vector<Arrays> stream;
    for (uint64_t i = 0; i < 4; ++i) stream.push_back(test::RandomInputs(graph, 100 + i));
    std::string error;
    const auto expected = PipelineRunner(*expected_program).Run(stream, 1, error);
    const auto got = PipelineRunner(*staged).Run(stream, seed, error);
    REQUIRE(error == "");
    for (size_t i = 0; i < stream.size(); ++i) CHECK(got[i] == expected[i]);
    CHECK(staged->report.period <= staged->report.period_without_engine);
    helped += staged->schedule.workers.size() > staged->report.stages.size() ? 1 : 0;
  }
  CHECK(fetched > 200);
  CHECK(helped > 20);
}

TEST_CASE("FetchConstants: neighbours share a copy, stages do not") {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,8,16,16]
const %w: f32[8,8,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]}
%b = conv(%a, %w) {pads=[1,1,1,1]}
%y = conv(%b, %w) {pads=[1,1,1,1]}
output %y
)");
  REQUIRE(graph.ok());
  Case with;
  test::StageConstants(with.board);
  const auto staged = BuildPipelineFromCut(*graph, with.options, {0, 0, 1}, {0, 0});
  REQUIRE(staged.ok());
  std::vector<int32_t> stages;
  for (const OpId id : staged->staged.steps) {
    if (!IsFetch(staged->staged.graph, staged->staged.graph.op(id))) continue;
    stages.push_back(staged->staged.stage_of_op[static_cast<size_t>(id)]);
  }
  CHECK(stages == std::vector<int32_t>{0, 1});
}

TEST_CASE("FetchConstants: a stage takes the time of its fetches on the board's link") {
  auto parsed = ParseGraph(R"(graph g
input %x: f32[1,8,16,16]
const %w1: f32[8,8,3,3] = random(1)
const %w2: f32[8,8,3,3] = random(2)
const %w3: f32[8,8,1,1] = random(3)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%y = conv(%b, %w3)
output %y
)");
  REQUIRE(parsed.ok());
  const Graph graph = std::move(*parsed);
  const std::vector<int32_t> stages = {0, 0, 1};
  Case plain;
  const auto without = BuildPipelineFromCut(graph, plain.options, stages, {0, 0});
  REQUIRE(without.ok());
  Case with;
  test::StageConstants(with.board);
  const auto fetching = BuildPipelineFromCut(graph, with.options, stages, {0, 0});
  REQUIRE(fetching.ok());
  // %w1 and %w2, 2304 bytes each, at 1 GB/s; each begins 1 us later.
  constexpr Picoseconds kPerNanosecond = 1'000;
  const PipelineReport::Stage& stage = fetching->report.stages[0];
  CHECK(stage.copies == 2);
  CHECK(stage.copy_time == 2 * (2304 + 1000) * kPerNanosecond);
  CHECK(stage.time <= without->report.stages[0].time + stage.copy_time);
  // One core runs both stages: without the copy engine it would make all copies too.
  const Picoseconds copies = stage.copy_time + fetching->report.stages[1].copy_time;
  CHECK(fetching->report.period_without_engine == without->report.period + copies);
}

}  // namespace
}  // namespace tenon::converter
