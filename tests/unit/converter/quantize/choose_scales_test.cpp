#include "converter/quantize/choose_scales.hpp"

#include "converter/quantize/graph_runner.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

QuantizationScheme SchemeOf(const Graph& graph, RangeMethod method = RangeMethod::kMinMax) {
  const auto histograms = CollectRanges(graph, RandomSamples(graph, 4));
  REQUIRE(histograms.ok());
  return MakeScheme(graph, ChooseIntegerOps(graph, {}), *histograms, method);
}

ActivationScale ScaleNamed(const Graph& graph, const QuantizationScheme& scheme, const char* name) {
  return scheme.tensors.at(graph.FindTensor(name)).scale;
}

TEST_CASE("MakeScheme: what goes through a concat has one scale, wide enough for all of it") {
  const Graph graph = GraphOf(
      "input %x: f32[1,2,4,4]\nconst %small: f32[2,2,1,1] = [1, 0, 0, 1]\n"
      "const %large: f32[2,2,1,1] = [100, 0, 0, 100]\n"
      "%a = conv(%x, %small)\n%b = conv(%x, %large)\n%c = concat(%a, %b) {axis=1}\n"
      "%p = max_pool(%c) {kernel=[2,2], strides=[2,2]}\n"
      "const %v: f32[1,4,1,1] = [1, 1, 1, 1]\n%y = conv(%p, %v)\noutput %y\n");
  const QuantizationScheme scheme = SchemeOf(graph);
  const ActivationScale shared = ScaleNamed(graph, scheme, "p");
  for (const char* name : {"a", "b", "c"}) CHECK(ScaleNamed(graph, scheme, name) == shared);
  CHECK(shared.scale > 0.5F);
  CHECK(shared.scale < 1.0F);
  CHECK(ScaleNamed(graph, scheme, "x").scale < 0.01F);
}

TEST_CASE("MakeScheme: a constant operand has the range of its values") {
  const Graph graph = GraphOf(
      "input %x: f32[1,2,4,4]\nconst %w: f32[2,2,1,1] = [1, 0, 0, 1]\n"
      "const %k: f32[1,2,1,1] = [51, -204]\n"
      "%a = conv(%x, %w)\n%m = binary(%a, %k) {function=mul}\n%y = conv(%m, %w)\noutput %y\n");
  const QuantizationScheme scheme = SchemeOf(graph);
  CHECK(ScaleNamed(graph, scheme, "k") == ActivationScale{1, 76});
}

}  // namespace
}  // namespace tenon::converter
