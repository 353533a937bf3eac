#include "converter/quantize/quantize_model.hpp"

#include <algorithm>

#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kModelNet =
    "input %x: f32[1,3,6,6]\n"
    "const %w1: f32[4,3,3,3] = random(1)\n"
    "const %w2: f32[4,4,3,3] = random(2)\n"
    "const %w3: f32[2,4,1,1] = random(3)\n"
    "%first = conv(%x, %w1)\n"
    "%r = unary(%first) {function=relu}\n"
    "%second = conv(%r, %w2)\n"
    "%third = conv(%second, %w3)\n"
    "output %third\n";

CalibrationArray ArrayOf(const Graph& graph, size_t count) {
  CalibrationArray array;
  array.name = "samples";
  const Shape& shape = graph.tensor(graph.inputs().front().tensor).shape;
  array.shape = {static_cast<int64_t>(count)};
  array.shape.insert(array.shape.end(), shape.dims, shape.dims + shape.rank);
  for (const Sample& sample : RandomSamples(graph, count)) {
    array.bytes.insert(array.bytes.end(), sample.front().begin(), sample.front().end());
  }
  return array;
}

QuantizeOptions OptionsOf(const Graph& graph, double decibel) {
  QuantizeOptions options;
  options.arrays = {ArrayOf(graph, 8)};
  options.goal.decibel = decibel;
  return options;
}

std::vector<std::string> FloatLayers(const QuantizationReport& report, const char* reason) {
  std::vector<std::string> names;
  for (const QuantizedLayer& layer : report.layers) {
    if (!layer.integer && layer.reason == reason) names.push_back(layer.op);
  }
  return names;
}

TEST_CASE("QuantizeModel: all layers compute with integers where the goal lets them") {
  Graph graph = GraphOf(kModelNet);
  const Graph source = graph;
  auto quantized = QuantizeModel(graph, OptionsOf(graph, 20));
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  const QuantizationReport& report = *quantized;
  CHECK(report.samples == 8);
  CHECK(report.integer_layers == 3);
  CHECK(report.float_layers == 0);
  for (const QuantizedLayer& layer : report.layers) {
    CHECK(layer.integer);
    CHECK(layer.decibel.value_or(0) > 20);
  }
  CHECK(graph.inputs().front().name == "x");
  CHECK(graph.tensor(graph.outputs().front().tensor).dtype == DType::kF32);
  const Accuracy& accuracy = quantized->accuracy;
  CHECK(accuracy.decibel > 20);
  CHECK(accuracy.decibel < 100);
}

TEST_CASE("QuantizeModel: the same samples give the same graph") {
  Graph a = GraphOf(kModelNet);
  Graph b = a;
  REQUIRE(QuantizeModel(a, OptionsOf(a, 30)).ok());
  REQUIRE(QuantizeModel(b, OptionsOf(b, 30)).ok());
  CHECK(PrintGraph(a) == PrintGraph(b));
}

// Channel 0 of what `bad` reads is a thousand times the others', and counts for nothing in its
// result: one scale for all channels leaves no steps for those that count.
constexpr std::string_view kPlanted =
    "input %x: f32[1,2,6,6]\n"
    "const %w1: f32[2,2,1,1] = [1, 0.5, -0.25, 1]\n"
    "const %k: f32[1,2,1,1] = [1000, 1]\n"
    "const %w2: f32[2,2,1,1] = [0, 1, 0, -0.75]\n"
    "const %w3: f32[2,2,1,1] = [1, 0.5, 0.25, 1]\n"
    "%good = conv(%x, %w1)\n"
    "%t = unary(%good) {function=tanh}\n"
    "%uneven = binary(%t, %k) {function=mul}\n"
    "%bad = conv(%uneven, %w2)\n"
    "%e = unary(%bad) {function=exp}\n"
    "%last = conv(%e, %w3)\n"
    "output %last\n";

TEST_CASE("QuantizeModel: a layer that one scale cannot serve stays float, and no other") {
  Graph graph = GraphOf(kPlanted);
  const auto quantized = QuantizeModel(graph, OptionsOf(graph, 30));
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  CHECK(FloatLayers(*quantized, kKeptForAccuracy) == std::vector<std::string>{"bad"});
  CHECK(quantized->kept_for_accuracy == 1);
  CHECK(quantized->integer_layers == 2);
  const Accuracy& accuracy = quantized->accuracy;
  CHECK(accuracy.decibel >= 30);
}

TEST_CASE("QuantizeModel: ops that a pattern names stay float") {
  Graph graph = GraphOf(kModelNet);
  QuantizeOptions options = OptionsOf(graph, -200);
  options.keep = {"s*d"};
  const auto quantized = QuantizeModel(graph, options);
  REQUIRE(quantized.ok());
  CHECK(FloatLayers(*quantized, "--quantize-keep") == std::vector<std::string>{"second"});
  options.keep = {"nothing_*"};
  Graph again = GraphOf(kModelNet);
  const auto refused = QuantizeModel(again, options);
  REQUIRE(!refused.ok());
  CHECK(refused.error().kind == ErrorKind::kUsage);
  CHECK(refused.error().message.find("nothing_*") != std::string::npos);
}

TEST_CASE("QuantizeModel: labels decide where there are enough") {
  const std::string text =
      "input %x: f32[1,4]\nconst %w: f32[4,3] = random(5)\n%y = matmul(%x, %w)\noutput %y\n";
  Graph graph = GraphOf(text);
  QuantizeOptions options;
  options.arrays = {ArrayOf(graph, 200)};
  Result<GraphRunner> runner = GraphRunner::Make(graph, {});
  REQUIRE(runner.ok());
  CalibrationArray labels{"labels", DType::kI64, {200}, {}};
  for (const Sample& sample : RandomSamples(graph, 200)) {
    REQUIRE(runner->Run(sample).ok());
    const Span<const float> scores = runner->Output(0);
    const int64_t label = std::max_element(scores.begin(), scores.end()) - scores.begin();
    const auto* bytes = reinterpret_cast<const std::byte*>(&label);
    labels.bytes.insert(labels.bytes.end(), bytes, bytes + sizeof label);
  }
  options.arrays.push_back(std::move(labels));
  const auto quantized = QuantizeModel(graph, options);
  REQUIRE_MESSAGE(quantized.ok(), (quantized.ok() ? "" : quantized.error().message));
  const Accuracy& accuracy = quantized->accuracy;
  CHECK(accuracy.labelled == 200);
  CHECK(accuracy.float_right == 200);
  CHECK(accuracy.Reaches(AccuracyGoal{}));
}

TEST_CASE("QuantizeModel: refuses models that are quantized, or have nothing to quantize") {
  Graph integers =
      GraphOf("input %x: i8[1,4]\nconst %s: f32[1] = [0.5]\n%y = dequantize(%x, %s)\noutput %y\n");
  const auto again = QuantizeModel(integers, QuantizeOptions{});
  REQUIRE(!again.ok());
  CHECK(again.error().message.find("quantized already") != std::string::npos);
  Graph empty = GraphOf("input %x: f32[1,4]\n%y = unary(%x) {function=relu}\noutput %y\n");
  const auto nothing = QuantizeModel(empty, QuantizeOptions{});
  REQUIRE(!nothing.ok());
  CHECK(nothing.error().kind == ErrorKind::kInput);
}

}  // namespace
}  // namespace tenon::converter
