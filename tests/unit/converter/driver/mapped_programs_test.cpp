// Whole conversions to the CPU and a device from outside the tree, run by the engine: an
// asynchronous device with memory of its own, so that what is not listed as crossing is not there.
#include <doctest/doctest.h>

#include <random>

#include "converter/report/decisions.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/support/parsed_graph.hpp"
#include "tests/support/random_graph.hpp"
#include "tests/support/scripted_backend.hpp"
#include "tests/support/twin_backend.hpp"

namespace tenon::test {
namespace {

using converter::Graph;
using converter::Parsed;

/// The twin board, its device being `device`.
converter::ConvertOptions OptionsOn(const ScriptedBackend& device) {
  converter::ConvertOptions options;
  options.board = TwinBoard();
  options.board.units[0].portable_kernels_only = true;
  options.board.units[1].name = options.board.units[1].backend = "scripted";
  options.board.priorities = {{"scripted", "*", 1}, {"cpu", "*", 2}};
  options.compile.kernels.backends = {cpu::CpuCaps(), device.caps()};
  options.fuse = false;
  options.compile.arena.place.work_budget = 2'000;
  options.compile.order.budget = 2'000;
  return options;
}

/// Kinds of ops, each with a backend or both, at random.
void GiveRandomPriorities(uint64_t seed, converter::Board& board) {
  std::mt19937_64 random(seed);
  board.priorities = {{"cpu", "*", 2}};
  for (const char* kind : {"conv", "matmul", "max_pool", "average_pool", "unary", "binary",
                           "select", "reduce", "softmax", "concat", "slice", "pad", "reshape",
                           "transpose", "expand", "resize", "gather", "cast", "copy"}) {
    if (random() % 2 == 0) board.priorities.push_back({"scripted", kind, 1});
  }
}

RunSettings SettingsWith(const ScriptedBackend& device, bool bound) {
  RunSettings settings;
  settings.portable = true;
  settings.bound = bound;
  settings.others = {device.handle()};
  return settings;
}

std::string Difference(const Graph& graph, const Evaluation& expected, const RunResult& run) {
  if (!run.error.empty()) return run.error;
  for (size_t i = 0; i < graph.outputs().size(); ++i) {
    if (run.outputs[i] != expected.values.at(graph.outputs()[i].tensor)) {
      return fmt::format("output {} differs", i);
    }
  }
  return "";
}

Graph SmallGraph(uint64_t seed) {
  RandomGraphOptions random;
  random.most_ops = 6 + static_cast<int>(seed % 20);
  return RandomGraph(seed, random);
}

TEST_CASE("Mapped programs: random tables on random graphs give the CPU's bits") {
  size_t on_device = 0;
  for (uint64_t seed = 0; seed < 120; ++seed) {
    ScriptedBackend device;
    const Graph graph = SmallGraph(seed);
    converter::ConvertOptions options = OptionsOn(device);
    GiveRandomPriorities(seed, options.board);
    options.compile.fallback = seed % 2 == 1;
    options.compile.aggregate = seed % 5 != 4;
    options.compile.order.mode =
        seed % 7 == 6 ? converter::OrderMode::kSource : converter::OrderMode::kSearch;
    CAPTURE(seed);
    const auto conversion = converter::ConvertGraph(graph, options);
    if (!conversion.ok()) FAIL(conversion.error().message);
    const auto inputs = RandomInputs(graph, seed);
    const Evaluation expected = EvaluateGraph(graph, inputs);
    REQUIRE(expected.error == "");
    const RunResult run = RunPlan(conversion->plan, inputs, SettingsWith(device, seed % 3 == 0));
    CHECK(Difference(graph, expected, run) == "");
    CHECK(device.protocol_errors() == 0);
    const converter::SegmentReport& report = conversion->segments;
    if (report.segments > 0) {
      CHECK(device.count(DeviceCall::kStart) == report.device_starts);
      CHECK(device.count(DeviceCall::kRun) == report.device_ops);
    }
    if (device.count(DeviceCall::kStart) > 0) ++on_device;
  }
  CHECK(on_device > 60);
}

TEST_CASE("Mapped programs: with fall-back a device that fails at any place costs no result") {
  size_t failed = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ScriptedBackend device;
    const Graph graph = SmallGraph(seed);
    converter::ConvertOptions options = OptionsOn(device);
    GiveRandomPriorities(seed, options.board);
    options.compile.fallback = true;
    const auto conversion = converter::ConvertGraph(graph, options);
    REQUIRE(conversion.ok());
    const auto inputs = RandomInputs(graph, seed);
    const Evaluation expected = EvaluateGraph(graph, inputs);
    for (const DeviceCall call : {DeviceCall::kStart, DeviceCall::kUpload, DeviceCall::kKernel,
                                  DeviceCall::kSignal, DeviceCall::kSubmit}) {
      for (const size_t after : {size_t{0}, size_t{2}}) {
        device.ResetCounts();
        device.Fail(call, after);
        const RunResult run = RunPlan(conversion->plan, inputs, SettingsWith(device, false));
        CAPTURE(seed);
        CAPTURE(static_cast<int>(call));
        CHECK(Difference(graph, expected, run) == "");
        CHECK(device.protocol_errors() == 0);
        if (device.count(call) > after) ++failed;
        device.Behave();
      }
    }
  }
  CHECK(failed > 100);
}

TEST_CASE("Mapped programs: the optimal mapping gives ops to the second unit of a backend too") {
  int with_little = 0;
  for (uint64_t seed = 0; seed < 30; ++seed) {
    ScriptedBackend device;
    const Graph graph = SmallGraph(seed);
    converter::ConvertOptions options = OptionsOn(device);
    converter::Unit little = options.board.units[0];
    little.name = "little";
    options.board.units.insert(options.board.units.begin() + 1, little);
    GiveRandomPriorities(seed, options.board);
    options.compile.mapping = converter::MappingMode::kOptimal;
    const auto conversion = converter::ConvertGraph(graph, options);
    CAPTURE(seed);
    if (!conversion.ok()) FAIL(conversion.error().message);
    const converter::MappingReport& report = conversion->mapping_report;
    const converter::Picoseconds kept = conversion->time.after;
    CHECK(report.exact == (kept <= report.bound + static_cast<int64_t>(conversion->ops_executed)));
    for (const converter::UnitTime& unit : conversion->time.units) {
      if (unit.unit == "little" && unit.after > 0) ++with_little;
    }
    const auto inputs = RandomInputs(graph, seed);
    const Evaluation expected = EvaluateGraph(graph, inputs);
    REQUIRE(expected.error == "");
    CHECK(Difference(graph, expected,
                     RunPlan(conversion->plan, inputs, SettingsWith(device, false))) == "");
  }
  CHECK(with_little > 5);
}

TEST_CASE(
    "Mapped programs: the optimal mapping is never predicted to take longer than the table's") {
  int better = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    ScriptedBackend device;
    const Graph graph = SmallGraph(seed);
    converter::ConvertOptions options = OptionsOn(device);
    GiveRandomPriorities(seed, options.board);
    const auto table = converter::ConvertGraph(graph, options);
    options.compile.mapping = converter::MappingMode::kOptimal;
    const auto optimal = converter::ConvertGraph(graph, options);
    CAPTURE(seed);
    REQUIRE(table.ok());
    REQUIRE(optimal.ok());
    CHECK(optimal->time.after <= table->time.after);
    CHECK(optimal->mapping_report.table == table->time.after);
    if (optimal->mapping_report.chose_optimal) {
      CHECK(optimal->time.after == optimal->mapping_report.optimal);
      ++better;
    }
    const auto inputs = RandomInputs(graph, seed);
    const RunResult run = RunPlan(optimal->plan, inputs, SettingsWith(device, false));
    CHECK(Difference(graph, EvaluateGraph(graph, inputs), run) == "");
  }
  CHECK(better > 10);
}

constexpr const char* kFork = R"(graph g
input %x as "x": f32[1,8,16,16]
const %w: f32[8,8,3,3] = random(1)
%a = conv(%x, %w) {pads=[1,1,1,1]} "stem"
%b = unary(%a) {function=relu} "left"
%c = unary(%a) {function=tanh} "right"
%y = binary(%b, %c) "join"
output %y as "y"
)";

TEST_CASE("Mapped programs: pins decide, and the report says which backend each op has and why") {
  const ScriptedBackend device;
  converter::ConvertOptions options = OptionsOn(device);
  options.compile.kernels.pins = {{"right", "cpu"}};
  const auto conversion = converter::ConvertGraph(Parsed(kFork), options);
  REQUIRE(conversion.ok());
  const auto json = converter::DecisionsJson(*conversion);
  REQUIRE(json["mapping"].size() == 4);
  CHECK(json["mapping"][0]["op"] == "stem");
  CHECK(json["mapping"][0]["backend"] == "scripted");
  const auto& right = json["mapping"][2];
  CHECK(right["backend"] == "cpu");
  CHECK(right["candidates"][0]["backend"] == "cpu");
  CHECK(right["candidates"][0]["priority"] == 2);
  CHECK(right["candidates"][0]["reason"] == "");
  CHECK(right["candidates"][0]["ms"].is_number());
  CHECK(right["candidates"][1]["backend"] == "scripted");
  CHECK(right["candidates"][1]["reason"] == "pinned by 'right=cpu'");
  CHECK(json["segments"]["device_starts"] == 2);  // stem and left; join
  CHECK(json["segments"]["count"] == 3);
  CHECK(json["segments"]["ms"] < json["segments"]["one_start_per_op_ms"]);
}

TEST_CASE("Mapped programs: everything on the CPU of a board with a device is one plain program") {
  const ScriptedBackend device;
  converter::ConvertOptions options = OptionsOn(device);
  options.compile.kernels.pins = {{"*", "cpu"}};
  const auto conversion = converter::ConvertGraph(Parsed(kFork), options);
  REQUIRE(conversion.ok());
  CHECK(conversion->segments.segments == 0);
  CHECK(conversion->time.units.size() == 1);
  const auto inputs = RandomInputs(Parsed(kFork), 1);
  CHECK(RunPlan(conversion->plan, inputs, {true, 1, false}).error == "");
}

TEST_CASE("Mapped programs: the same conversion gives the same bytes") {
  const ScriptedBackend device;
  converter::ConvertOptions options = OptionsOn(device);
  GiveRandomPriorities(5, options.board);
  options.compile.fallback = true;
  const auto first = converter::ConvertGraph(SmallGraph(5), options);
  const auto second = converter::ConvertGraph(SmallGraph(5), options);
  REQUIRE(first.ok());
  REQUIRE(second.ok());
  CHECK(first->plan == second->plan);
}

}  // namespace
}  // namespace tenon::test
