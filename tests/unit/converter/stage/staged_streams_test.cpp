// Pipelines and programs between ops, as the converter makes them, run by the engine's streams: CPU
// stages and an asynchronous device with memory of its own.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <random>

#include "converter/driver/pipeline.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/stage/build_pipeline.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/scripted_backend.hpp"
#include "tests/support/twin_backend.hpp"
#include "tests/unit/converter/stage/random_cut.hpp"
#include "tests/unit/converter/stage/slow_memory.hpp"
#include "tests/unit/sdk/src/stream_testing.hpp"

namespace tenon::test {
namespace {

using converter::ConvertOptions;
using converter::Graph;
using converter::PipelineOptions;
using converter::PipelineProgram;

/// The twin board with slow units, its device being `device`.
converter::Board BoardWith(const ScriptedBackend& device) {
  converter::Board board = TwinBoard();
  board.units[0].portable_kernels_only = true;
  board.units[0].threads = 3;
  board.units[1].name = board.units[1].backend = device.backend().name;
  board.priorities = {{board.units[1].backend, "*", 1}, {"cpu", "*", 2}};
  for (converter::Unit& unit : board.units) {
    unit.multiply_accumulates_per_second = {{"f32", 1e6}};
    unit.elementary_ops_per_second = 1e6;
  }
  return board;
}

/// A program of a plan file, loaded with the portable CPU and a device.
class LoadedProgram {
 public:
  LoadedProgram(const std::vector<uint8_t>& plan, const char* program,
                const ScriptedBackend& device) {
    const char* folder = std::getenv("TENON_BINARY_DIR");
    path_ = std::filesystem::path(folder != nullptr ? folder : ".") / "staged_streams_test.tenon";
    std::ofstream(path_, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.data()),
               static_cast<std::streamsize>(plan.size()));
    const tenon_backend* backends[] = {tenon_backend_cpu_portable(), device.handle()};
    const tenon_backends list{backends, 2};
    tenon_error error{};
    const tenon_status status =
        tenon_plan_open_program(path_.c_str(), program, &list, 1, &plan_, &error);
    REQUIRE_MESSAGE(status == TENON_OK, error.message);
  }
  LoadedProgram(const LoadedProgram&) = delete;
  LoadedProgram& operator=(const LoadedProgram&) = delete;
  ~LoadedProgram() {
    tenon_plan_close(plan_);
    std::filesystem::remove(path_);
  }
  [[nodiscard]] const tenon_plan* get() const { return plan_; }

 private:
  std::filesystem::path path_;
  tenon_plan* plan_ = nullptr;
};

std::vector<uint8_t> PlanOf(const PipelineProgram& program) {
  auto plan = converter::EmitPlan({program.ToEmit()}, converter::EmitOptions());
  if (!plan.ok()) FAIL(plan.error().message);
  return std::move(*plan);
}

/// Streams `count` inputs through; what is wrong in words.
std::string RunStream(const LoadedProgram& program, tenon_stream_mode mode, const Graph& graph,
                      size_t count, tenon_stream_stats* stats = nullptr) {
  const StreamForTest stream(program.get(), OptionsOf(mode));
  std::vector<Job> jobs;
  for (size_t i = 0; i < count; ++i) {
    jobs.push_back(JobFor(program.get(), RandomInputs(graph, 100 + i)));
  }
  for (Job& job : jobs) {
    tenon_error error{};
    if (Submit(stream, job, kMinute, &error) != TENON_OK) return error.message;
  }
  for (size_t i = 0; i < count; ++i) {
    if (const std::string error = Await(stream, jobs[i].ticket); !error.empty()) return error;
    const Evaluation expected = EvaluateGraph(graph, jobs[i].inputs);
    for (size_t k = 0; k < graph.outputs().size(); ++k) {
      if (jobs[i].outputs[k] != expected.values.at(graph.outputs()[k].tensor)) {
        return fmt::format("input {}: output {} differs", i, k);
      }
    }
  }
  if (stats != nullptr) *stats = stream.Stats();
  return "";
}

/// Canonical, but not fused: fusing rounds differently from the ops one by one.
Graph SmallGraph(uint64_t seed) {
  RandomGraphOptions random;
  random.most_ops = 6 + static_cast<int>(seed % 20);
  Graph graph = RandomGraph(seed, random);
  std::vector<converter::PassReport> reports;
  REQUIRE(converter::Canonicalise(graph, false, reports).ok());
  return graph;
}

PipelineOptions PipelineOptionsFor(const converter::Board& board, const ScriptedBackend& device) {
  PipelineOptions options;
  options.kernels.board = &board;
  options.kernels.backends = {cpu::CpuCaps(), device.caps()};
  options.kernels.portable_only = true;
  return options;
}

TEST_CASE("Streams: random graphs in random stages give the CPU's bits, on a device that dawdles") {
  size_t on_device = 0;
  size_t stages = 0;
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    CAPTURE(seed);
    const Graph graph = SmallGraph(seed);
    if (graph.OpOrder().empty()) continue;
    ScriptedBackend device;
    if (seed % 4 == 0) device.Delay(0, 300, static_cast<uint32_t>(seed));
    const converter::Board board = BoardWith(device);
    PipelineOptions options = PipelineOptionsFor(board, device);
    options.parallel.channel_depth = static_cast<int32_t>(seed % 4);
    options.fallback = seed % 3 == 0;
    const converter::RandomCut cut = converter::MakeRandomCut(graph, seed);
    const auto program = BuildPipelineFromCut(graph, options, cut.stage_of_op, cut.unit_of_stage);
    if (!program.ok()) FAIL(program.error().message);
    const LoadedProgram loaded(PlanOf(*program), "pipeline", device);
    tenon_stream_stats stats{};
    CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 6, &stats) == "");
    CHECK(device.protocol_errors() == 0);
    CHECK(stats.stages == cut.unit_of_stage.size());
    CHECK(stats.arena_bytes == static_cast<size_t>(program->report.memory_bytes));
    on_device += device.count(DeviceCall::kStart) > 0 ? 1 : 0;
    stages += stats.stages;
  }
  CHECK(on_device > 30);
  CHECK(stages > 160);
}

TEST_CASE("Streams: with fall-back a stage whose device fails costs no result") {
  size_t failed = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const Graph graph = SmallGraph(seed);
    if (graph.OpOrder().empty()) continue;
    for (const DeviceCall call : {DeviceCall::kStart, DeviceCall::kUpload, DeviceCall::kKernel,
                                  DeviceCall::kSignal, DeviceCall::kSubmit}) {
      ScriptedBackend device;
      const converter::Board board = BoardWith(device);
      PipelineOptions options = PipelineOptionsFor(board, device);
      options.fallback = true;
      const converter::RandomCut cut = converter::MakeRandomCut(graph, seed);
      const auto program = BuildPipelineFromCut(graph, options, cut.stage_of_op, cut.unit_of_stage);
      if (!program.ok()) FAIL(program.error().message);
      const LoadedProgram loaded(PlanOf(*program), "pipeline", device);
      device.Fail(call, seed % 3, 2);
      CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 5) == "");
      failed += device.count(call) > seed % 3 ? 1 : 0;
    }
  }
  CHECK(failed > 30);
}

TEST_CASE("Streams: conversions for throughput run as the pipelines that they chose") {
  size_t pipelines = 0;
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    CAPTURE(seed);
    const Graph graph = SmallGraph(seed);
    ScriptedBackend device;
    ConvertOptions options;
    options.board = BoardWith(device);
    options.compile.kernels.backends = {cpu::CpuCaps(), device.caps()};
    options.fuse = false;
    options.compile.arena.place.work_budget = options.compile.order.budget = 2'000;
    options.parallel.threads = 2;
    options.compile.objective = converter::Objective::kThroughput;
    const auto conversion = converter::ConvertGraph(graph, options);
    if (!conversion.ok()) FAIL(conversion.error().message);
    if (!conversion->parallel.pipeline) continue;
    const LoadedProgram loaded(conversion->plan, "pipeline", device);
    CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 6) == "");
    ++pipelines;
  }
  CHECK(pipelines > 20);
}

TEST_CASE("Streams: programs between ops give the sequential program's bits") {
  size_t several = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = SmallGraph(seed);
    ScriptedBackend device;
    ConvertOptions options;
    options.board = BoardWith(device);
    if (seed % 2 == 0) options.board.priorities = {{"cpu", "*", 1}};
    options.compile.kernels.backends = {cpu::CpuCaps(), device.caps()};
    options.fuse = false;
    options.compile.arena.place.work_budget = options.compile.order.budget = 2'000;
    options.parallel.threads = 3;
    options.parallel.mode = converter::ParallelMode::kInter;
    const auto conversion = converter::ConvertGraph(graph, options);
    if (!conversion.ok() && conversion.error().kind == converter::ErrorKind::kUsage) continue;
    if (!conversion.ok()) FAIL(conversion.error().message);
    const LoadedProgram loaded(conversion->plan, "inter", device);
    CHECK(RunStream(loaded, TENON_STREAM_INTER, graph, 4) == "");
    ++several;
  }
  CHECK(several > 15);
}

/// Two halves, each with tensors inside that are much larger than its ends.
constexpr const char* kLargeInside = R"(input %x: f32[1,2,24,24]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[16,16,3,3] = random(2)
const %w3: f32[2,16,3,3] = random(3)
const %w4: f32[16,2,3,3] = random(4)
const %w5: f32[16,16,3,3] = random(5)
const %w6: f32[2,16,3,3] = random(6)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%c = conv(%b, %w3) {pads=[1,1,1,1]}
%d = conv(%c, %w4) {pads=[1,1,1,1]}
%e = conv(%d, %w5) {pads=[1,1,1,1]}
%y = conv(%e, %w6) {pads=[1,1,1,1]}
output %y
)";

Graph LargeInside() {
  auto graph = converter::ParseGraph(kLargeInside);
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

ConvertOptions OptionsOn(const ScriptedBackend& device, converter::ParallelMode mode) {
  ConvertOptions options;
  options.board = BoardWith(device);
  options.compile.kernels.backends = {cpu::CpuCaps(), device.caps()};
  options.fuse = false;
  options.compile.arena.place.work_budget = options.compile.order.budget = 2'000;
  options.parallel.threads = 2;
  options.parallel.mode = mode;
  return options;
}

converter::Conversion Converted(const Graph& graph, const ConvertOptions& options) {
  auto conversion = converter::ConvertGraph(graph, options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

TEST_CASE("Streams: ops split for the memory of their unit are ops of a pipeline") {
  const Graph graph = LargeInside();
  ScriptedBackend device;
  ConvertOptions options = OptionsOn(device, converter::ParallelMode::kPipeline);
  converter::MemorySpace card = *options.board.ArenaSpace();
  card.name = "card";
  card.bytes = 40'000;
  options.board.memory_spaces.push_back(card);
  options.board.units[1].runs_from = "card";
  options.board.links = {{"", "ram", "card", 1e9, 1000}, {"", "card", "ram", 1e9, 1000}};
  const auto conversion = Converted(graph, options);
  CHECK(!conversion.op_splits.splits.empty());
  size_t ops = 0;
  for (const auto& stage : conversion.parallel.pipeline->stages) ops += stage.ops;
  CHECK(ops >= conversion.ops_executed);  // all parts, and copies for other stages
  const LoadedProgram loaded(conversion.plan, "pipeline", device);
  CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 6) == "");
}

TEST_CASE("Streams: cores whose constants lie in slow memory make a pipeline") {
  const Graph graph = LargeInside();
  ScriptedBackend device;
  ConvertOptions options = OptionsOn(device, converter::ParallelMode::kPipeline);
  options.board.priorities = {{"cpu", "*", 1}};
  StageConstants(options.board);
  const auto conversion = Converted(graph, options);
  CHECK(conversion.parallel.pipeline->stages.size() == 2);
  const LoadedProgram loaded(conversion.plan, "pipeline", device);
  CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 6) == "");
}

TEST_CASE("Streams: random graphs whose constants a copy engine fetches give the CPU's bits") {
  size_t helped = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    CAPTURE(seed);
    const Graph graph = SmallGraph(seed);
    if (graph.OpOrder().empty()) continue;
    ScriptedBackend device;
    converter::Board board = BoardWith(device);
    board.priorities = {{"cpu", "*", 1}};
    StageConstants(board);
    for (converter::Link& link : board.links) link.bandwidth_bytes_per_second = 1e6;
    PipelineOptions options = PipelineOptionsFor(board, device);
    options.parallel.channel_depth = static_cast<int32_t>(seed % 4);
    converter::RandomCut cut = converter::MakeRandomCut(graph, seed);
    for (int32_t& unit : cut.unit_of_stage) unit = 0;
    const auto program = BuildPipelineFromCut(graph, options, cut.stage_of_op, cut.unit_of_stage);
    if (!program.ok()) FAIL(program.error().message);
    const LoadedProgram loaded(PlanOf(*program), "pipeline", device);
    tenon_stream_stats stats{};
    CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 12, &stats) == "");
    CHECK(stats.threads == program->schedule.workers.size());
    helped += stats.threads > stats.stages ? 1 : 0;
    CHECK(RunStream(loaded, TENON_STREAM_SEQUENTIAL, graph, 2) == "");
  }
  CHECK(helped > 10);
}

TEST_CASE("Streams: a copy engine has a thread of its own beside that of its stage") {
  const Graph graph = LargeInside();
  ScriptedBackend device;
  ConvertOptions options = OptionsOn(device, converter::ParallelMode::kPipeline);
  options.board.priorities = {{"cpu", "*", 1}};
  StageConstants(options.board);
  for (converter::Link& link : options.board.links) link.bandwidth_bytes_per_second = 1e5;
  const auto conversion = Converted(graph, options);
  const converter::PipelineReport& report = *conversion.parallel.pipeline;
  CHECK(report.period < report.period_without_engine);
  size_t helped = 0;
  for (const auto& stage : report.stages) helped += stage.copy_engine.empty() ? 0 : 1;
  REQUIRE(helped > 0);
  const LoadedProgram loaded(conversion.plan, "pipeline", device);
  tenon_stream_stats stats{};
  CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 40, &stats) == "");
  CHECK(stats.stages == report.stages.size());
  CHECK(stats.threads == report.stages.size() + helped);
  CHECK(RunStream(loaded, TENON_STREAM_SEQUENTIAL, graph, 6, &stats) == "");
  CHECK(stats.threads == 1);
}

TEST_CASE("Streams: stages that need more than the sequential program are cut more finely") {
  const Graph graph = LargeInside();
  ScriptedBackend device;
  ConvertOptions options = OptionsOn(device, converter::ParallelMode::kPipeline);
  options.board.priorities = {{"cpu", "*", 1}};
  const auto whole = Converted(graph, options);
  // Between what the sequential program and the stages need.
  const int64_t limit = whole.parallel.pipeline->memory_bytes * 5 / 8;
  REQUIRE(limit > whole.memory.arena_bytes);
  options.board.FindSpace("ram")->bytes = limit;
  const auto conversion = Converted(graph, options);
  CHECK(conversion.chain_splits.chains.empty());
  CHECK(conversion.parallel.pipeline->memory_bytes <= limit);
  const LoadedProgram loaded(conversion.plan, "pipeline", device);
  CHECK(RunStream(loaded, TENON_STREAM_PIPELINE, graph, 6) == "");
}

TEST_CASE("Streams: patches of chains run between ops") {
  // Two branches, each with tensors inside that are much larger than its ends.
  auto graph = converter::ParseGraph(R"(input %x: f32[1,2,24,24]
const %w1: f32[16,2,3,3] = random(1)
const %w2: f32[2,16,3,3] = random(2)
const %w3: f32[16,2,3,3] = random(3)
const %w4: f32[2,16,3,3] = random(4)
%a = conv(%x, %w1) {pads=[1,1,1,1]}
%b = conv(%a, %w2) {pads=[1,1,1,1]}
%c = conv(%x, %w3) {pads=[1,1,1,1]}
%d = conv(%c, %w4) {pads=[1,1,1,1]}
%y = binary(%b, %d)
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  ScriptedBackend device;
  ConvertOptions options = OptionsOn(device, converter::ParallelMode::kInter);
  options.board.priorities = {{"cpu", "*", 1}};
  options.board.FindSpace("ram")->bytes = 40'000;
  const auto conversion = Converted(*graph, options);
  CHECK(conversion.chain_splits.chains.size() == 2);
  const LoadedProgram loaded(conversion.plan, "inter", device);
  CHECK(RunStream(loaded, TENON_STREAM_INTER, *graph, 6) == "");
}

}  // namespace
}  // namespace tenon::test
