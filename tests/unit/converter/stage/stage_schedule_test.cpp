#include "converter/stage/stage_schedule.hpp"

#include <doctest/doctest.h>

#include <map>

#include "converter/cost/cost_model.hpp"
#include "converter/driver/pipeline.hpp"
#include "converter/ir/text.hpp"
#include "converter/profile/measured_cost_model.hpp"
#include "converter/solve/stage/simulate_pipeline.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "converter/stage/fetch_constants.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/stage/random_cut.hpp"
#include "tests/unit/converter/stage/slow_memory.hpp"
#include "tests/unit/converter/stage/twin_case.hpp"

namespace tenon::converter {
namespace {

/// The twin board with constants in slow memory, behind a copy engine.
struct StagedCase : test::TwinCase {
  StagedCase() { test::StageConstants(board); }
};

Graph ChainOfConvolutions() {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,8,16,16]
const %w1: f32[8,8,3,3] = random(1)
const %w2: f32[8,8,3,3] = random(2)
const %w3: f32[8,8,3,3] = random(3)
const %w4: f32[8,8,1,1] = random(4)
%a = conv(%x, %w1) {pads=[1,1,1,1]} "a"
%b = conv(%a, %w2) {pads=[1,1,1,1]} "b"
%c = conv(%b, %w3) {pads=[1,1,1,1]} "c"
%y = conv(%c, %w4) "y"
output %y
)");
  REQUIRE(graph.ok());
  return std::move(*graph);
}

PipelineProgram Built(const Graph& graph, const PipelineOptions& options,
                      const std::vector<int32_t>& stage_of_op, const std::vector<int32_t>& units) {
  auto built = BuildPipelineFromCut(graph, options, stage_of_op, units);
  if (!built.ok()) FAIL(built.error().message);
  return std::move(*built);
}

/// Steps and waits of a worker: "b<3.1" is op b, which waits for step 1 of worker 3.
std::string Worker(const PipelineProgram& program, size_t worker) {
  std::string text;
  for (const ScheduledStep& step : program.schedule.workers.at(worker)) {
    text += (text.empty() ? "" : " ") + program.staged.graph.op(step.op).name;
    for (const ScheduledWait& wait : step.waits) {
      text += fmt::format("<{}.{}", wait.worker, wait.step);
    }
  }
  return text;
}

TEST_CASE("ScheduleStages: the copy engine fetches what the next op reads beside the one before") {
  StagedCase test;
  const PipelineProgram program = Built(ChainOfConvolutions(), test.options, {0, 0, 0, 1}, {0, 0});
  REQUIRE(program.schedule.workers.size() == 4);
  CHECK(program.schedule.stage_of_worker == std::vector<int32_t>{0, 1, 0, 1});
  CHECK(program.worker_names.at(2) == "dma");
  CHECK(Worker(program, 0) == "a<2.0 b<2.1 c<2.2");
  CHECK(Worker(program, 1) == "y<3.0 y.row_major");
  CHECK(Worker(program, 2) == "w1.for_a w2.for_b w3.for_c<0.0");
  CHECK(program.report.stages[0].copy_engine == "dma");
}

TEST_CASE("ScheduleStages: copies begin when there is memory, or if paced after the op before") {
  StagedCase test;
  PipelineProgram program = Built(ChainOfConvolutions(), test.options, {0, 0, 0, 1}, {0, 0});
  const std::vector<bool> copies = EngineCopies(program.staged);
  const int32_t engine = CopyEngineOf(test.board);
  const std::vector<int32_t> units = {0, 0};
  const auto waits_of = [&](bool is_paced) {
    program.schedule = ScheduleStages(program.staged, program.arenas, copies, units, {true, true},
                                      engine, is_paced);
    return Worker(program, 2);
  };
  // Every copy on bytes of its own.
  int64_t offset = 0;
  for (PlannedStorage& storage : program.arenas.plan.storages) {
    storage.offset = offset;
    offset += PaddedBytes(storage.bytes);
  }
  CHECK(waits_of(false) == "w1.for_a w2.for_b w3.for_c");
  CHECK(waits_of(true) == "w1.for_a w2.for_b w3.for_c<0.0");
}

/// The stage's time by an exact simulation of what the program's workers do.
Picoseconds SimulatedAlone(const PipelineProgram& program, const Board& board, int32_t stage,
                           Picoseconds start) {
  const auto model = MakeCostModel(board, nullptr, &program.staged.locations);
  SimulatedProgram simulated;
  simulated.units = {"unit", "engine"};
  std::map<std::pair<int32_t, int32_t>, int32_t> place;
  simulated.steps.emplace_back();
  simulated.steps[0].compute = start;
  const auto workers = static_cast<int32_t>(program.schedule.workers.size());
  for (int32_t w = 0; w < workers; ++w) {
    if (program.schedule.stage_of_worker[static_cast<size_t>(w)] != stage) continue;
    const auto& steps = program.schedule.workers[static_cast<size_t>(w)];
    for (size_t i = 0; i < steps.size(); ++i) {
      const Op& op = program.staged.graph.op(steps[i].op);
      SimulatedStep step;
      step.unit = w == stage ? 0 : 1;
      step.compute = IsFetch(program.staged.graph, op)
                         ? FetchTime(program.staged.graph, op, board)
                         : model->TimeOf(program.staged.graph, op, board.units[0])
                               .Alone(board.PortBytesPerSecond(board.units[0]));
      if (i == 0) step.waits = {0};
      place[{w, static_cast<int32_t>(i)}] = static_cast<int32_t>(simulated.steps.size());
      simulated.steps.push_back(std::move(step));
    }
  }
  for (const auto& [key, index] : place) {
    const auto& steps = program.schedule.workers[static_cast<size_t>(key.first)];
    for (const ScheduledWait& wait : steps[static_cast<size_t>(key.second)].waits) {
      simulated.steps[static_cast<size_t>(index)].waits.push_back(
          place.at({wait.worker, wait.step}));
    }
  }
  const auto simulation = Simulate(simulated);
  if (!simulation.ok()) FAIL(simulation.error().message);
  return simulation->makespan;
}

TEST_CASE("ScheduleStages: helped stages take what an exact simulation of their workers says") {
  StagedCase test;
  int helped = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Graph graph = test::RandomGraph(seed);
    std::vector<PassReport> reports;
    REQUIRE(Canonicalise(graph, true, reports).ok());
    if (graph.OpOrder().empty()) continue;
    RandomCut cut = MakeRandomCut(graph, seed);
    for (int32_t& unit : cut.unit_of_stage) unit = 0;
    const PipelineProgram program = Built(graph, test.options, cut.stage_of_op, cut.unit_of_stage);
    for (size_t s = 0; s < program.report.stages.size(); ++s) {
      const PipelineReport::Stage& stage = program.report.stages[s];
      if (stage.copy_engine.empty()) continue;
      ++helped;
      const Picoseconds start = SimulatedAlone(program, test.board, static_cast<int32_t>(s), 0);
      // The hand-over of 10 us comes before everything; a step takes a picosecond at least.
      const Picoseconds difference = stage.time - (start + 10'000'000);
      CHECK(difference >= 0);
      CHECK(difference <= static_cast<Picoseconds>(stage.ops) + 1);
    }
  }
  CHECK(helped > 20);
}

TEST_CASE("ScheduleStages: less memory means that copies begin later, and never a longer period") {
  StagedCase test;
  const std::vector<int32_t> stages = {0, 0, 0, 1};
  const PipelineProgram free = Built(ChainOfConvolutions(), test.options, stages, {0, 0});
  test.options.memory_limit = free.report.memory_bytes - 1;
  const PipelineProgram less = Built(ChainOfConvolutions(), test.options, stages, {0, 0});
  CHECK(less.report.memory_bytes <= test.options.memory_limit);
  CHECK(less.report.period >= free.report.period);
  CHECK(less.report.period <= less.report.period_without_engine);
}

}  // namespace
}  // namespace tenon::converter
