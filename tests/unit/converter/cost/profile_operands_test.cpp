#include "converter/cost/profile_operands.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "converter/cost/features.hpp"
#include "converter/emit/emit_plan.hpp"
#include "converter/ir/text.hpp"
#include "converter/layout/arena_plan.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/layout/layouts.hpp"
#include "converter/map/kernel_choice.hpp"
#include "tests/support/convert_and_run.hpp"

namespace tenon::converter {
namespace {

/// Signature of the op that makes `%y`.
std::string SignatureOf(std::string_view text, int threads = 1) {
  const Result<Graph> graph = ParseGraph(text);
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  const Op& op = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  return ProfileSignature(ProfileOperands(*graph, op, nullptr), threads);
}

TEST_CASE("A signature has the op, its kernel, operands, attributes and threads") {
  CHECK(SignatureOf(R"(graph g
input %x: f32[1,3,8,8]
const %w: f32[4,3,3,3] = random(7)
%y: f32[1,4,8,8] channels_last = conv(%x, %w) {pads=[1,1,1,1], activation=relu} "c" @cpu/k
output %y
)",
                    2) ==
        "conv k (f32[1,3,8,8], f32[4,3,3,3]) -> f32[1,4,8,8]:last {pads=1,1,1,1 activation=1} "
        "threads=2");
}

TEST_CASE("Names do not matter; shapes, layouts, attributes, kernels and absent operands do") {
  const auto graph = [](const char* x, const char* tail) {
    return fmt::format("graph g\ninput %a: {}\n%y = {}\noutput %y\n", x, tail);
  };
  const std::string base = SignatureOf(graph("f32[1,4,6,6]", "max_pool(%a) {kernel=[2,2]} @cpu/k"));
  CHECK(base == SignatureOf(graph("f32[1,4,6,6]", "max_pool(%a) {kernel=[2,2]} \"other\" @cpu/k")));
  const std::set<std::string> others = {
      base,
      SignatureOf(graph("f32[1,4,6,7]", "max_pool(%a) {kernel=[2,2]} @cpu/k")),
      SignatureOf(graph("f32[1,4,6,6] channels_last", "max_pool(%a) {kernel=[2,2]} @cpu/k")),
      SignatureOf(graph("f32[1,4,6,6]", "max_pool(%a) {kernel=[2,1]} @cpu/k")),
      SignatureOf(graph("f32[1,4,6,6]", "average_pool(%a) {kernel=[2,2]} @cpu/k")),
      SignatureOf(graph("f32[1,4,6,6]", "max_pool(%a) {kernel=[2,2]} @cpu/other"))};
  CHECK(others.size() == 6);
}

TEST_CASE("A power's constant exponent is part of the signature") {
  const auto power = [](const char* exponent) {
    return SignatureOf(
        fmt::format("graph g\ninput %x: f32[8]\nconst %e: f32[] = [{}]\n"
                    "%y = binary(%x, %e) {{function=pow}} @cpu/k\noutput %y\n",
                    exponent));
  };
  CHECK(power("2").find("exponent=2") != std::string::npos);
  CHECK(power("2") != power("0.5"));
}

TEST_CASE("Scales, zero points and bounds of quantized ops are not part of the signature") {
  const auto sum = [](const char* attributes) {
    return SignatureOf(
        fmt::format("graph g\ninput %a: i8[8]\ninput %b: i8[8]\n"
                    "%y = quantized_binary(%a, %b) {{{}}} @cpu/k\noutput %y\n",
                    attributes));
  };
  const std::string base = sum("rounding=fixed_point");
  CHECK(base == "quantized_binary k (i8[8], i8[8]) -> i8[8] {rounding=1} threads=1");
  CHECK(base == sum("rounding=fixed_point, x_zero_point=3, x_multiplier=77, x_shift=-2, "
                    "output_scale=0.5, left_shift=20, zero_point=-7, min=-7, max=100"));
  CHECK(base != sum("rounding=half_even"));
  CHECK(base != sum("rounding=fixed_point, function=mul"));
}

TEST_CASE("Without strides, a signature says nothing of places in memory") {
  CHECK(WithoutStrides("copy k (f32[1,2]:last-gaps, _, i64[]) -> f32[1,2]:strided threads=1") ==
        "copy k (f32[1,2], _, i64[]) -> f32[1,2] threads=1");
}

TEST_CASE("Strides come from locations, and gaps are told apart") {
  const Result<Graph> graph = ParseGraph(R"(graph g
input %x: f32[1,4,6,6]
%y: f32[1,4,6,6] = unary(%x) {function=neg} @cpu/k
output %y
)");
  REQUIRE(graph.ok());
  const Op& op = graph->op(graph->tensor(graph->FindTensor("y")).producer);
  const auto signature = [&](std::vector<int32_t> strides) {
    Locations locations;
    locations.tensors.resize(2);
    locations.tensors[0].strides = {144, 36, 6, 1};
    locations.tensors[1].strides = std::move(strides);
    return ProfileSignature(ProfileOperands(*graph, op, &locations), 1);
  };
  CHECK(signature({144, 36, 6, 1}).find("-> f32[1,4,6,6] {") != std::string::npos);
  CHECK(signature({999, 1, 24, 4}).find("-> f32[1,4,6,6]:last {") != std::string::npos);
  CHECK(signature({999, 1, 48, 8}).find("-> f32[1,4,6,6]:last-gaps {") != std::string::npos);
  CHECK(signature({999, 72, 6, 1}).find("-> f32[1,4,6,6]:gaps {") != std::string::npos);
  CHECK(signature({999, 2, 48, 8}).find("-> f32[1,4,6,6]:strided {") != std::string::npos);
}

TEST_CASE("An op has the same signature and terms in the plan as in the graph it came from") {
  Result<Graph> graph = ParseGraph(R"(graph g
input %x: f32[1,8,12,12]
const %w: f32[16,8,3,3] = random(1)
const %b: f32[16] = random(2)
const %v: f32[8,16,1,1] = random(3)
%c = conv(%x, %w, %b) {pads=[1,1,1,1], activation=relu}
%p = max_pool(%c) {kernel=[2,2], strides=[2,2]}
%d = conv(%p, %v)
%e = concat(%d, %p) {axis=1}
%y = softmax(%e) {axis=1}
output %y
)");
  REQUIRE_MESSAGE(graph.ok(), graph.error().message);
  REQUIRE(ChooseKernels(*graph, {}).ok());
  PassContext context;
  LaidOutWeights weights;
  REQUIRE(AssignLayouts(*graph, weights, context).ok());
  const Result<Locations> locations = AssignLocations(*graph, context.report);
  REQUIRE(locations.ok());
  const ArenaPlan arena = PlanArena(*graph, *locations, {});
  const Result<std::vector<uint8_t>> bytes = EmitPlan(*graph, *locations, arena, {});
  REQUIRE(bytes.ok());
  const test::PlanBytes aligned(*bytes);
  const auto plan = PlanView::Open({static_cast<const uint8_t*>(aligned.data()), aligned.size()});
  REQUIRE(plan.ok());
  const ProgramView program = plan->program(0);
  REQUIRE(program.op_count() == arena.steps.size());
  bool has_gaps = false;
  NetworkBytes bytes_in_plan;
  NetworkBytes bytes_in_graph;
  for (size_t i = 0; i < program.op_count(); ++i) {
    const ProfileOperands in_plan(*plan, program, i);
    const ProfileOperands in_graph(*graph, graph->op(arena.steps[i]), &*locations);
    const std::string signature = ProfileSignature(in_plan, 1);
    CHECK(signature == ProfileSignature(in_graph, 1));
    has_gaps |= signature.find(":last-gaps") != std::string::npos;
    const CostTerms a = KernelTerms(in_plan, MachineFacts(), 1);
    const CostTerms b = KernelTerms(in_graph, MachineFacts(), 1);
    CHECK(a.model == b.model);
    REQUIRE(a.terms.size() == b.terms.size());
    for (size_t k = 0; k < a.terms.size(); ++k) {
      CHECK_MESSAGE(a.terms[k].amount == b.terms[k].amount, a.model, " ", a.terms[k].name);
    }
    bytes_in_plan.Add(in_plan);
    bytes_in_graph.Add(in_graph);
    CHECK(bytes_in_plan.Sum() == bytes_in_graph.Sum());
  }
  CHECK(has_gaps);
}

}  // namespace
}  // namespace tenon::converter
