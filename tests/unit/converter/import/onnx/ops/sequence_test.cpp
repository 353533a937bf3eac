// Sequences of tensors, of which nothing is left in the graph.
#include <doctest/doctest.h>

#include "converter/ir/shapes.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

void AddNode(onnx::GraphProto& graph, const char* op, const std::vector<const char*>& inputs,
             const char* output) {
  onnx::NodeProto& node = *graph.add_node();
  node.set_op_type(op);
  for (const char* name : inputs) node.add_input(name);
  node.add_output(output);
}

void AddValue(onnx::ValueInfoProto& value, const char* name, int type) {
  value.set_name(name);
  value.mutable_type()->mutable_tensor_type()->set_elem_type(type);
}

void AddSequence(onnx::ValueInfoProto& value, const char* name) {
  value.set_name(name);
  value.mutable_type()
      ->mutable_sequence_type()
      ->mutable_elem_type()
      ->mutable_tensor_type()
      ->set_elem_type(onnx::TensorProto::FLOAT);
}

/// Of x, -x and |x|: a sequence `s` of [x, -x], then `op` with `inputs`, of which `abs` is |x|.
ModelBuilder Pair(const char* op, const std::vector<std::string>& inputs) {
  ModelBuilder model(17);
  model.Input("x", {2}).ScalarInt("first", 0).ScalarInt("last", -1).ScalarInt("third", 2);
  model.Node("Neg", {"x"}, {"neg"}, "neg").Node("Abs", {"x"}, {"abs"}, "abs");
  model.Node("SequenceConstruct", {"x", "neg"}, {"s"}, "make");
  model.Node(op, inputs, {"t"}, "op");
  return model;
}

/// All tensors of `t`, one behind the other.
Floats Joined(ModelBuilder model) {
  model.Node("ConcatFromSequence", {"t"}, {"y"}, "join").Set("axis", 0);
  model.Output("y");
  return Run(model, {{1, -2}});
}

}  // namespace

TEST_CASE("Sequences: tensors are put in, taken out and counted") {
  CheckClose(Joined(Pair("Identity", {"s"})), {1, -2, -1, 2});
  CheckClose(Joined(Pair("SequenceInsert", {"s", "abs"})), {1, -2, -1, 2, 1, 2});
  CheckClose(Joined(Pair("SequenceInsert", {"s", "abs", "third"})), {1, -2, -1, 2, 1, 2});
  CheckClose(Joined(Pair("SequenceInsert", {"s", "abs", "last"})), {1, -2, 1, 2, -1, 2});
  CheckClose(Joined(Pair("SequenceErase", {"s"})), {1, -2});
  CheckClose(Joined(Pair("SequenceErase", {"s", "first"})), {-1, 2});
  ModelBuilder at = Pair("SequenceAt", {"s", "last"});
  at.Output("t");
  CheckClose(Run(at, {{1, -2}}), {-1, 2});
  ModelBuilder length = Pair("SequenceLength", {"s"});
  length.Output("t", onnx::TensorProto::INT64);
  CHECK(Run<int64_t>(length, {{1, -2}}) == std::vector<int64_t>{2});
}

TEST_CASE("Sequences: tensors are joined along an axis of theirs or a new one") {
  ModelBuilder model = Pair("Identity", {"s"});
  model.Node("ConcatFromSequence", {"t"}, {"y"}, "join").Set("new_axis", 1).Set("axis", -1);
  model.Output("y");
  CheckClose(Run(model, {{1, -2}}), {1, -1, -2, 2});
  const auto graph = model.Import();
  REQUIRE(graph.ok());
  CHECK(DimsOf(graph->tensor(graph->outputs()[0].tensor).shape) == std::vector<int64_t>{2, 2});
}

TEST_CASE("Sequences: a tensor is split into elements, parts of a length or a list of lengths") {
  ModelBuilder model(17);
  model.Input("x", {5, 2}).ScalarInt("two", 2).ScalarInt("place", -1).Ints("parts", {1, 3, 1});
  std::vector<int64_t> dims;
  Floats wanted;
  SUBCASE("elements without the axis") {
    model.Node("SplitToSequence", {"x"}, {"s"}).Set("axis", 0).Set("keepdims", 0);
    dims = {2};
    wanted = {9, 10};
  }
  SUBCASE("elements along the second axis") {
    model.Node("SplitToSequence", {"x"}, {"s"}).Set("axis", 1);
    dims = {5, 1};
    wanted = {2, 4, 6, 8, 10};
  }
  SUBCASE("parts of two, the last of one") {
    model.Node("SplitToSequence", {"x", "two"}, {"s"}).Set("keepdims", 0);
    dims = {1, 2};
    wanted = {9, 10};
  }
  SUBCASE("a list of lengths, the middle one") {
    model.Node("SplitToSequence", {"x", "parts"}, {"whole"})
        .Node("SequenceErase", {"whole"}, {"s"});
    dims = {3, 2};
    wanted = {3, 4, 5, 6, 7, 8};
  }
  model.Node("SequenceAt", {"s", "place"}, {"y"}).Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}}), wanted);
  const auto graph = model.Import();
  REQUIRE(graph.ok());
  CHECK(DimsOf(graph->tensor(graph->outputs()[0].tensor).shape) == dims);
}

TEST_CASE("Sequences: a loop may carry one, as PyTorch writes sums over bags of rows") {
  ModelBuilder model(17);
  model.Input("x", {2}).ScalarInt("trips", 3);
  model.Node("SequenceEmpty", {}, {"empty"}, "empty");
  model.Node("Loop", {"trips", "", "empty", "x"}, {"s", "last"}, "loop");
  onnx::GraphProto body;
  body.set_name("body");
  AddValue(*body.add_input(), "n", onnx::TensorProto::INT64);
  AddValue(*body.add_input(), "on", onnx::TensorProto::BOOL);
  AddSequence(*body.add_input(), "so_far");
  AddValue(*body.add_input(), "v", onnx::TensorProto::FLOAT);
  AddNode(body, "Identity", {"on"}, "goes_on");
  AddNode(body, "SequenceInsert", {"so_far", "v"}, "more");
  AddNode(body, "Add", {"v", "v"}, "twice");
  AddValue(*body.add_output(), "goes_on", onnx::TensorProto::BOOL);
  AddSequence(*body.add_output(), "more");
  AddValue(*body.add_output(), "twice", onnx::TensorProto::FLOAT);
  onnx::AttributeProto& attribute = *model.last().add_attribute();
  attribute.set_name("body");
  attribute.set_type(onnx::AttributeProto::GRAPH);
  *attribute.mutable_g() = body;
  model.Node("ConcatFromSequence", {"s"}, {"y"}, "join").Set("axis", 0).Output("y");
  CheckClose(Run(model, {{1, -2}}), {1, -2, 2, -4, 4, -8});
}

TEST_CASE("Sequences: what no operator may take, and places outside, are refused") {
  ModelBuilder computed = Pair("Neg", {"s"});
  computed.Output("t");
  CHECK(Contains(computed.Text(), "its input 's' is a sequence"));
  ModelBuilder nested = Pair("SequenceInsert", {"s", "s"});
  nested.Node("SequenceLength", {"t"}, {"y"}).Output("y", onnx::TensorProto::INT64);
  CHECK(Contains(nested.Text(), "its input 's' is a sequence"));
  ModelBuilder outside = Pair("SequenceAt", {"s", "third"});
  outside.Output("t");
  CHECK(Contains(outside.Text(), "its position is outside the sequence, which has 2 tensors"));
  ModelBuilder none = Pair("SequenceAt", {"x", "first"});
  none.Output("t");
  CHECK(Contains(none.Text(), "its first input is no sequence"));
  ModelBuilder many(17);
  many.Input("x", {5000}).Node("SplitToSequence", {"x"}, {"s"});
  many.Node("SequenceLength", {"s"}, {"y"}).Output("y", onnx::TensorProto::INT64);
  CHECK(Contains(many.Text(), "more than 4096 parts"));
  ModelBuilder given = Pair("SequenceErase", {"s"});
  given.Output("t");
  CHECK(Contains(given.Text(), "output 't' is not a tensor"));
}

}  // namespace tenon::converter::test
