#include "converter/passes/passes.hpp"
#include "tests/unit/converter/passes/pass_testing.hpp"

namespace tenon::converter {
namespace {

const Pass kEliminateDeadCode = {"eliminate-dead-code", EliminateDeadCode};

TEST_CASE("EliminateDeadCode: a chain that nobody reads goes, with its constants") {
  const PassResult result = RunOn(kEliminateDeadCode,
                                  "input %x: f32[2]\n"
                                  "const %k: f32[2] = [1, 2]\n"
                                  "const %unused: f32[1] = [3]\n"
                                  "%y = unary(%x) {function=relu}\n"
                                  "%dead1 = binary(%y, %k)\n"
                                  "%dead2 = unary(%dead1) {function=tanh}\n"
                                  "output %y\n");
  CHECK(result.text ==
        "input %x: f32[2]\n"
        "%y: f32[2] = unary(%x) {function=relu}\n"
        "output %y\n");
  CHECK(result.report.changed == 4);
}

TEST_CASE("EliminateDeadCode: what an output or a live op reads stays") {
  const std::string text =
      "input %x: f32[2]\n"
      "const %k: f32[2] = [1, 2]\n"
      "const %out: f32[1] = [3]\n"
      "%a: f32[2] = binary(%x, %k)\n"
      "%b: f32[2] = unary(%a) {function=relu}\n"
      "output %b\n"
      "output %out\n";
  const PassResult result = RunOn(kEliminateDeadCode, text);
  CHECK(result.text == text);
  CHECK(result.report.changed == 0);
}

TEST_CASE("EliminateDeadCode: a graph input that nobody reads stays, and the report says so") {
  CheckDeclined(kEliminateDeadCode,
                "input %x: f32[2]\n"
                "input %z: f32[2]\n"
                "%y = unary(%x) {function=relu}\n"
                "output %y\n",
                "z", "nobody reads this graph input, but users feed it by name");
}

TEST_CASE("EliminateDeadCode: 20,000 dead ops go without walking the graph for each") {
  Graph graph;
  TensorId x = graph.AddTensor("x", DType::kF32, Shape({1}));
  graph.AddInput(x, "x");
  graph.AddOutput(x, "x");
  const Attributes relu(UnaryAttributes{UnaryFunction::kRelu, 0, 0});
  for (int i = 0; i < 20000; ++i) {
    auto next = graph.AddOpTensor(OpKind::kUnary, "relu", {x}, relu);
    REQUIRE(next.ok());
    x = *next;
  }
  PassContext context;
  std::vector<PassReport> reports;
  REQUIRE(RunPass(kEliminateDeadCode, graph, context, reports).ok());
  CHECK(reports[0].changed == 20000);
  CHECK(graph.OpOrder().empty());
}

}  // namespace
}  // namespace tenon::converter
