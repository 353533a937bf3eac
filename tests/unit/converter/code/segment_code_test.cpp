// Code of segments in converted plans.
#include "converter/code/segment_code.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "converter/code/segment_source.hpp"
#include "converter/driver/memory_needs.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/report/summary.hpp"
#include "runtime/format/plan_check.hpp"
#include "tests/support/convert_and_run.hpp"
#include "tests/support/plan_bytes.hpp"

using namespace tenon;             // NOLINT
using namespace tenon::converter;  // NOLINT

namespace {

/// Two convolutions for the accelerator, with a softmax behind them that it has not.
constexpr const char* kModel = R"(graph g
input %x: i8[1,32,6,6]
const %w: i8[32,32,1,1] = random(1)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {to=i8}
%b = quantized_conv(%a, %w, _, %m) {to=i8}
%y = quantized_softmax(%b) {axis=1, scale=0.1, output_scale=0.00390625, to=i8}
output %y
)";

Graph Model() {
  auto graph = ParseGraph(kModel);
  if (!graph.ok()) FAIL(graph.error().message);
  return std::move(*graph);
}

Compiled CompiledModel(const ConvertOptions& options) {
  CompileOptions compile = options.compile;
  compile.kernels.board = &options.board;
  compile.kernels.portable_only = true;
  auto compiled = Compile(Model(), compile);
  if (!compiled.ok()) FAIL(compiled.error().message);
  return std::move(*compiled);
}

/// As a generator would give it: windows on what crosses the segment's edge.
DeviceCode CodeFor(const ProgramToEmit& program, const std::vector<OpId>& ops) {
  const TracedSource traced = SourceOf(*program.graph, *program.locations, ops);
  DeviceCode code;
  code.ops = ops;
  code.instructions.assign(128, 7);
  code.constants.assign(100, 9);
  code.accelerator = "tenon-cnn";
  code.version = 3;
  code.parameters = {32, 32, 2};
  code.relocations.push_back({0, kNone, false});
  for (size_t i = 0; i < traced.roots.size(); ++i) {
    const fpga::SourceBlock& block = traced.source.blocks[i];
    if (!block.is_read && !block.is_written) continue;
    code.relocations.push_back({static_cast<int32_t>(i) + 1, traced.roots[i], block.is_written});
  }
  return code;
}

}  // namespace

TEST_CASE("SourceOf: blocks that others read or write are those at the segment's edge") {
  const ConvertOptions options = test::OptionsFor("kv260");
  const Compiled compiled = CompiledModel(options);
  const ProgramToEmit program = SequentialProgram(compiled, options.board);
  for (const std::vector<OpId>& ops : SegmentsOf(program)) {
    if (compiled.graph.op(ops.front()).backend != "fpga") continue;
    REQUIRE(ops.size() == 2);
    const TracedSource traced = SourceOf(compiled.graph, compiled.locations, ops);
    REQUIRE(traced.source.blocks.size() == 3);
    const auto count = [&](bool fpga::SourceBlock::*flag) {
      return std::count_if(traced.source.blocks.begin(), traced.source.blocks.end(),
                           [flag](const fpga::SourceBlock& block) { return block.*flag; });
    };
    CHECK(count(&fpga::SourceBlock::is_read) == 1);
    CHECK(count(&fpga::SourceBlock::is_written) == 1);
    return;
  }
  FAIL("no segment on the accelerator");
}

TEST_CASE("EmitPlan: code has a section of its own, and its windows pass the plan check") {
  const ConvertOptions options = test::OptionsFor("kv260");
  const Compiled compiled = CompiledModel(options);
  ProgramToEmit program = SequentialProgram(compiled, options.board);
  for (const std::vector<OpId>& ops : SegmentsOf(program)) {
    if (compiled.graph.op(ops.front()).backend != "fpga") continue;
    program.code.push_back(CodeFor(program, ops));
  }
  REQUIRE(program.code.size() == 1);
  EmitOptions emit;
  emit.board = "kv260";
  emit.memory_space = "ddr";
  emit.section_alignment = emit.arena_alignment = 4096;
  const auto plan = EmitPlan({program}, emit);
  REQUIRE(plan.ok());
  const test::PlanBytes bytes(*plan);
  const auto view = PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()});
  REQUIRE(view.ok());
  REQUIRE(view->section_count() == 2);
  CHECK(std::string(view->section(1).name) == "code");
  CHECK(view->section(1).alignment == 4096);
  CHECK(view->program(0).arena(0).alignment == 4096);
  for (size_t s = 0; s < view->program(0).segment_count(); ++s) {
    if (view->program(0).segment_code_count(s) == 0) continue;
    const SegmentCodeInfo code = view->program(0).segment_code(s);
    CHECK(code.bytes == 128);
    CHECK(view->section_data(code.section)[code.offset] == 7);
    CHECK(code.version == 3);
    CHECK(code.relocation_count == 3);
    const RelocationInfo constants = view->program(0).segment_relocation(s, 0);
    CHECK(constants.home == StorageHome::kSection);
    CHECK(view->section_data(constants.index)[constants.offset] == 9);
  }
  std::vector<std::max_align_t> scratch(PlanCheckScratchBytes(*view) / sizeof(std::max_align_t) +
                                        1);
  CHECK(CheckPlan(*view, {reinterpret_cast<uint8_t*>(scratch.data()),
                          scratch.size() * sizeof(std::max_align_t)})
            .ok());
}

/// Inputs that are there, of ops in segments with code.
size_t InputsOfCode(const PlanView& plan) {
  size_t inputs = 0;
  const ProgramView program = plan.program(0);
  for (size_t s = 0; s < program.segment_count(); ++s) {
    if (program.segment_code_count(s) == 0) continue;
    for (const uint32_t op : program.segment(s).ops) {
      for (const int32_t input : program.op(op).inputs) inputs += input >= 0 ? 1 : 0;
    }
  }
  return inputs;
}

TEST_CASE("Convert: constants that are packed for code are in the plan once, without a fall-back") {
  ConvertOptions options = test::OptionsFor("kv260");
  const auto once = ConvertGraph(Model(), options);
  options.compile.fallback = true;
  const auto twice = ConvertGraph(Model(), options);
  REQUIRE(once.ok());
  REQUIRE(twice.ok());
  const test::PlanBytes lean(once->plan);
  const test::PlanBytes full(twice->plan);
  const auto lean_view = PlanView::Open({static_cast<const uint8_t*>(lean.data()), lean.size()});
  const auto full_view = PlanView::Open({static_cast<const uint8_t*>(full.data()), full.size()});
  REQUIRE(lean_view.ok());
  REQUIRE(full_view.ok());
  CHECK(InputsOfCode(*lean_view) == 2);  // %x and %a
  CHECK(InputsOfCode(*full_view) == 6);  // and %w and %m of both
  constexpr int64_t kWeights = 32 * 32;
  CHECK(once->memory.constants_bytes + kWeights <= twice->memory.constants_bytes);
}

TEST_CASE("Convert: the summary says what runs on the accelerator, and what does not and why") {
  const auto conversion = ConvertGraph(Model(), test::OptionsFor("kv260"));
  REQUIRE(conversion.ok());
  REQUIRE(conversion->codes.size() == 1);
  CHECK(conversion->codes[0].ops == 2);
  CHECK(conversion->codes[0].cycles > 0);
  const std::string summary = Summary(*conversion, false);
  CHECK(summary.find("accelerator: sequential: 2 ops in one start") != std::string::npos);
  CHECK(summary.find("on fpga: 2 quantized_conv\n") != std::string::npos);
  const size_t on_cpu = summary.find("\non cpu: ");
  REQUIRE(on_cpu != std::string::npos);
  const std::string line = summary.substr(on_cpu, summary.find('\n', on_cpu + 1) - on_cpu);
  CHECK(line.find("1 quantized_softmax") != std::string::npos);
  CHECK(line.find("conv") == std::string::npos);
  CHECK(summary.find("not on fpga: 1 quantized_softmax: 'y': ") != std::string::npos);
}

TEST_CASE("Convert: every op that the accelerator does not run has a reason, added ones too") {
  auto graph = ParseGraph(R"(graph g
input %x: f32[1,32,4,4]
const %scale: f32[1] = [0.01]
const %zero: i8[1] = [0]
const %w: i8[32,32,1,1] = random(1)
const %m: f32[1] = [0.001]
%q = quantize(%x, %scale, %zero)
%a = quantized_conv(%q, %w, _, %m) {to=i8}
%r = reshape(%a) {dims=[1,512]}
%y = quantized_softmax(%r) {axis=1, scale=0.1, output_scale=0.00390625, to=i8}
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  const auto conversion = ConvertGraph(std::move(*graph), test::OptionsFor("kv260"));
  REQUIRE(conversion.ok());
  size_t elsewhere = 0;
  for (const auto& [backend, count] : conversion->ops_by_backend) {
    if (backend != "fpga") elsewhere += count;
  }
  const auto& beside = conversion->not_accelerated;
  CHECK(beside.size() == elsewhere);
  CHECK(elsewhere >= 3);  // with the copy from channels last to the order of the reshape
  for (const OpBesideAccelerator& op : beside) {
    CAPTURE(op.op);
    CHECK(op.backend == "cpu");
    CHECK(op.reason.size() > 10);
    if (op.kind == "quantize") CHECK(op.reason.find("it works on f32") != std::string::npos);
    if (op.kind == "copy") CHECK(op.reason.find("no kernel for copy") != std::string::npos);
  }
  CHECK(std::any_of(beside.begin(), beside.end(),
                    [](const OpBesideAccelerator& op) { return op.kind == "copy"; }));
}

// A slice that begins inside a group of channels is seen only when the segment is lowered.
TEST_CASE("Convert: what the accelerator turns down beside its neighbours is mapped elsewhere") {
  auto graph = ParseGraph(R"(graph g
input %x: i8[1,32,6,6]
const %w: i8[64,32,1,1] = random(1)
const %v: i8[32,40,1,1] = random(2)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {to=i8}
%b = slice(%a) {begins=[0,7,0,0], sizes=[1,40,6,6], steps=[1,1,1,1]}
%y = quantized_conv(%b, %v, _, %m) {to=i8}
output %y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  const auto conversion = ConvertGraph(std::move(*graph), test::OptionsFor("kv260"));
  REQUIRE(conversion.ok());
  const auto& refused = conversion->not_accelerated;
  CHECK(std::any_of(refused.begin(), refused.end(), [](const OpBesideAccelerator& op) {
    return op.op == "y" && op.reason.find("multiple of 32") != std::string::npos;
  }));
  CHECK(conversion->ops_by_backend.at("fpga") == 1);
}

namespace {

/// A plan as it is read, with its bytes.
struct ReadPlan {
  explicit ReadPlan(const std::vector<uint8_t>& plan)
      : bytes(plan),
        view(*PlanView::Open({static_cast<const uint8_t*>(bytes.data()), bytes.size()})) {}

  [[nodiscard]] TensorInfo Tensor(const std::string& name) const {
    for (size_t i = 0; i < view.program(0).tensor_count(); ++i) {
      const TensorInfo tensor = view.program(0).tensor(i);
      if (name == tensor.name) return tensor;
    }
    FAIL("no tensor " << name);
    return {};
  }
  [[nodiscard]] StorageHome HomeOf(const std::string& name) const {
    return view.program(0).storage(Tensor(name).storage).home;
  }

  test::PlanBytes bytes;
  PlanView view;
};

Conversion Converted(const std::string& text, const ConvertOptions& options) {
  auto graph = ParseGraph("graph g\n" + text);
  if (!graph.ok()) FAIL(graph.error().message);
  auto conversion = ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(*conversion);
}

}  // namespace

TEST_CASE("Convert: what stays on the chip takes no bytes of an arena, without a fall-back") {
  ConvertOptions options = test::OptionsFor("kv260");
  const auto lean = ConvertGraph(Model(), options);
  options.compile.fallback = true;
  const auto full = ConvertGraph(Model(), options);
  REQUIRE(lean.ok());
  REQUIRE(full.ok());
  const ReadPlan inside(lean->plan);
  CHECK(inside.HomeOf("a") == StorageHome::kDevice);
  CHECK(inside.HomeOf("b") == StorageHome::kArena);  // the softmax reads it
  CHECK(ReadPlan(full->plan).HomeOf("a") == StorageHome::kArena);
  constexpr int64_t kMap = 32 * 6 * 6;
  CHECK(lean->memory.arena_bytes <= 3 * kMap);
  CHECK(lean->memory.lower_bound <= lean->memory.arena_bytes);
  CHECK(static_cast<int64_t>(inside.view.program(0).arena(0).bytes) == lean->memory.arena_bytes);
}

TEST_CASE("Convert: a model that the accelerator runs alone has only its ports in memory") {
  const Conversion conversion = Converted(R"(input %x: i8[1,32,6,6]
const %w: i8[32,32,1,1] = random(1)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {to=i8}
%b = quantized_conv(%a, %w, _, %m) {to=i8}
%c = quantized_conv(%b, %w, _, %m) {to=i8}
%y = quantized_average_pool(%c) {kernel=[6,6], to=i8}
output %y
)",
                                          test::OptionsFor("kv260"));
  const ReadPlan plan(conversion.plan);
  for (const char* name : {"a", "b", "c"}) CHECK(plan.HomeOf(name) == StorageHome::kDevice);
  CHECK(conversion.memory.arena_bytes <= 2 * 32 * 6 * 6 + 2 * 64);  // %x in two orders
}

TEST_CASE("Convert: a segment exchanges any number of maps that lie in one arena") {
  std::string text = R"(input %x: i8[1,32,6,6]
const %m: f32[1] = [0.001]
)";
  for (int i = 0; i < 12; ++i) {
    const std::string n = std::to_string(i);
    text += "const %w" + n + ": i8[32,32,1,1] = random(" + n + ")\n";
    text += "%y" + n + " = quantized_conv(%x, %w" + n + ", _, %m) {to=i8}\noutput %y" + n + "\n";
  }
  const Conversion conversion = Converted(text, test::OptionsFor("kv260"));
  CHECK(conversion.ops_by_backend.at("fpga") == 12);
  const ReadPlan plan(conversion.plan);
  for (size_t s = 0; s < plan.view.program(0).segment_count(); ++s) {
    if (plan.view.program(0).segment_code_count(s) == 0) continue;
    const size_t count = plan.view.program(0).segment_code(s).relocation_count;
    CHECK(count == 14);
    uint8_t most = 0;
    for (size_t i = 0; i < count; ++i) {
      most = std::max(most, plan.view.program(0).segment_relocation(s, i).base_register);
    }
    CHECK(most <= 2);
  }
}

TEST_CASE("Convert: maps too large for the chip have scratch memory, and nothing goes to the CPU") {
  const Conversion conversion = Converted(R"(input %x: i8[1,64,160,160]
const %w: i8[64,64,3,3] = random(1)
const %m: f32[1] = [0.001]
%a = quantized_conv(%x, %w, _, %m) {pads=[1,1,1,1], to=i8}
%b = quantized_conv(%a, %w, _, %m) {pads=[1,1,1,1], to=i8}
%c = quantized_conv(%b, %w, _, %m) {pads=[1,1,1,1], to=i8}
%d = quantized_binary(%c, %a) {function=add, to=i8}
%e = max_pool(%d) {kernel=[2,2], strides=[2,2]}
%y = quantized_conv(%e, %w, _, %m) {pads=[1,1,1,1], to=i8}
output %y
)",
                                          test::OptionsFor("kv260"));
  for (const OpBesideAccelerator& op : conversion.not_accelerated) {
    CAPTURE(op.op);
    CAPTURE(op.reason);
    CHECK(op.kind == "copy");
  }
  constexpr int64_t kMap = 64 * 160 * 160;
  const ReadPlan plan(conversion.plan);
  REQUIRE(plan.view.program(0).arena_count() == 2);
  CHECK(static_cast<int64_t>(plan.view.program(0).arena(1).bytes) >= kMap);
  CHECK(static_cast<int64_t>(plan.view.program(0).arena(1).bytes) <= 2 * kMap);
}
