// Ops of one plan that pack the same constants hold them once.
#include <chrono>

#include "tests/support/evaluate_graph.hpp"
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
  const auto start = std::chrono::steady_clock::now();
  const LoadedForTest plan(bytes, 1, tenon_backend_cpu());
  const double seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  MESSAGE("5,000 parts: " << seconds << " s");
  CHECK(tenon_plan_op_count(plan.get()) >= 5000);
  CHECK(seconds < 2.0);  // sanitizers and a busy machine included
}

}  // namespace
}  // namespace tenon::test
