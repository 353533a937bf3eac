// Functions that a model brings along stand for their nodes.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {
namespace {

/// A model of operator set 13 whose nodes of domain "my" call functions.
class FunctionModel : public ModelBuilder {
 public:
  FunctionModel() : ModelBuilder(13) {
    auto& import = *proto.add_opset_import();
    import.set_domain("my");
    import.set_version(1);
  }

  onnx::FunctionProto& Function(const std::string& name, const std::vector<std::string>& inputs,
                                const std::vector<std::string>& outputs) {
    onnx::FunctionProto& function = *proto.add_functions();
    function.set_domain("my");
    function.set_name(name);
    for (const std::string& input : inputs) function.add_input(input);
    for (const std::string& output : outputs) function.add_output(output);
    function.add_opset_import()->set_version(13);
    return function;
  }

  ModelBuilder& Call(const std::string& function, const std::vector<std::string>& inputs,
                     const std::vector<std::string>& outputs, const std::string& name) {
    Node(function, inputs, outputs, name);
    last().set_domain("my");
    return *this;
  }
};

onnx::NodeProto& AddNode(onnx::FunctionProto& function, const std::string& op_type,
                         const std::vector<std::string>& inputs, const std::string& output) {
  onnx::NodeProto& node = *function.add_node();
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

/// y = LeakyRelu(x), with the slope that the call gives as `slope`.
void AddLeak(FunctionModel& model) {
  auto& node = AddNode(model.Function("Leak", {"x"}, {"y"}), "LeakyRelu", {"x"}, "y");
  auto& attribute = *node.add_attribute();
  attribute.set_name("alpha");
  attribute.set_ref_attr_name("slope");
  attribute.set_type(onnx::AttributeProto::FLOAT);
}

/// What the op's slope is; empty: the text has none.
std::string SlopeIn(const std::string& text) {
  const size_t begin = text.find("a=");
  return begin == std::string::npos ? ""
                                    : text.substr(begin + 2, text.find('}', begin) - begin - 2);
}

}  // namespace

TEST_CASE("Functions: a call becomes the function's nodes, each call with values of its own") {
  FunctionModel model;
  auto& twice = model.Function("SumOfRelus", {"a", "b"}, {"s"});
  AddNode(twice, "Relu", {"a"}, "t");
  AddNode(twice, "Neg", {"b"}, "u");
  AddNode(twice, "Add", {"t", "u"}, "s");
  model.Input("x", {2}).Input("t", {2});
  model.Call("SumOfRelus", {"x", "t"}, {"m"}, "one");
  model.Call("SumOfRelus", {"m", "x"}, {"y"}, "two").Output("y");

  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "input %t: f32[2]\n"
        "%one/t: f32[2] = unary(%x) {function=relu}\n"
        "%one/u: f32[2] = unary(%t) {function=neg}\n"
        "%m: f32[2] = binary(%one/t, %one/u)\n"
        "%two/t: f32[2] = unary(%m) {function=relu}\n"
        "%two/u: f32[2] = unary(%x) {function=neg}\n"
        "%y: f32[2] = binary(%two/t, %two/u)\n"
        "output %y\n");
}

TEST_CASE("Functions: an attribute that refers to the call's takes its value") {
  FunctionModel model;
  AddLeak(model);
  model.Input("x", {2});
  model.Call("Leak", {"x"}, {"y"}, "n").Set("slope", 0.25f).Output("y");

  CHECK(SlopeIn(model.Text()) == "0.25");
}

TEST_CASE("Functions: an attribute that the call leaves out has the function's default") {
  FunctionModel model;
  AddLeak(model);
  onnx::AttributeProto slope;
  slope.set_name("slope");
  slope.set_type(onnx::AttributeProto::FLOAT);
  slope.set_f(0.75f);
  // Field 11, attribute_proto, of ONNX 1.13.
  auto& function = *model.proto.mutable_functions(0);
  function.GetReflection()->MutableUnknownFields(&function)->AddLengthDelimited(
      11, slope.SerializeAsString());
  model.Input("x", {2});
  model.Call("Leak", {"x"}, {"y"}, "n").Output("y");

  CHECK(SlopeIn(model.Text()) == "0.75");
}

TEST_CASE("Functions: an attribute without any value has the operator's default") {
  FunctionModel model;
  AddLeak(model);
  model.Input("x", {2});
  model.Call("Leak", {"x"}, {"y"}, "n").Output("y");

  CHECK(SlopeIn(model.Text()) == "0.01");
}

TEST_CASE("Functions: functions call functions, and an output may be an input") {
  FunctionModel model;
  AddLeak(model);
  auto& outer = model.Function("Outer", {"x"}, {"y", "x"});
  auto& call = AddNode(outer, "Leak", {"x"}, "y");
  call.set_domain("my");
  call.set_name("inner");
  model.Input("x", {2});
  model.Call("Outer", {"x"}, {"y", "z"}, "n").Output("y").Output("z");

  const std::string text = model.Text();

  INFO(text);
  CHECK(text.find("%y: f32[2] = unary(%x) {function=leaky_relu") != std::string::npos);
  CHECK(text.find("%z: f32[2] = copy(%x)") != std::string::npos);
}

TEST_CASE("Functions: a graph inside a function reads the call's value, not its own of that name") {
  FunctionModel model;
  auto& function = model.Function("Choose", {"c", "v"}, {"r"});
  onnx::NodeProto& branch = AddNode(function, "If", {"c"}, "r");
  for (const char* name : {"then_branch", "else_branch"}) {
    auto& attribute = *branch.add_attribute();
    attribute.set_name(name);
    attribute.set_type(onnx::AttributeProto::GRAPH);
    auto& graph = *attribute.mutable_g();
    graph.set_name(name);
    // "x" is this graph's own; "v" is the call's input, whose name outside is "x" as well.
    auto& negated = *graph.add_node();
    negated.set_op_type("Neg");
    negated.add_input("v");
    negated.add_output("x");
    auto& sum = *graph.add_node();
    sum.set_op_type("Add");
    sum.add_input("v");
    sum.add_input("x");
    sum.add_output("o");
    graph.add_output()->set_name("o");
  }
  model.Input("x", {2});
  auto& constant = *model.graph().add_initializer();
  constant.set_name("c");
  constant.set_data_type(onnx::TensorProto::BOOL);
  constant.add_int32_data(1);
  model.Call("Choose", {"c", "x"}, {"y"}, "n").Output("y");

  const std::string text = model.Text();

  INFO(text);
  CHECK(text.find("= unary(%x) {function=neg}") != std::string::npos);
  CHECK(text.find("= binary(%x, ") != std::string::npos);
}

TEST_CASE("Functions: one that calls itself is refused") {
  FunctionModel model;
  AddNode(model.Function("Again", {"x"}, {"y"}), "Again", {"x"}, "y").set_domain("my");
  model.Input("x", {2});
  model.Call("Again", {"x"}, {"y"}, "n").Output("y");

  CHECK(model.Text() == "error: function 'Again' calls itself, or through others");
}

TEST_CASE("Functions: calls that double thirty times are refused before they take memory") {
  FunctionModel model;
  for (int i = 0; i < 30; ++i) {
    auto& function = model.Function("F" + std::to_string(i), {"x"}, {"y"});
    const std::string next = i == 29 ? "Relu" : "F" + std::to_string(i + 1);
    for (const auto& [from, to] : {std::pair("x", "h"), std::pair("h", "y")}) {
      onnx::NodeProto& node = AddNode(function, next, {from}, to);
      if (i < 29) node.set_domain("my");
    }
  }
  model.Input("x", {2});
  model.Call("F0", {"x"}, {"y"}, "n").Output("y");

  CHECK(model.Text().find("error: the calls of functions stand for more than 200000 nodes") == 0);
}

TEST_CASE("Functions: names and attributes of a call count wherever they are copied to") {
  FunctionModel names;
  auto& many = names.Function("Many", {"x"}, {"y"});
  for (int i = 0; i < 2000; ++i) {
    const std::string from = i == 0 ? "x" : "h" + std::to_string(i);
    AddNode(many, "Relu", {from}, i == 1999 ? "y" : "h" + std::to_string(i + 1)).set_name("n");
  }
  names.Input("x", {2});
  names.Call("Many", {"x"}, {"y"}, std::string(100 << 10, 'n')).Output("y");
  CHECK(names.Text().find("error: the calls of functions stand for more than") == 0);

  FunctionModel values;
  auto& constants = values.Function("Constants", {"x"}, {"y"});
  for (int i = 0; i < 400; ++i) {
    auto& node = AddNode(constants, "Constant", {}, "c" + std::to_string(i));
    auto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_ref_attr_name("v");
    attribute.set_type(onnx::AttributeProto::TENSOR);
  }
  AddNode(constants, "Relu", {"x"}, "y");
  onnx::TensorProto tensor;
  tensor.set_data_type(onnx::TensorProto::UINT8);
  tensor.add_dims(1 << 20);
  tensor.set_raw_data(std::string(1 << 20, '\1'));
  values.Input("x", {2});
  values.Call("Constants", {"x"}, {"y"}, "n").Set("v", tensor).Output("y");
  CHECK(values.Text().find("error: the calls of functions stand for more than") == 0);
}

TEST_CASE("Functions: another operator set than the model's is refused with the way out") {
  FunctionModel model;
  AddLeak(model);
  model.proto.mutable_functions(0)->mutable_opset_import(0)->set_version(12);
  model.Input("x", {2});
  model.Call("Leak", {"x"}, {"y"}, "n").Output("y");

  CHECK(
      model.Text() ==
      "error: function 'Leak' uses version 12 of the ONNX operator set, the model version 13: let "
      "onnx.inliner.inline_local_functions(model, convert_version=True) inline it");
}

TEST_CASE("Functions: a call with too many inputs, and two functions of one name are refused") {
  FunctionModel model;
  AddLeak(model);
  model.Input("x", {2});
  model.Call("Leak", {"x", "x"}, {"y"}, "n").Output("y");
  CHECK(model.Text() ==
        "error: function 'Leak' is called with 2 inputs and 1 outputs: it has 1 and 1");

  AddLeak(model);
  CHECK(model.Text() == "error: two functions are called 'Leak' (domain my)");
}

}  // namespace tenon::converter::test
