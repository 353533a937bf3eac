#include <cmath>

#include "converter/quantize/graph_runner.hpp"
#include "converter/quantize/insert_quantization.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

// 0.4 of a step is rounded away in every weight but the largest, on inputs that are all positive.
constexpr std::string_view kLossy =
    "input %x: f32[1,4,3,3]\n"
    "const %w: f32[2,4,1,1] = [127, 20.4, 30.4, 40.4, 10.4, 254, 20.8, 30.8]\n"
    "%r = unary(%x) {function=relu}\n"
    "%c = conv(%r, %w)\n"
    "output %c\n";

QuantizationScheme SchemeOf(const Graph& graph, const std::vector<Sample>& samples) {
  const auto histograms = CollectRanges(graph, samples);
  REQUIRE(histograms.ok());
  return MakeScheme(graph, ChooseIntegerOps(graph, {}), *histograms, RangeMethod::kMinMax);
}

/// Mean over samples and positions of each channel of the first output.
std::vector<double> Means(const Graph& graph, const std::vector<Sample>& samples) {
  Result<GraphRunner> runner = GraphRunner::Make(graph, {});
  REQUIRE(runner.ok());
  std::vector<double> means(2);
  for (const Sample& sample : samples) {
    REQUIRE(runner->Run(sample).ok());
    const Span<const float> values = runner->Output(0);
    const size_t each = values.size() / means.size();
    for (size_t i = 0; i < values.size(); ++i) {
      means[i / each] += double{values[i]} / static_cast<double>(each * samples.size());
    }
  }
  return means;
}

TEST_CASE("CorrectBiases: the mean of every channel comes back to the float graph's") {
  const Graph graph = GraphOf(kLossy);
  const std::vector<Sample> samples = RandomSamples(graph, 8);
  const QuantizationScheme scheme = SchemeOf(graph, samples);
  const auto errors = MeanErrors(graph, scheme, samples);
  REQUIRE(errors.ok());
  const std::vector<double> wanted = Means(graph, samples);
  Graph plain = graph;
  REQUIRE(InsertQuantization(plain, scheme, QuantizationForm::kIntegers).ok());
  Graph corrected = graph;
  REQUIRE(CorrectBiases(corrected, *errors).ok());
  REQUIRE(InsertQuantization(corrected, scheme, QuantizationForm::kIntegers).ok());
  REQUIRE(Verify(corrected).ok());
  const std::vector<double> before = Means(plain, samples);
  const std::vector<double> after = Means(corrected, samples);
  for (size_t channel = 0; channel < wanted.size(); ++channel) {
    CHECK(std::abs(before[channel] - wanted[channel]) > 0.1);
    CHECK(std::abs(after[channel] - wanted[channel]) < 0.01);
  }
}

TEST_CASE("MeanErrors: an error of the layer before is not counted again") {
  const Graph graph = GraphOf(
      "input %x: f32[1,4,3,3]\n"
      "const %w: f32[2,4,1,1] = [127, 20.4, 30.4, 40.4, 10.4, 254, 20.8, 30.8]\n"
      "const %v: f32[2,2,1,1] = [1, 0, 0, 1]\n"
      "%r = unary(%x) {function=relu}\n%c = conv(%r, %w)\n%d = conv(%c, %v)\noutput %d\n");
  const std::vector<Sample> samples = RandomSamples(graph, 8);
  const auto errors = MeanErrors(graph, SchemeOf(graph, samples), samples);
  REQUIRE(errors.ok());
  for (size_t channel = 0; channel < 2; ++channel) {
    CHECK(std::abs(errors->at(OpNamed(graph, "c"))[channel]) > 0.1);
    CHECK(std::abs(errors->at(OpNamed(graph, "d"))[channel]) < 0.15);
  }
}

}  // namespace
}  // namespace tenon::converter
