// Numbers of 8 and 16 bits: SVDF of integers worked out by hand, conversions, rows that are taken.
#include <doctest/doctest.h>

#include <cstring>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::TensorType;

std::vector<int32_t> BytesOf(const std::vector<int16_t>& words) {
  std::vector<int32_t> bytes;
  for (const int16_t word : words) {
    bytes.push_back(word & 0xFF);
    bytes.push_back(word >> 8 & 0xFF);
  }
  return bytes;
}

/// One filter that remembers two features: weights of time 0.25 and 0.75, a bias of 0.5.
std::string Svdf(TfliteBuilder& model, format::ActivationFunctionType activation) {
  const int32_t x = model.Input("x", TensorType::INT8, {1, 1}, {{1.0F / 64}, {0}});
  const int32_t features =
      model.Bytes("features", TensorType::INT8, {1, 1}, {64}, {{1.0F / 64}, {0}});
  const int32_t times = model.Bytes("times", TensorType::INT16, {1, 2}, BytesOf({4096, 12288}),
                                    {{1.0F / 16384}, {0}});
  const int32_t bias = model.Ints("bias", {1}, {1 << 23}, {{1.0F / (1 << 24)}, {0}});
  const int32_t state = model.Variable("s", {1, 2}, TensorType::INT16, {{1.0F / 1024}, {0}});
  const int32_t y = model.Output("y", TensorType::INT8, {1, 1}, {{1.0F / 64}, {-10}});
  model.Node(Op::SVDF, {x, features, times, bias, state}, {y}, BuiltinOptions::SVDFOptions,
             format::CreateSVDFOptions(model.flat, 1, activation).Union());
  return "error: node 'y' (SVDF): ";
}

TEST_CASE("TFLite SVDF of integers: the oldest is forgotten, the newest remembered") {
  TfliteBuilder model;
  Svdf(model, format::ActivationFunctionType::RELU);
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), TextOf(graph));
  Values values;
  values[graph->FindPort(false, "x")->tensor] = {std::byte{32}};  // 0.5
  auto& state = values[graph->FindPort(false, "s")->tensor];
  for (const int32_t byte : BytesOf({128, -256})) state.push_back(static_cast<std::byte>(byte));
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  REQUIRE(Evaluate(*graph, wanted, values).ok());
  // 0.25 * -0.25 + 0.75 * 0.5 + 0.5 = 0.8125, in steps of 1 / 64 from -10
  CHECK(static_cast<int8_t>(values.at(graph->FindPort(true, "y")->tensor)[0]) == 42);
  int16_t left[2] = {};
  std::memcpy(left, values.at(graph->FindPort(true, "s.next")->tensor).data(), sizeof left);
  CHECK(left[0] == -256);
  CHECK(left[1] == 512);
}

TEST_CASE("TFLite SVDF of integers: an activation that the output's bounds do not stand for") {
  TfliteBuilder model;
  const std::string refused = Svdf(model, format::ActivationFunctionType::TANH);
  CHECK(model.Text() == refused + "of integers its activation must be RELU or none");
}

TEST_CASE("TFLite lowering: CAST, and DEQUANTIZE of halves that are known or computed") {
  TfliteBuilder cast;
  const int32_t x = cast.Input("x", TensorType::FLOAT32, {2});
  cast.Node(Op::CAST, {x}, {cast.Output("y", TensorType::INT32, {2})});
  CHECK(cast.Text().find("%y: i32[2] = cast(%x) {to=i32}") != std::string::npos);
  TfliteBuilder halves;
  const int32_t h = halves.Input("h", TensorType::FLOAT16, {2});
  const int32_t known = halves.Bytes("k", TensorType::FLOAT16, {2}, BytesOf({0x3C00, -0x4000}), {});
  const int32_t a = halves.Value("a", TensorType::FLOAT32, {2});
  const int32_t b = halves.Value("b", TensorType::FLOAT32, {2});
  halves.Node(Op::DEQUANTIZE, {h}, {a});
  halves.Node(Op::DEQUANTIZE, {known}, {b});
  halves.Node(Op::ADD, {a, b}, {halves.Output("y", TensorType::FLOAT32, {2})});
  const std::string text = halves.Text();
  CHECK(text.find("f32[2] = cast(%h)") != std::string::npos);
  CHECK(text.find(": f32[2] = [1, -2]") != std::string::npos);
}

TEST_CASE("TFLite lowering: GATHER takes slices along its axis, DENSIFY changes nothing") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", TensorType::FLOAT32, {2, 3});
  const int32_t places = model.Ints("places", {2}, {2, 0});
  const int32_t dense = model.Value("dense", TensorType::INT32, {2});
  const int32_t y = model.Output("y", TensorType::FLOAT32, {2, 2});
  model.Node(Op::DENSIFY, {places}, {dense});
  model.Node(Op::GATHER, {x, dense}, {y}, BuiltinOptions::GatherOptions,
             format::CreateGatherOptions(model.flat, 1).Union());
  CHECK(RunStep(model, {{"x", {1, 2, 3, 4, 5, 6}}})["y"] == std::vector<float>{3, 1, 6, 4});
}

}  // namespace
}  // namespace tenon::converter::test
