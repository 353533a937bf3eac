// How graph inputs get their shapes.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {
namespace {

/// x [?, 3] + z [?, 3]; with `symbol`, both unknown dims are that.
ModelBuilder TwoInputs(const char* symbol = "") {
  auto model = ModelBuilder(13).Input("x", {0, 3}).Input("z", {0, 3});
  model.Node("Add", {"x", "z"}, {"y"}).Output("y");
  for (auto& input : *model.graph().mutable_input()) {
    if (*symbol == '\0') continue;
    input.mutable_type()->mutable_tensor_type()->mutable_shape()->mutable_dim(0)->set_dim_param(
        symbol);
  }
  return model;
}

std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

TEST_CASE("Inputs: an unknown batch names both options that give it") {
  CHECK(TwoInputs("N").Text() ==
        "error: input 'x' has no value for dimension 0 ('N'): give --batch 1 or --shape x=1x3");
}

TEST_CASE("An input with a dimension of 0 is refused, unless --shape says that it is meant") {
  auto model = ModelBuilder(13).Input("x", {2, 3}).Node("Relu", {"x"}, {"y"}).Output("y");
  auto& type = *model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type();
  type.mutable_shape()->mutable_dim(1)->set_dim_value(0);
  CHECK(
      model.Text() ==
      "error: input 'x' has 0 for dimension 1, by which some exporters mean any size: give --shape "
      "x=2x1 (with your sizes), or --shape x=2x0 where it has no elements");
  ImportOptions options;
  options.shapes["x"] = {2, 0};
  CHECK(model.Text(options) ==
        "input %x: f32[2,0]\n%y: f32[2,0] = unary(%x) {function=relu} \"n\"\noutput %y\n");
}

TEST_CASE("Inputs: an unknown dimension that is not the batch names --shape") {
  auto model = ModelBuilder(13).Input("x", {1, 3, 0, 0}).Node("Relu", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() ==
        "error: input 'x' has no value for dimension 2: give --shape x=1x3x1x1 (with your sizes)");
}

TEST_CASE("Inputs: an input without any shape names --shape") {
  auto model = ModelBuilder(13).Input("x", {}).Node("Relu", {"x"}, {"y"}).Output("y");
  model.graph().mutable_input(0)->mutable_type()->mutable_tensor_type()->clear_shape();

  CHECK(model.Text() ==
        "error: input 'x' has no shape in the model: give one, --shape x=1x3x224x224 say");
}

TEST_CASE("Inputs: --batch sets every free first dimension") {
  ImportOptions options;
  options.batch = 4;

  CHECK(TwoInputs().Text(options) ==
        "input %x: f32[4,3]\n"
        "input %z: f32[4,3]\n"
        "%y: f32[4,3] = binary(%x, %z) \"n\"\n"
        "output %y\n");
}

TEST_CASE("Inputs: --batch on a model with a fixed batch is an error") {
  ImportOptions options;
  options.batch = 4;
  auto model = ModelBuilder(13).Input("x", {1, 3}).Node("Relu", {"x"}, {"y"}).Output("y");

  const auto graph = model.Import(options);

  REQUIRE(!graph.ok());
  CHECK(graph.error().kind == ErrorKind::kUsage);
  CHECK(graph.error().message == "--batch 4: no input has a free first dimension (use --shape)");
}

TEST_CASE("Inputs: --shape gives a symbol its value everywhere") {
  ImportOptions options;
  options.shapes["x"] = {5, 3};

  CHECK(TwoInputs("N").Text(options).find("input %z: f32[5,3]") != std::string::npos);
  CHECK(TwoInputs().Text(options) ==
        "error: input 'z' has no value for dimension 0: give --batch 1 or --shape z=1x3");
}

TEST_CASE("Inputs: --shape overrides a fixed shape") {
  ImportOptions options;
  options.shapes["x"] = {2, 5};
  auto model = ModelBuilder(13).Input("x", {1, 3}).Node("Relu", {"x"}, {"y"}).Output("y");

  CHECK(FirstLine(model.Text(options)) == "input %x: f32[2,5]");
}

TEST_CASE("Inputs: --shape of another rank, or for no input, is a usage error") {
  auto model = ModelBuilder(13).Input("x", {1, 3}).Node("Relu", {"x"}, {"y"}).Output("y");
  ImportOptions rank;
  rank.shapes["x"] = {1, 3, 1};
  ImportOptions name;
  name.shapes["data"] = {1, 3};

  CHECK(model.Import(rank).error().kind == ErrorKind::kUsage);
  CHECK(model.Text(rank) == "error: --shape x: 3 dimensions given, the model's input has 2");
  CHECK(model.Import(name).error().kind == ErrorKind::kUsage);
  CHECK(model.Text(name) == "error: --shape data: the model has no such input (it has x)");
}

TEST_CASE("Inputs: a frozen input is a constant") {
  auto model = ModelBuilder(13).Input("x", {4}).Input("s", {2}, onnx::TensorProto::INT64);
  model.Node("Reshape", {"x", "s"}, {"y"}).Output("y");
  ImportOptions options;
  const int64_t dims[] = {2, 2};
  const auto* bytes = reinterpret_cast<const std::byte*>(dims);
  options.freeze["s"] = {DType::kI64, Shape({2}), {bytes, bytes + sizeof dims}};

  CHECK(model.Text(options) ==
        "input %x: f32[4]\n"
        "%y: f32[2,2] = reshape(%x) {dims=[2,2]} \"n\"\n"
        "output %y\n");
}

TEST_CASE("Inputs: a frozen array of another type or shape is a usage error") {
  auto model = ModelBuilder(13).Input("x", {4}).Node("Relu", {"x"}, {"y"}).Output("y");
  ImportOptions type;
  type.freeze["x"] = {DType::kI32, Shape({4}), std::vector<std::byte>(16)};
  ImportOptions shape;
  shape.freeze["x"] = {DType::kF32, Shape({5}), std::vector<std::byte>(20)};
  ImportOptions size;
  size.freeze["x"] = {DType::kF32, Shape({4}), std::vector<std::byte>(15)};

  CHECK(model.Text(type) == "error: --freeze x: the array holds i32, the model's input f32");
  CHECK(model.Text(shape) ==
        "error: --freeze x: the array's shape is not that of the model's input");
  CHECK(model.Text(size) == "error: --freeze x: 15 bytes given, 16 wanted");
  CHECK(model.Import(size).error().kind == ErrorKind::kUsage);
}

TEST_CASE("Inputs: an initialiser that is an input too is a constant") {
  auto model = ModelBuilder(7).Input("x", {2}).Input("w", {2}).Floats("w", {2});
  model.Node("Mul", {"x", "w"}, {"y"}).Output("y");

  CHECK(model.Text() ==
        "input %x: f32[2]\n"
        "const %w: f32[2] = [1, 2]\n"
        "%y: f32[2] = binary(%x, %w) {function=mul} \"n\"\n"
        "output %y\n");
}

TEST_CASE("Inputs: an initialiser named by --shape is an input") {
  auto model = ModelBuilder(7).Input("x", {2}).Input("w", {2}).Floats("w", {2});
  model.Node("Mul", {"x", "w"}, {"y"}).Output("y");
  ImportOptions options;
  options.shapes["w"] = {2};

  CHECK(model.Text(options) ==
        "input %x: f32[2]\n"
        "input %w: f32[2]\n"
        "%y: f32[2] = binary(%x, %w) {function=mul} \"n\"\n"
        "output %y\n");
}

TEST_CASE("Inputs: half precision stays half precision") {
  auto model = ModelBuilder(13).Input("x", {2}, onnx::TensorProto::FLOAT16);
  model.Node("Relu", {"x"}, {"y"}).Output("y", onnx::TensorProto::FLOAT16);

  CHECK(FirstLine(model.Text()) == "input %x: f16[2]");
}

TEST_CASE("Inputs: sequences and strings are refused") {
  auto model = ModelBuilder(13).Input("x", {2}, onnx::TensorProto::STRING);
  model.Node("Identity", {"x"}, {"y"}).Output("y");
  CHECK(model.Text() == "error: input 'x': element type STRING is not supported");
  model.graph().mutable_input(0)->mutable_type()->mutable_sequence_type();
  CHECK(model.Text() == "error: input 'x' is not a tensor");
}

}  // namespace tenon::converter::test
