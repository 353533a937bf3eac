#include "converter/quantize/equalize.hpp"

#include <algorithm>
#include <cmath>

#include "converter/quantize/graph_runner.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

constexpr std::string_view kChain =
    "input %x: f32[1,2,5,5]\n"
    "const %w1: f32[3,2,3,3] = random(1)\n"
    "const %b1: f32[3] = [0.5, -1, 2]\n"
    "const %wd: f32[3,1,3,3] = random(2)\n"
    "const %bd: f32[3] = [1, 0, -0.25]\n"
    "const %w2: f32[4,3,1,1] = random(3)\n"
    "%c1 = conv(%x, %w1, %b1) {pads=[1,1,1,1]}\n"
    "%r1 = unary(%c1) {function=relu}\n"
    "%cd = conv(%r1, %wd, %bd) {group=3, pads=[1,1,1,1]}\n"
    "%rd = unary(%cd) {function=leaky_relu, a=0.125}\n"
    "%c2 = conv(%rd, %w2)\n"
    "output %c2\n";

/// Multiplies output channel `channel` of a convolution's weights.
void ScaleChannel(Graph& graph, const char* weights, int32_t channel, double factor) {
  Tensor& tensor = graph.MutableTensor(graph.FindTensor(weights));
  std::vector<double> values = ReadElements(tensor);
  const size_t each = values.size() / static_cast<size_t>(tensor.shape[0]);
  for (size_t i = 0; i < each; ++i) values[static_cast<size_t>(channel) * each + i] *= factor;
  tensor.constant =
      std::make_shared<const std::vector<std::byte>>(WriteElements(DType::kF32, values));
}

std::vector<double> OutputOf(const Graph& graph) {
  Result<GraphRunner> runner = GraphRunner::Make(graph, {});
  REQUIRE(runner.ok());
  REQUIRE(runner->Run(RandomSamples(graph, 1).front()).ok());
  const Span<const float> output = runner->Output(0);
  return {output.begin(), output.end()};
}

double LargestOfChannel(const Graph& graph, const char* weights, size_t channel) {
  const Tensor& tensor = graph.tensor(graph.FindTensor(weights));
  const std::vector<double> values = ReadElements(tensor);
  const size_t each = values.size() / static_cast<size_t>(tensor.shape[0]);
  double largest = 0;
  for (size_t i = 0; i < each; ++i)
    largest = std::max(largest, std::abs(values[channel * each + i]));
  return largest;
}

TEST_CASE("EqualizeLayers: the function stays as it was, through a depthwise convolution too") {
  Graph graph = GraphOf(kChain);
  ScaleChannel(graph, "w1", 1, 64);
  ScaleChannel(graph, "wd", 2, 1.0 / 128);
  const std::vector<double> before = OutputOf(graph);
  PassReport report;
  REQUIRE(EqualizeLayers(graph, report).ok());
  CHECK(report.changed == 2);
  REQUIRE(Verify(graph).ok());
  const std::vector<double> after = OutputOf(graph);
  double largest = 0;
  for (const double value : before) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(std::abs(after[i] - before[i]) <= 1e-5 * largest);
  }
}

TEST_CASE("EqualizeLayers: channels have one largest weight on both sides then") {
  Graph graph = GraphOf(kChain);
  ScaleChannel(graph, "w1", 0, 100);
  PassReport report;
  REQUIRE(EqualizeLayers(graph, report).ok());
  for (size_t channel = 0; channel < 3; ++channel) {
    CHECK(LargestOfChannel(graph, "w1", channel) ==
          doctest::Approx(LargestOfChannel(graph, "wd", channel)).epsilon(0.05));
  }
}

TEST_CASE("EqualizeLayers: nothing moves past a clip, or where the result has other readers") {
  for (const std::string_view between :
       {"%r = unary(%c) {function=clip, a=0, b=6}\noutput %x as \"again\"\n",
        "%r = unary(%c) {function=relu}\noutput %c as \"seen\"\n"}) {
    Graph graph = GraphOf(fmt::format(
        "input %x: f32[1,2,2,2]\nconst %w: f32[2,2,1,1] = [1, 2, 30, 40]\n"
        "const %v: f32[1,2,1,1] = [1, 2]\n%c = conv(%x, %w)\n{}%y = conv(%r, %v)\noutput %y\n",
        between));
    const std::string before = PrintGraph(graph);
    PassReport report;
    REQUIRE(EqualizeLayers(graph, report).ok());
    CHECK(report.changed == 0);
    CHECK(report.declined.size() == 2);
    CHECK(PrintGraph(graph) == before);
  }
}

TEST_CASE("EqualizeLayers: weights that two convolutions share are left alone") {
  Graph graph = GraphOf(
      "input %x: f32[1,2,2,2]\nconst %w: f32[2,2,1,1] = [1, 2, 30, 40]\n"
      "%c = conv(%x, %w)\n%y = conv(%c, %w)\noutput %y\n");
  PassReport report;
  REQUIRE(EqualizeLayers(graph, report).ok());
  CHECK(report.changed == 0);
}

TEST_CASE("EqualizeLayers: a channel of zeros stays one") {
  Graph graph = GraphOf(
      "input %x: f32[1,1,2,2]\nconst %w: f32[2,1,1,1] = [0, 8]\n"
      "const %v: f32[1,2,1,1] = [3, 2]\n%c = conv(%x, %w)\n%y = conv(%c, %v)\noutput %y\n");
  PassReport report;
  REQUIRE(EqualizeLayers(graph, report).ok());
  CHECK(ReadElements(graph.tensor(graph.FindTensor("w"))) == std::vector<double>{0, 4});
  CHECK(ReadElements(graph.tensor(graph.FindTensor("v"))) == std::vector<double>{3, 4});
}

TEST_CASE("EqualizeLayers: by the values that channels take, before a depthwise convolution") {
  Graph graph = GraphOf(kChain);
  ScaleChannel(graph, "w1", 1, 64);
  const std::vector<Sample> samples = RandomSamples(graph, 2);
  const std::vector<double> before = OutputOf(graph);
  const auto maxima = CollectChannelMaxima(graph, samples);
  REQUIRE(maxima.ok());
  PassReport report;
  REQUIRE(EqualizeLayers(graph, report, *maxima).ok());
  CHECK(report.changed == 2);
  const auto after = CollectChannelMaxima(graph, samples);
  REQUIRE(after.ok());
  const std::vector<double>& values = after->at(graph.FindTensor("r1"));
  for (const double value : values) CHECK(value == doctest::Approx(values[0]).epsilon(0.02));
  const std::vector<double> now = OutputOf(graph);
  for (size_t i = 0; i < before.size(); ++i) {
    CHECK(now[i] == doctest::Approx(before[i]).epsilon(1e-3));
  }
}

}  // namespace
}  // namespace tenon::converter
