#include "converter/schedule/make_schedule.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/ir/text.hpp"
#include "converter/layout/lower.hpp"
#include "converter/passes/passes.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/converter/schedule/run_schedule.hpp"

namespace tenon::converter {
namespace {

Board Npu(int64_t sram_bytes = 2 << 20) {
  auto board = LoadBoard("npu-3unit");
  REQUIRE(board.ok());
  board->FindSpace("sram")->bytes = sram_bytes;
  return std::move(*board);
}

/// Chooses kernels, layouts and views, then schedules.
Result<Scheduled> ScheduleGraph(Graph graph, const Board& board,
                                const ScheduleOptions& options = {}) {
  PassContext context;
  REQUIRE(IsolateOutputs(graph, context).ok());
  LowerOptions lower;
  lower.kernels.portable_only = true;
  std::vector<PassReport> passes;
  auto lowered = Lower(graph, lower, passes);
  REQUIRE(lowered.ok());
  Locations& locations = lowered->locations;
  auto program = MakeSchedule(graph, locations, board, AnalyticCostModel(), options);
  if (!program.ok()) return program.error();
  const Status verified = Verify(graph);
  if (!verified.ok()) FAIL(verified.error().message);
  return Scheduled{std::move(graph), std::move(locations), std::move(*program)};
}

/// Bytes that the op with the largest working set needs.
int64_t LargestWorkingSet(const Graph& graph) {
  int64_t largest = 0;
  for (const OpId id : graph.OpOrder()) {
    const Op& op = graph.op(id);
    int64_t bytes = 0;
    for (const auto* operands : {&op.inputs, &op.outputs}) {
      for (const TensorId tensor : *operands) {
        if (tensor != kNone) bytes += (graph.tensor(tensor).ByteSize() + 127) / 64 * 64;
      }
    }
    largest = std::max(largest, bytes);
  }
  return largest;
}

Graph SmallGraph(uint64_t seed) {
  test::RandomGraphOptions random;
  random.most_ops = 6 + static_cast<int>(seed % 20);
  return test::RandomGraph(seed, random);
}

/// Fast memory that holds the op with the largest working set, or two or three such.
int64_t LittleMemory(const Graph& graph, uint64_t seed) {
  return LargestWorkingSet(graph) * static_cast<int64_t>(1 + seed % 3) + 1024;
}

ScheduleOptions QuickSearch() {
  ScheduleOptions options;
  options.search.work_budget = 2'000;
  return options;
}

/// Empty if all outputs are what the graph's own ops give, whichever worker runs ahead.
std::string WrongValues(const Graph& original, const Scheduled& scheduled, uint64_t seed) {
  const auto inputs = test::RandomInputs(original, seed);
  const test::Evaluation expected = test::EvaluateGraph(original, inputs);
  if (!expected.error.empty()) return expected.error;
  ScheduleRunner runner(scheduled.graph, scheduled.locations, scheduled.program);
  for (uint64_t turn = 0; turn < 6; ++turn) {
    std::string error;
    const auto outputs = runner.Run(inputs, seed * 6 + turn, error);
    if (!error.empty()) return error;
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (outputs[i] != expected.values.at(original.outputs()[i].tensor)) {
        return fmt::format("output {} differs in turn {}", i, turn);
      }
    }
  }
  return "";
}

constexpr const char* kDiamond = R"(graph g
input %x as "x": f32[1,8,16,16]
const %w1: f32[8,8,1,1] = splat(0.5)
const %w2: f32[8,8,1,1] = splat(0.25)
%a = conv(%x, %w1)
%b = unary(%x) {function=relu}
%c = conv(%b, %w2)
%y = binary(%a, %c)
output %y as "y"
)";

TEST_CASE("a diamond of convolutions runs on three workers, with constants fetched before use") {
  const Graph graph = Parsed(kDiamond);
  const auto scheduled = ScheduleGraph(graph, Npu());
  REQUIRE(scheduled.ok());
  CHECK(scheduled->program.schedule.workers.size() == 3);
  CHECK(scheduled->program.fetches == 3);  // input and two weights
  CHECK(scheduled->program.stores == 1);   // output
  CHECK(scheduled->program.arena.arenas.size() == 2);
  CHECK(scheduled->program.arena.arenas[0].space == "sram");
  CHECK(scheduled->program.arena.arenas[1].space == "ddr");
  CHECK(WrongValues(graph, *scheduled, 1) == "");
}

TEST_CASE("what is predicted is the simulation of exactly the plan's steps") {
  const auto scheduled = ScheduleGraph(Parsed(kDiamond), Npu());
  REQUIRE(scheduled.ok());
  const ScheduledProgram& program = scheduled->program;
  CHECK(program.program.steps.size() == program.arena.steps.size());
  CHECK(program.simulation.makespan == *program.order.chosen);
  CHECK(program.simulation.makespan >= program.order.bound.bound);
}

TEST_CASE("a board with one unit keeps the order and adds up the time") {
  auto board = LoadBoard("x86-64");
  REQUIRE(board.ok());
  const Graph graph = Parsed(kDiamond);
  const auto scheduled = ScheduleGraph(graph, *board);
  REQUIRE(scheduled.ok());
  CHECK(scheduled->program.schedule.workers.empty());
  CHECK(scheduled->program.fetches == 0);
  Picoseconds sum = 0;
  for (const Picoseconds busy : scheduled->program.simulation.busy) sum += busy;
  CHECK(scheduled->program.simulation.makespan == sum);
  CHECK(WrongValues(graph, *scheduled, 1) == "");
}

TEST_CASE("units side by side without slow memory share one arena") {
  Board board = Npu();
  board.links.clear();
  const Graph graph = Parsed(kDiamond);
  const auto scheduled = ScheduleGraph(graph, board);
  REQUIRE(scheduled.ok());
  CHECK(scheduled->program.schedule.workers.size() == 2);
  CHECK(scheduled->program.arena.arenas.size() == 1);
  CHECK(scheduled->program.fetches == 0);
  CHECK(WrongValues(graph, *scheduled, 1) == "");
}

TEST_CASE("an op that fast memory cannot hold is refused by name") {
  const auto scheduled = ScheduleGraph(Parsed(kDiamond), Npu(8192));
  REQUIRE_FALSE(scheduled.ok());
  CHECK(scheduled.error().kind == ErrorKind::kDoesNotFit);
  CHECK(scheduled.error().message.find("16640 bytes") != std::string::npos);
}

TEST_CASE("a copy that is too large for fast memory is made window by window") {
  const Graph graph = Parsed(R"(graph g
input %x as "x": f32[1,16,32,32]
%t = transpose(%x) {permutation=[0,2,3,1]}
%y = copy(%t)
output %y as "y"
)");
  const auto scheduled = ScheduleGraph(graph, Npu(32 << 10));
  REQUIRE(scheduled.ok());
  CHECK(scheduled->program.stores > 8);  // 64 KB in pieces of an eighth of 32 KB
  CHECK(WrongValues(graph, *scheduled, 5) == "");
}

TEST_CASE("scheduled random graphs give the values of their ops, with little fast memory") {
  size_t moved = 0;
  int scheduled_count = 0;
  for (uint64_t seed = 0; seed < 250; ++seed) {
    const Graph graph = SmallGraph(seed);
    const int64_t sram = LittleMemory(graph, seed);
    const auto scheduled = ScheduleGraph(graph, Npu(sram), QuickSearch());
    CAPTURE(seed);
    if (!scheduled.ok()) {
      // Copies that layouts and views put in may need more than the model's own ops.
      CHECK(scheduled.error().kind == ErrorKind::kDoesNotFit);
      continue;
    }
    ++scheduled_count;
    CHECK(WrongValues(graph, *scheduled, seed) == "");
    CHECK(scheduled->program.arena.arenas[0].bytes <= sram);
    CHECK(scheduled->program.simulation.makespan >= scheduled->program.order.bound.bound);
    moved += scheduled->program.stores - graph.outputs().size();
  }
  CHECK(scheduled_count > 230);
  CHECK(moved > 20);
}

TEST_CASE("plans of schedules pass the plan check, and run as the ops would one by one") {
  int ran = 0;
  for (uint64_t seed = 0; seed < 80; ++seed) {
    const Graph graph = SmallGraph(seed);
    const int64_t sram = LittleMemory(graph, seed);
    const auto scheduled = ScheduleGraph(graph, Npu(sram), QuickSearch());
    if (!scheduled.ok()) continue;
    EmitOptions emit;
    emit.memory_space = "sram";
    emit.constants_space = "ddr";
    const auto plan = EmitPlan(scheduled->graph, scheduled->locations, scheduled->program.arena,
                               scheduled->program.schedule, emit);
    CAPTURE(seed);
    REQUIRE(plan.ok());
    const auto inputs = test::RandomInputs(graph, seed);
    const test::Evaluation expected = test::EvaluateGraph(graph, inputs);
    const test::RunResult run = test::RunPlan(*plan, inputs, {true, 1, false});
    CHECK(run.error == "");
    if (!run.error.empty()) continue;
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      CHECK(run.outputs[i] == expected.values.at(graph.outputs()[i].tensor));
    }
    ++ran;
  }
  CHECK(ran > 70);
}

TEST_CASE("the same graph gives the same schedule") {
  const auto first = ScheduleGraph(test::RandomGraph(11), Npu(1 << 15));
  const auto second = ScheduleGraph(test::RandomGraph(11), Npu(1 << 15));
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(PrintGraph(first->graph) == PrintGraph(second->graph));
  CHECK(first->program.arena.steps == second->program.arena.steps);
  CHECK(first->program.simulation.start == second->program.simulation.start);
  for (size_t i = 0; i < first->program.arena.storages.size(); ++i) {
    CHECK(first->program.arena.storages[i].offset == second->program.arena.storages[i].offset);
  }
}

TEST_CASE("real models give the values of their ops when they run on npu-3unit") {
  for (const char* name : {"mnist_cnn/mnist.onnx", "mlperf_resnet8_cifar10/model_fp32.onnx",
                           "mlperf_kws_dscnn/model_fp32.onnx"}) {
    const auto path = test::SharedPath(std::string("models/") + name);
    if (path.empty()) return;
    auto graph = ImportOnnx(path, ImportOptions{}, FoldTensors);
    REQUIRE(graph.ok());
    std::vector<PassReport> passes;
    REQUIRE(Canonicalise(*graph, true, passes).ok());
    ScheduleOptions options;
    options.search.work_budget = 20'000;
    CAPTURE(name);
    // Half of the memory too: then weights come and go.
    for (const int64_t sram : {int64_t{2} << 20, LargestWorkingSet(*graph) + 4096}) {
      const auto scheduled = ScheduleGraph(*graph, Npu(sram), options);
      REQUIRE(scheduled.ok());
      CHECK(WrongValues(*graph, *scheduled, 3) == "");
    }
  }
}

}  // namespace
}  // namespace tenon::converter
