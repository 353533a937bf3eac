// Schedules of boards whose units run side by side, as plan files that are checked and run here.
#include "converter/emit/emit_plan.hpp"
#include "converter/fold/fold_tensors.hpp"
#include "converter/import/onnx/onnx_import.hpp"
#include "converter/layout/lower.hpp"
#include "converter/schedule/make_schedule.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/shared_folder.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"
#include "tests/unit/sdk/src/split_graphs.hpp"

namespace tenon::test {
namespace {

using converter::Board;
using converter::Graph;
using converter::Parsed;

/// The plan for `npu-3unit` with that much fast memory.
std::vector<uint8_t> ScheduledPlan(Graph graph, int64_t sram_bytes) {
  auto board = converter::LoadBoard("npu-3unit");
  REQUIRE(board.ok());
  board->FindSpace("sram")->bytes = sram_bytes;
  converter::LowerOptions lower;
  lower.kernels.portable_only = true;
  std::vector<converter::PassReport> passes;
  auto lowered = Lower(graph, lower, passes);
  REQUIRE(lowered.ok());
  converter::Locations& locations = lowered->locations;
  converter::ScheduleOptions options;
  options.search_order = false;
  auto program = MakeSchedule(graph, locations, *board, converter::AnalyticCostModel(), options);
  if (!program.ok()) FAIL(program.error().message);
  converter::EmitOptions emit;
  emit.board = board->name;
  emit.memory_space = "sram";
  emit.constants_space = "ddr";
  for (const int32_t unit : program->schedule.unit_of_worker) {
    emit.worker_names.push_back(board->units[static_cast<size_t>(unit)].name);
  }
  auto plan = EmitPlan(graph, locations, program->arena, program->schedule, emit);
  if (!plan.ok()) FAIL(plan.error().message);
  return std::move(*plan);
}

/// Loading checks the plan; the values are those of the graph op by op.
void CheckScheduled(Graph graph, int64_t sram_bytes) {
  std::vector<converter::PassReport> passes;
  REQUIRE(Canonicalise(graph, /*fuse=*/true, passes).ok());
  const auto inputs = RandomInputs(graph, 5);
  const Evaluation expected = EvaluateGraph(graph, inputs);
  REQUIRE_MESSAGE(expected.error.empty(), expected.error);
  std::vector<std::vector<std::byte>> values;
  for (const auto& port : graph.outputs()) values.push_back(expected.values.at(port.tensor));
  const std::vector<uint8_t> plan = ScheduledPlan(std::move(graph), sram_bytes);
  const LoadedForTest loaded(plan);
  CHECK(tenon_plan_arena_count(loaded.get()) == 2);
  tenon_arena_info arena;
  REQUIRE(tenon_plan_arena(loaded.get(), 0, &arena) == TENON_OK);
  CHECK(arena.bytes <= static_cast<size_t>(sram_bytes));
  const RunResult result = RunPlan(plan, inputs, {/*portable=*/true, 1, /*bound=*/true});
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  for (size_t i = 0; i < values.size(); ++i) {
    CHECK(RelativeDifference(result.outputs[i], values[i]) < 1e-5);
  }
}

TEST_CASE("Scheduled plan: transfers, three workers and two memories give the graph's values") {
  CheckScheduled(Parsed(kSmallModel), 2 << 20);
}

TEST_CASE("Scheduled plan: patches run in fast memory that holds a few of them") {
  PatchedConv shape;
  shape.patches = 12;
  shape.rows = 4;
  CheckScheduled(Parsed(PatchedConvText(shape)), 64 << 10);
}

TEST_CASE("Scheduled plan: real models, from file to values") {
  for (const char* name : {"mnist_cnn/mnist.onnx", "mlperf_resnet8_cifar10/model_fp32.onnx",
                           "mlperf_kws_dscnn/model_fp32.onnx"}) {
    CAPTURE(name);
    const auto model = SharedPath(std::string("models/") + name);
    if (model.empty()) return;
    converter::ImportOptions import;
    import.batch = 1;
    auto graph = ImportOnnx(model, import, converter::FoldTensors);
    if (!graph.ok()) FAIL(graph.error().message);
    CheckScheduled(std::move(*graph), 2 << 20);
  }
}

}  // namespace
}  // namespace tenon::test
