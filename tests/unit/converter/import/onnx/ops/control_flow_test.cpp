// If and Loop: graphs inside nodes.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// A graph with one node, for attributes of If and Loop.
onnx::GraphProto Body(const char* op, const std::vector<const char*>& inputs,
                      const std::vector<const char*>& graph_inputs, const char* output) {
  onnx::GraphProto graph;
  graph.set_name("body");
  for (const char* name : graph_inputs) graph.add_input()->set_name(name);
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const char* name : inputs) node.add_input(name);
  node.add_output(output);
  onnx::ValueInfoProto& value = *graph.add_output();
  value.set_name(output);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  for (auto& input : *graph.mutable_input()) {
    input.mutable_type()->mutable_tensor_type()->set_elem_type(onnx::TensorProto::FLOAT);
  }
  return graph;
}

void SetGraph(ModelBuilder& model, const char* name, const onnx::GraphProto& graph) {
  onnx::AttributeProto& attribute = *model.last().add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = graph;
}

void AddNode(onnx::GraphProto& graph, const char* op, const char* input, const char* output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  node.add_input(input);
  node.add_output(output);
}

/// The body of a Loop that carries one value, `v`, which `op` makes anew of `inputs`.
onnx::GraphProto LoopBody(const char* op, const std::vector<const char*>& inputs) {
  onnx::GraphProto body = Body(op, inputs, {"n", "on", "v"}, "next");
  body.mutable_input(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  body.mutable_input(1)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::BOOL);
  AddNode(body, "Identity", "on", "goes_on");
  onnx::ValueInfoProto next = body.output(0);
  body.mutable_output(0)->set_name("goes_on");
  body.mutable_output(0)->mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::BOOL);
  *body.add_output() = next;
  return body;
}

}  // namespace

TEST_CASE("If: the branch of a known condition stands in the graph's place") {
  ModelBuilder model(13);
  model.Input("x", {2}).ScalarInt("flag", 0);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"});
  SetGraph(model, "then_branch", Body("Neg", {"x"}, {}, "then_y"));
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  model.Output("y");
  CheckClose(Run(model, {{0, 1}}), {1, std::exp(1.0F)});
}

TEST_CASE("If: what stands in its place is called after the first kilobyte of its name") {
  ModelBuilder model(13);
  model.Input("x", {2}).ScalarInt("flag", 1);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"}, std::string(100 << 10, 'n'));
  onnx::GraphProto branch = Body("Neg", {"x"}, {}, "inner");
  AddNode(branch, "Exp", "inner", "then_y");
  branch.mutable_output(0)->set_name("then_y");
  SetGraph(model, "then_branch", branch);
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  model.Output("y");
  const std::string text = model.Text();
  INFO(text.substr(0, 3000));
  CHECK(Contains(text, "inner: f32[2] = unary(%x)"));
  CHECK(text.size() < 10000);
}

TEST_CASE("If: the names that a branch mentions count against the memory of a conversion") {
  ModelBuilder model(13);
  model.Input("x", {2}).ScalarInt("flag", 1);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"}, std::string(1000, 'n'));
  onnx::GraphProto branch = Body("Neg", {"x"}, {}, "h");
  AddNode(branch, "Sum", "h", "then_y");
  for (int i = 0; i < 400000; ++i) branch.mutable_node(1)->add_input("h");
  branch.mutable_output(0)->set_name("then_y");
  SetGraph(model, "then_branch", branch);
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  model.Output("y");
  CHECK(Contains(model.Text(), "is needed to go on"));
}

TEST_CASE("If: a graph in a graph keeps the names that it makes itself") {
  ModelBuilder model(18);  // which libonnx does not check
  model.Input("x", {2}).ScalarInt("flag", 1);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"}, "outer");
  onnx::GraphProto branch = Body("Neg", {"x"}, {}, "h");
  onnx::NodeProto& inner = *branch.add_node();
  inner.set_op_type("If");
  inner.set_name("inner");
  inner.add_input("taken");
  inner.add_output("sum");
  for (const char* name : {"then_branch", "else_branch"}) {
    // Its own h stands before the h around it, which it reads no more.
    onnx::GraphProto body = Body("Exp", {"x"}, {}, "h");
    onnx::AttributeProto& attribute = *inner.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    *attribute.mutable_g() = body;
  }
  AddNode(branch, "Abs", "h", "size");
  onnx::NodeProto& add = *branch.add_node();
  add.set_op_type("Add");
  add.add_input("size");
  add.add_input("sum");
  add.add_output("then_y");
  branch.mutable_output(0)->set_name("then_y");
  SetGraph(model, "then_branch", branch);
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  model.Output("y");
  CheckClose(Run(model, {{0, 1}}), {1, 1 + std::exp(1.0F)});
}

/// y = -x or exp(x), by whether the input `flag` is not zero.
ModelBuilder ComputedIf(const char* in_else = "x") {
  ModelBuilder model(13);
  model.Input("x", {2}).Input("flag", {1}).Floats("other", {3}, {1, 2, 3});
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"});
  SetGraph(model, "then_branch", Body("Neg", {"x"}, {}, "then_y"));
  SetGraph(model, "else_branch", Body("Exp", {in_else}, {}, "else_y"));
  model.Output("y");
  return model;
}

TEST_CASE("If: of a condition that is computed the plan has both branches, and it chooses") {
  CheckClose(Run(ComputedIf(), {{0, 1}, {0}}), {1, std::exp(1.0F)});
  CheckClose(Run(ComputedIf(), {{0, 1}, {2}}), {0, -1});
}

TEST_CASE("If: a warning says that both branches are in the plan, and what input decides") {
  std::vector<std::string> said;
  ImportOptions options;
  options.warnings = &said;
  REQUIRE(ComputedIf().Import(options).ok());
  REQUIRE(said.size() == 1);
  CHECK(said[0].find("(If): both branches are in the plan") != std::string::npos);
  CHECK(said[0].find("--freeze flag=FILE.npy") != std::string::npos);
}

TEST_CASE("Warnings: of a model that would give a thousand the first are listed") {
  ModelBuilder model(13);
  model.Input("x", {2}).Input("flag", {1});
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  for (int i = 0; i < 1000; ++i) {
    const std::string y = "y" + std::to_string(i);
    model.Node("If", {"taken"}, {y});
    SetGraph(model, "then_branch", Body("Neg", {"x"}, {}, ("then_" + y).c_str()));
    SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, ("else_" + y).c_str()));
    model.Output(y);
  }
  std::vector<std::string> said;
  ImportOptions options;
  options.warnings = &said;
  REQUIRE(model.Import(options).ok());
  REQUIRE(said.size() == 17);
  CHECK(said[16] == "there are more, which are not listed");
}

TEST_CASE("If: an index out of range in the branch that is not taken does no harm") {
  ModelBuilder model(13);
  model.Input("x", {2}).Input("flag", {1}).Input("places", {2});
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("Cast", {"places"}, {"indices"}, "i").Set("to", onnx::TensorProto::INT64);
  model.Node("If", {"taken"}, {"y"});
  const onnx::GraphProto gather = Body("Gather", {"x", "indices"}, {}, "gathered");
  const onnx::GraphProto other = Body("Neg", {"x"}, {}, "other");
  bool in_then = true;
  SUBCASE("then") {}
  SUBCASE("else") { in_then = false; }
  SetGraph(model, "then_branch", in_then ? gather : other);
  SetGraph(model, "else_branch", in_then ? other : gather);
  model.Output("y");
  const float gathers = in_then ? 1.0F : 0.0F;
  CheckClose(Run(model, {{3, 4}, {gathers}, {1, 0}}), {4, 3});
  CheckClose(Run(model, {{3, 4}, {1 - gathers}, {100, -7}}), {-3, -4});
}

TEST_CASE("If: branches of other shapes are refused where the condition is computed") {
  const std::string text = ComputedIf("other").Text();
  CHECK(Contains(text, "--freeze flag=FILE.npy"));
  CHECK(Contains(text, "or both branches are in the plan, but its branches give [2] and [3]"));
}

TEST_CASE(
    "If: all unsupported operators are named where a branch has one, behind one another too") {
  ModelBuilder model(18);  // which libonnx does not check
  model.Input("x", {2}).ScalarInt("flag", 1);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"});
  onnx::GraphProto branch = Body("Foo", {"x"}, {}, "foo");
  AddNode(branch, "Bar", "foo", "then_y");
  branch.mutable_output(0)->set_name("then_y");
  SetGraph(model, "then_branch", branch);
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  SUBCASE("in the branch alone") {
    model.Output("y");
    CHECK(model.Text() ==
          "error: the model uses 2 operators that cannot be converted\n"
          "unsupported op Bar (domain ai.onnx): then_y\n"
          "unsupported op Foo (domain ai.onnx): foo");
  }
  SUBCASE("in the graph around it too") {
    model.Node("Baz", {"y"}, {"z"}, "after").Output("z");
    CHECK(model.Text() ==
          "error: the model uses 3 operators that cannot be converted\n"
          "unsupported op Bar (domain ai.onnx): then_y\n"
          "unsupported op Baz (domain ai.onnx): after\n"
          "unsupported op Foo (domain ai.onnx): foo");
  }
}

TEST_CASE("If: an unsupported operator in the branch that is not taken does no harm") {
  ModelBuilder model(18);
  model.Input("x", {2}).ScalarInt("flag", 0);
  model.Node("Cast", {"flag"}, {"taken"}, "c").Set("to", onnx::TensorProto::BOOL);
  model.Node("If", {"taken"}, {"y"});
  SetGraph(model, "then_branch", Body("Foo", {"x"}, {}, "then_y"));
  SetGraph(model, "else_branch", Body("Exp", {"x"}, {}, "else_y"));
  model.Output("y");
  CheckClose(Run(model, {{0, 1}}), {1, std::exp(1.0F)});
}

TEST_CASE("Loop: an initialiser of the body is one constant, however many iterations there are") {
  ModelBuilder model(13);
  model.Input("x", {2}).ScalarInt("trips", 5).Floats("w", {2}, {1, 1});
  model.Node("Loop", {"trips", "", "x"}, {"looped"});
  onnx::GraphProto body = LoopBody("Add", {"v", "w"});
  onnx::TensorProto& inner = *body.add_initializer();
  inner.set_name("w");  // hides the one outside
  inner.set_data_type(onnx::TensorProto::FLOAT);
  inner.add_dims(2);
  inner.add_float_data(10);
  inner.add_float_data(20);
  SetGraph(model, "body", body);
  model.Node("Mul", {"looped", "w"}, {"y"}, "m").Output("y");
  CheckClose(Run(model, {{1, 2}}), {51, 102});
  const auto graph = model.Import();
  REQUIRE(graph.ok());
  int constants = 0;
  for (const TensorId id : graph->Tensors()) constants += graph->tensor(id).IsConstant() ? 1 : 0;
  CHECK(constants == 2);  // the body's and that outside
}

TEST_CASE("Loop: each iteration reads what the one before made, and the graph around it") {
  ModelBuilder model(13);
  model.Input("x", {1}).ScalarInt("trips", 3);
  model.Floats("start", {1}, {1});
  model.Node("Loop", {"trips", "", "start"}, {"y"});
  onnx::GraphProto body = LoopBody("Mul", {"v", "x"});
  SetGraph(model, "body", body);
  model.Output("y");
  CheckClose(Run(model, {{2}}), {8});
}

}  // namespace tenon::converter::test
