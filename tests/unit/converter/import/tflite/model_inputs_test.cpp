// Ports: their names, dims and what their integers stand for.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::TensorType;

/// y = relu(x), x of [1, 4] whose first dimension is open if `signature` says so.
void FillRelu(TfliteBuilder& model, const std::vector<int32_t>& signature = {}) {
  const int32_t x = model.Input("x:0", TensorType::FLOAT32, {1, 4}, {}, signature);
  const int32_t y = model.Output("y:0", TensorType::FLOAT32, {1, 4});
  model.Node(Op::RELU, {x}, {y});
}

Shape InputShape(const Result<Graph>& graph) {
  return graph->tensor(graph->inputs()[0].tensor).shape;
}

TEST_CASE("TFLite inputs: ports are called after their tensors") {
  TfliteBuilder model;
  FillRelu(model);
  const auto graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  CHECK(graph->inputs()[0].name == "x:0");
  CHECK(graph->outputs()[0].name == "y:0");
}

TEST_CASE("TFLite inputs: names are UTF-8; bytes that belong to no printable character are not") {
  const std::pair<std::string, std::string> names[] = {
      {"\u00e9t\u00e9", "\u00e9t\u00e9"},
      {"\u5165\u529b\U0001F600", "\u5165\u529b\U0001F600"},
      {"a\xff\x01z", "a__z"},
      {"\xc3(", "_("},
      {"\xe5\x85", "__"},
      {"\xc0\xaf\xed\xa0\x80", "_____"},
      {"\xc2\x85 ~", "__ ~"}};
  for (const auto& [given, kept] : names) {
    TfliteBuilder model;
    const int32_t x = model.Input(given, TensorType::FLOAT32, {1, 4});
    model.Node(Op::RELU, {x}, {model.Output("y", TensorType::FLOAT32, {1, 4})});
    const auto graph = ImportBytes(model.File());
    REQUIRE(graph.ok());
    CHECK(graph->inputs()[0].name == kept);
  }
}

TEST_CASE("TFLite inputs: a signature's names go first") {
  TfliteBuilder model;
  FillRelu(model);
  const auto in = format::CreateTensorMapDirect(model.flat, "image", 0);
  const auto out = format::CreateTensorMapDirect(model.flat, "scores", 1);
  const std::vector<flatbuffers::Offset<format::TensorMap>> ins = {in};
  const std::vector<flatbuffers::Offset<format::TensorMap>> outs = {out};
  model.signatures.push_back(
      format::CreateSignatureDefDirect(model.flat, &ins, &outs, "serving_default", 0));
  const auto graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  CHECK(graph->inputs()[0].name == "image");
  CHECK(graph->outputs()[0].name == "scores");
}

TEST_CASE(
    "TFLite inputs: options may call an input as the file does, though a signature has names") {
  TfliteBuilder model;
  FillRelu(model);
  const auto in = format::CreateTensorMapDirect(model.flat, "image", 0);
  const std::vector<flatbuffers::Offset<format::TensorMap>> ins = {in};
  model.signatures.push_back(
      format::CreateSignatureDefDirect(model.flat, &ins, nullptr, "serving_default", 0));
  const std::vector<uint8_t> file = model.File();
  for (const char* name : {"image", "x:0"}) {
    ImportOptions options;
    options.shapes[name] = {3, 5};
    const auto graph = ImportBytes(file, options);
    REQUIRE(graph.ok());
    CHECK(InputShape(graph) == Shape({3, 5}));
    CHECK(graph->inputs()[0].name == "image");
  }
}

TEST_CASE("TFLite inputs: --batch sets an open first dimension") {
  TfliteBuilder model;
  FillRelu(model, {-1, 4});
  ImportOptions options;
  options.batch = 8;
  const auto graph = ImportBytes(model.File(), options);
  REQUIRE(graph.ok());
  CHECK(InputShape(graph) == Shape({8, 4}));
  CHECK(graph->tensor(graph->outputs()[0].tensor).shape == Shape({8, 4}));
}

TEST_CASE("TFLite inputs: --batch is an error where no first dimension is open") {
  TfliteBuilder model;
  FillRelu(model);
  ImportOptions options;
  options.batch = 8;
  const auto graph = ImportBytes(model.File(), options);
  REQUIRE_FALSE(graph.ok());
  CHECK(graph.error().kind == ErrorKind::kUsage);
  CHECK(graph.error().message.starts_with("--batch 8: no input has an open first dimension"));
}

TEST_CASE("TFLite inputs: --shape replaces the model's dims and keeps their number") {
  TfliteBuilder model;
  FillRelu(model);
  const std::vector<uint8_t> file = model.File();
  ImportOptions options;
  options.shapes["x:0"] = {3, 5};
  CHECK(InputShape(ImportBytes(file, options)) == Shape({3, 5}));
  options.shapes["x:0"] = {3};
  CHECK(TextOf(ImportBytes(file, options)) ==
        "error: --shape x:0: 1 dimensions given, the model's input has 2");
  options.shapes = {{"z", {1}}};
  CHECK(TextOf(ImportBytes(file, options)) ==
        "error: --shape z: the model has no such input (it has x:0)");
}

TEST_CASE("TFLite inputs: a frozen input is a constant") {
  TfliteBuilder model;
  FillRelu(model);
  const std::vector<uint8_t> file = model.File();
  ImportOptions options;
  options.freeze["x:0"] = {DType::kF32, Shape({1, 4}), std::vector<std::byte>(16)};
  const auto graph = ImportBytes(file, options);
  REQUIRE(graph.ok());
  CHECK(graph->inputs().empty());
  options.freeze["x:0"] = {DType::kF32, Shape({2, 4}), std::vector<std::byte>(32)};
  CHECK(TextOf(ImportBytes(file, options)) ==
        "error: --freeze x:0: the array is not of the input's type f32 and shape");
}

TEST_CASE("TFLite inputs: quantized ports say what their integers stand for") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::UINT8, {1, 4}, {{0.5F}, {128}});
  const int32_t y = model.Output("y", TensorType::INT8, {1, 4}, {{0.25F}, {-3}});
  model.Node(Op::QUANTIZE, {x}, {y});
  const auto graph = ImportBytes(model.File());
  REQUIRE(graph.ok());
  CHECK(graph->inputs()[0].scale == 0.5F);
  CHECK(graph->inputs()[0].zero_point == 128);
  CHECK(graph->outputs()[0].scale == 0.25F);
  CHECK(graph->outputs()[0].zero_point == -3);
}

}  // namespace
}  // namespace tenon::converter::test
