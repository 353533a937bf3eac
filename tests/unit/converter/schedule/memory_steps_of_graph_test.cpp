#include "converter/schedule/memory_steps_of_graph.hpp"

#include <doctest/doctest.h>

#include "converter/ir/text.hpp"
#include "converter/layout/assign_locations.hpp"
#include "converter/layout/lower.hpp"

namespace tenon::converter {
namespace {

constexpr const char* kViews = R"(input %x: f32[4,8]
%a = unary(%x) {function=relu}
%v = reshape(%a) {dims=[8,4]}
%b = unary(%v) {function=sigmoid}
%c = unary(%b) {function=tanh}
%d = binary(%c, %v)
output %d
)";

struct Made {
  Graph graph;
  Locations locations;
  StepsOfGraph steps;
};

Made MadeOf(const char* text, bool moves) {
  Made made;
  auto graph = ParseGraph(text);
  REQUIRE(graph.ok());
  made.graph = std::move(*graph);
  std::vector<PassReport> passes;
  LowerOptions options;
  options.kernels.portable_only = true;
  auto lowered = Lower(made.graph, options, passes);
  REQUIRE(lowered.ok());
  made.locations = std::move(lowered->locations);
  StepTimes times;
  times.run = [](const Op&) { return 1; };
  if (moves) times.out = times.in = [](int64_t bytes) { return bytes; };
  made.steps = MakeStepsProblem(made.graph, made.locations, times);
  return made;
}

TEST_CASE("A graph's views share their storage's variables") {
  const Made made = MadeOf(kViews, true);
  REQUIRE(made.steps.ops.size() == 4);
  CHECK(made.steps.problem.ops[1].reads == made.steps.problem.ops[0].writes);
  CHECK(CostOf(made.steps.problem, EveryOpOnce(made.steps.problem)).valid);
  const Index input = made.steps.problem.ops[0].reads[0];
  CHECK(made.steps.problem.storages[input].from_start);
  CHECK_FALSE(made.steps.problem.storages[input].may_move);
  CHECK_FALSE(made.steps.problem.ops[3].may_repeat);  // writes an output
  CHECK(made.steps.problem.ops[0].may_repeat);
}

TEST_CASE("An op that runs again gets a tensor of its own, seen through views of its own") {
  Made made = MadeOf(kViews, false);
  std::vector<MemoryStep> steps = EveryOpOnce(made.steps.problem);
  steps.insert(steps.begin() + 3, {StepKind::kRun, 0});
  const auto ran = RunSteps(made.graph, made.locations, made.steps, steps);
  REQUIRE(ran.ok());
  CHECK(ran->repeated == 1);
  CHECK(Verify(made.graph).ok());
  const TensorId again = made.graph.FindTensor("a.again");
  REQUIRE(again != kNone);
  const Op& last = made.graph.op(made.steps.ops[3]);
  const Op& view = made.graph.op(made.graph.tensor(last.inputs[1]).producer);
  CHECK(view.kind == OpKind::kReshape);
  CHECK(view.inputs[0] == again);
  CHECK(made.graph.IsBefore(made.steps.ops[2], made.graph.tensor(again).producer));
}

TEST_CASE("Invalid steps are refused") {
  Made made = MadeOf(kViews, true);
  std::vector<MemoryStep> steps = EveryOpOnce(made.steps.problem);
  steps.insert(steps.begin() + 1, {StepKind::kMoveIn, made.steps.problem.ops[0].writes[0]});
  CHECK_FALSE(RunSteps(made.graph, made.locations, made.steps, steps).ok());
}

}  // namespace
}  // namespace tenon::converter
