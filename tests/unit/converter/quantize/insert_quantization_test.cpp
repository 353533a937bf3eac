#include "converter/quantize/insert_quantization.hpp"

#include "converter/quantize/graph_runner.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kInsertedNet =
    "input %x: f32[1,1,1,2]\n"
    "const %w: f32[1,1,1,1] = [127]\n"
    "const %b: f32[1] = [6]\n"
    "%c = conv(%x, %w, %b)\n"
    "%s = unary(%x) {function=exp}\n"
    "output %c\n"
    "output %s\n";

/// x stands for q * 2: range [-256, 254].
QuantizationScheme SchemeInTwos(const Graph& graph) {
  QuantizationScheme scheme;
  scheme.chosen = ChooseIntegerOps(graph, {});
  scheme.tensors[graph.FindTensor("x")].scale = {2, 0};
  return scheme;
}

TEST_CASE("InsertQuantization: pairs before integer ops only, integers for weights and bias") {
  Graph graph = GraphOf(kInsertedNet);
  const auto dequantized =
      InsertQuantization(graph, SchemeInTwos(graph), QuantizationForm::kIntegers);
  REQUIRE(dequantized.ok());
  REQUIRE(Verify(graph).ok());
  const std::string text = PrintGraph(graph);
  CHECK(text.substr(text.find("input")) ==
        "input %x: f32[1,1,1,2]\n"
        "const %w.i8: i8[1,1,1,1] = [127]\n"
        "const %w.i8.scale: f32[1] = [1]\n"
        "const %b.i32: i32[1] = [3]\n"
        "const %b.i32.scale: f32[1] = [2]\n"
        "const %x.scale: f32[1] = [2]\n"
        "const %x.zero_point: i8[1] = [0]\n"
        "%w.i8.dequantize: f32[1,1,1,1] = dequantize(%w.i8, %w.i8.scale)\n"
        "%b.i32.dequantize: f32[1] = dequantize(%b.i32, %b.i32.scale)\n"
        "%x.quantize: i8[1,1,1,2] = quantize(%x, %x.scale, %x.zero_point)\n"
        "%x.dequantize: f32[1,1,1,2] = dequantize(%x.quantize, %x.scale, %x.zero_point)\n"
        "%c: f32[1,1,1,2] = conv(%x.dequantize, %w.i8.dequantize, %b.i32.dequantize)\n"
        "%s: f32[1,1,1,2] = unary(%x) {function=exp}\n"
        "output %c\n"
        "output %s\n");
}

TEST_CASE("InsertQuantization: the simulation computes what the integers stand for") {
  Graph integers = GraphOf(kInsertedNet);
  Graph simulated = integers;
  const QuantizationScheme scheme = SchemeInTwos(integers);
  REQUIRE(InsertQuantization(integers, scheme, QuantizationForm::kIntegers).ok());
  REQUIRE(InsertQuantization(simulated, scheme, QuantizationForm::kSimulated).ok());
  std::vector<std::vector<float>> outputs;
  for (const Graph* graph : {&integers, &simulated}) {
    Result<GraphRunner> runner = GraphRunner::Make(*graph, {});
    REQUIRE(runner.ok());
    REQUIRE(runner->Run({BytesOf({2.9F, -3.1F})}).ok());
    const Span<const float> output = runner->Output(0);
    outputs.emplace_back(output.begin(), output.end());
  }
  CHECK(outputs[0] == std::vector<float>{2 * 127 + 6, -4 * 127 + 6});
  CHECK(outputs[1] == outputs[0]);
}

TEST_CASE("InsertQuantization: readers of an integer op's result all see it rounded") {
  Graph graph = GraphOf(
      "input %x: f32[1,1,1,2]\nconst %w: f32[1,1,1,1] = [1]\nconst %v: f32[1,1,1,1] = [2]\n"
      "%c = conv(%x, %w)\n%y = conv(%c, %v)\n%e = unary(%c) {function=exp}\n"
      "output %y\noutput %e\noutput %c\n");
  const auto histograms = CollectRanges(graph, RandomSamples(graph, 1));
  REQUIRE(histograms.ok());
  const QuantizationScheme scheme =
      MakeScheme(graph, ChooseIntegerOps(graph, {}), *histograms, RangeMethod::kMinMax);
  const TensorId c = graph.FindTensor("c");
  const auto dequantized = InsertQuantization(graph, scheme, QuantizationForm::kIntegers);
  REQUIRE(dequantized.ok());
  REQUIRE(Verify(graph).ok());
  CHECK(graph.Consumers(c).size() == 1);
  const TensorId rounded = dequantized->at(c);
  CHECK(graph.outputs()[2].tensor == rounded);
  CHECK(graph.op(OpNamed(graph, "e")).inputs.front() == rounded);
  CHECK(graph.op(OpNamed(graph, "y")).inputs.front() == rounded);
}

}  // namespace
}  // namespace tenon::converter
