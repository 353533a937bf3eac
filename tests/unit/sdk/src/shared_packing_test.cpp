// Ops of one plan that pack the same constants hold them once.
#include <ctime>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_kind.hpp"
#include "tests/support/evaluate_graph.hpp"
#include "tests/unit/runtime/format/plan_fixture.hpp"
#include "tests/unit/sdk/src/loaded_plan_testing.hpp"
#include "tests/unit/sdk/src/sdk_testing.hpp"
#include "tests/unit/sdk/src/split_graphs.hpp"

namespace tenon::test {
namespace {

/// In the order of the text: a search over so many independent parts is another matter.
std::vector<uint8_t> PlanInOrder(const std::string& text) {
  auto graph = converter::ParseGraph(text);
  REQUIRE(graph.ok());
  converter::ConvertOptions options = OptionsFor();
  options.compile.order.mode = converter::OrderMode::kSource;
  auto conversion = converter::ConvertGraph(std::move(*graph), options);
  if (!conversion.ok()) FAIL(conversion.error().message);
  return std::move(conversion->plan);
}

size_t PackedBytes(const std::string& text) {
  const LoadedForTest plan(PlanInOrder(text), 1, tenon_backend_cpu());
  return tenon_plan_packed_bytes(plan.get());
}

void CheckRunsRight(const std::string& text) {
  const auto graph = converter::ParseGraph(text);
  REQUIRE(graph.ok());
  const auto inputs = RandomInputs(*graph, 3);
  const Evaluation expected = EvaluateGraph(*graph, inputs);
  REQUIRE_MESSAGE(expected.error.empty(), expected.error);
  const RunResult result = RunPlan(PlanInOrder(text), inputs);
  REQUIRE_MESSAGE(result.error.empty(), result.error);
  CHECK(RelativeDifference(result.outputs[0], expected.values.at(graph->outputs()[0].tensor)) <
        1e-5);
}

TEST_CASE("Packed weights: 100 patches of a convolution hold what one of them holds") {
  PatchedConv shape;
  shape.patches = 1;
  shape.rows = 2;
  const size_t one = PackedBytes(PatchedConvText(shape));
  shape.patches = 100;
  const std::string text = PatchedConvText(shape);
  CHECK(one > 16 * 16 * 9 * sizeof(float));
  CHECK(PackedBytes(text) == one);
  CheckRunsRight(text);
}

TEST_CASE("Packed weights: patches of a first layer share them too") {
  PatchedConv shape;
  shape.channels = 3;
  shape.outputs = 20;  // the last ones fill no vector, so that they are packed
  shape.patches = 1;
  const size_t one = PackedBytes(PatchedConvText(shape));
  shape.patches = 20;
  const std::string text = PatchedConvText(shape);
  CHECK(one > 4 * 3 * 9 * sizeof(float));
  CHECK(PackedBytes(text) == one);
  CheckRunsRight(text);
}

TEST_CASE("Packed weights: ops with the same weights but other biases share nothing") {
  constexpr const char* kText = R"(graph biases
input %x as "x": f32[1,16,4,4]
const %w: f32[16,16,1,1] = random(1)
const %b: f32[16] = random(2)
const %c: f32[16] = random(3)
%p = conv(%x, %w, %b) {}
%q = conv(%x, %w, %c) {}
%r = conv(%x, %w) {}
%y = concat(%p, %q, %r) {axis=1}
output %y as "y"
)";
  constexpr const char* kOne = R"(graph one
input %x as "x": f32[1,16,4,4]
const %w: f32[16,16,1,1] = random(1)
const %b: f32[16] = random(2)
%y = conv(%x, %w, %b) {}
output %y as "y"
)";
  CHECK(PackedBytes(kText) == 3 * PackedBytes(kOne));
  CheckRunsRight(kText);
}

TEST_CASE("Packed weights: the same weights read in another number of groups are packed anew") {
  constexpr const char* kText = R"(graph groups
input %x as "x": f32[1,32,4,4]
input %z as "z": f32[1,16,4,4]
const %w: f32[32,16,1,1] = random(1)
%p = conv(%x, %w) {group=2}
%q = conv(%z, %w) {}
%y = concat(%p, %q) {axis=1}
output %y as "y"
)";
  CheckRunsRight(kText);
}

TEST_CASE("Packed weights: a plan of 5,000 parts loads in a moment") {
  PatchedConv shape;
  shape.patches = 5000;
  shape.rows = 1;
  const std::vector<uint8_t> bytes = PlanInOrder(PatchedConvText(shape));
  const std::clock_t start = std::clock();  // the processor's time, not the clock's
  const LoadedForTest plan(bytes, 1, tenon_backend_cpu());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  MESSAGE("5,000 parts: " << seconds << " s");
  CHECK(tenon_plan_op_count(plan.get()) >= 5000);
  CHECK(seconds < 2.0);  // sanitizers included
}

/// `ops` convolutions of one pixel with the same 64 KB of weights, and biases of their own if so
/// wanted: then they share nothing of what they pack.
PlanSpec Convolutions(size_t ops, bool own_biases) {
  constexpr int32_t kChannels = 128;
  constexpr uint64_t kBytes = kChannels * sizeof(float);
  PlanSpec spec;
  spec.kernels = {"cpu.conv.vector"};
  const ConvAttributes attributes;
  std::vector<int32_t> words(sizeof attributes / sizeof(int32_t));
  std::memcpy(words.data(), &attributes, sizeof attributes);
  spec.arenas[0].bytes = (ops + 1) * kBytes;
  const uint32_t x = spec.AddTensor(spec.AddStorage(0, kBytes), {1, kChannels, 1, 1});
  spec.sections.push_back({std::vector<uint8_t>(kChannels * kBytes, 0), 64});
  spec.storages.push_back({0, kChannels * kBytes, true, 0});
  const uint32_t weights = spec.AddTensor(1, {kChannels, kChannels, 1, 1});
  spec.AddInput(x);
  for (size_t i = 0; i < ops; ++i) {
    const uint32_t bias = spec.AddTensor(1, {kChannels}, own_biases ? i * sizeof(float) : 0);
    const uint32_t y =
        spec.AddTensor(spec.AddStorage((i + 1) * kBytes, kBytes), {1, kChannels, 1, 1});
    spec.AddOp({x, weights, bias}, {y});
    spec.ops.back().kind = static_cast<uint16_t>(OpKind::kConv);
    spec.ops.back().attributes = words;
    spec.AddOutput(y);
  }
  return spec;
}

TEST_CASE(
    "Packed weights: ops that pack the same again and again take a bounded multiple of the file") {
  tenon_error error;
  CHECK_MESSAGE(LoadStatus(Convolutions(20, true).Write(), error, tenon_backend_cpu()) == TENON_OK,
                error.message);
  CHECK(LoadStatus(Convolutions(400, true).Write(), error, tenon_backend_cpu()) ==
        TENON_CORRUPT_PLAN);
  CAPTURE(error.message);
  CHECK(std::string(error.message).find("packs more than the file holds") != std::string::npos);
  // What they share counts once.
  CHECK_MESSAGE(
      LoadStatus(Convolutions(400, false).Write(), error, tenon_backend_cpu()) == TENON_OK,
      error.message);
}

}  // namespace
}  // namespace tenon::test
