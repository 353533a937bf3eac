// TFLite variables, which become state.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

/// A model with variables: x is the input, y the output, both f32[2].
struct Model : TfliteBuilder {
  int32_t x = Input("x", TensorType::FLOAT32, {2});
  int32_t y = Output("y", TensorType::FLOAT32, {2});

  int32_t Handle(const std::string& name) {
    const int32_t resource = Value("handle/" + name, TensorType::RESOURCE, {});
    const auto options = format::CreateVarHandleOptionsDirect(flat, "", name.c_str());
    Node(BuiltinOperator::VAR_HANDLE, {}, {resource}, BuiltinOptions::VarHandleOptions,
         options.Union());
    return resource;
  }
  int32_t Read(int32_t resource, const std::string& name) {
    const int32_t value = Value(name, TensorType::FLOAT32, {2});
    Node(BuiltinOperator::READ_VARIABLE, {resource}, {value});
    return value;
  }
  void Assign(int32_t resource, int32_t value) {
    Node(BuiltinOperator::ASSIGN_VARIABLE, {resource, value}, {});
  }
  void Add(int32_t a, int32_t b, int32_t sum) {
    Node(BuiltinOperator::ADD, {a, b}, {sum}, BuiltinOptions::AddOptions,
         format::CreateAddOptions(flat).Union());
  }
  /// The second graph sets the variable to 3 and 4.
  void Initialise(const std::string& name) {
    Node(BuiltinOperator::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions,
         format::CreateCallOnceOptions(flat, 1).Union());
    in_second_graph = true;
    Assign(Handle(name), Floats("first", {2}, {3, 4}));
    in_second_graph = false;
  }
};

TEST_CASE("TFLite variables: what is read before it is assigned is state, from its first value") {
  Model model;
  model.Initialise("sum");
  const int32_t sum = model.Handle("sum");
  const int32_t before = model.Read(sum, "before");
  model.Add(model.x, before, model.y);
  model.Assign(sum, model.y);
  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "input %sum: f32[2]\n"
        "%y: f32[2] = binary(%x, %sum)\n"
        "output %y\n"
        "output %y as \"sum.next\"\n"
        "state \"sum\" = \"sum.next\" from [3, 4]\n");
}

TEST_CASE("TFLite variables: what they begin with counts against the memory") {
  Model model;
  model.Initialise("sum");
  const int32_t sum = model.Handle("sum");
  model.Add(model.x, model.Read(sum, "before"), model.y);
  model.Assign(sum, model.y);
  ImportOptions options;
  options.max_memory = 4;
  CHECK(model.Text(options).find("at least --max-memory=1M is needed") != std::string::npos);
}

TEST_CASE("TFLite variables: what is assigned first is no state") {
  Model model;
  const int32_t kept = model.Handle("kept");
  model.Assign(kept, model.x);
  const int32_t now = model.Read(kept, "now");
  model.Add(now, model.x, model.y);
  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "%y: f32[2] = binary(%x, %x)\n"
        "output %y\n");
}

TEST_CASE("TFLite variables: one that nothing has set is refused") {
  Model model;
  const int32_t sum = model.Handle("sum");
  const int32_t before = model.Read(sum, "before");
  model.Add(model.x, before, model.y);
  model.Assign(sum, model.y);
  CHECK(model.Text() ==
        "error: node 'before' (READ_VARIABLE): variable 'sum' is read before anything has set it");
}

TEST_CASE("TFLite variables: initialisation that computes is refused") {
  Model model;
  model.Initialise("sum");
  model.in_second_graph = true;
  const int32_t twice = model.Value("twice", TensorType::FLOAT32, {2});
  const int32_t two = model.Floats("two", {2}, {2, 2});
  model.Add(two, two, twice);
  model.in_second_graph = false;
  const int32_t before = model.Read(model.Handle("sum"), "before");
  model.Add(model.x, before, model.y);
  CHECK(model.Text().find("graph 1, which initialises variables, does more than assign constants "
                          "(ADD)") != std::string::npos);
}

TEST_CASE("TFLite variables: CALL_ONCE of a graph that is not there is refused") {
  Model model;
  model.Node(BuiltinOperator::CALL_ONCE, {}, {}, BuiltinOptions::CallOnceOptions,
             format::CreateCallOnceOptions(model.flat, 7).Union());
  model.Add(model.x, model.x, model.y);
  CHECK(model.Text() == "error: malformed: CALL_ONCE names graph 7 of 1");
}

TEST_CASE("TFLite variables: nodes with too few inputs are refused") {
  Model model;
  const int32_t sum = model.Handle("sum");
  model.Node(BuiltinOperator::ASSIGN_VARIABLE, {sum}, {});
  CHECK(model.Text() == "error: malformed: a node (ASSIGN_VARIABLE) has 1 inputs, not 2");
}

}  // namespace
}  // namespace tenon::converter::test
