#include <algorithm>
#include <cmath>

#include "converter/quantize/graph_runner.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("CollectRanges: the values of every activation on all samples") {
  const Graph graph = GraphOf(
      "input %x: f32[1,4]\nconst %k: f32[1,4] = [10, 10, 10, 10]\n"
      "%t = binary(%x, %k) {function=mul}\n%r = unary(%t) {function=relu}\noutput %r\n");
  const std::vector<Sample> samples = {{BytesOf({1, -2, 3, 0})}, {BytesOf({-7, 0.5F, 0, 0})}};
  const auto histograms = CollectRanges(graph, samples);
  REQUIRE(histograms.ok());
  CHECK(histograms->size() == 3);
  const Histogram& times = histograms->at(graph.FindTensor("t"));
  CHECK(times.low() == -70);
  CHECK(times.high() == 30);
  CHECK(times.total() == 8);
  const Histogram& relu = histograms->at(graph.FindTensor("r"));
  CHECK(relu.low() == 0);
  CHECK(relu.zeros() == 5);
}

TEST_CASE("CollectRanges: values that are not finite are refused by the tensor's name") {
  const Graph graph = GraphOf(
      "input %x: f32[1,2]\n%bad = unary(%x) {function=log}\n%y = unary(%bad) {function=relu}\n"
      "output %y\n");
  const auto histograms = CollectRanges(graph, {{BytesOf({1, 0})}});
  REQUIRE(!histograms.ok());
  CHECK(histograms.error().message.find("'bad'") != std::string::npos);
}

TEST_CASE("GraphRunner: a sample of the wrong size is refused") {
  const Graph graph = GraphOf("input %x: f32[1,2]\n%y = unary(%x) {function=relu}\noutput %y\n");
  Result<GraphRunner> runner = GraphRunner::Make(graph, {});
  REQUIRE(runner.ok());
  CHECK(!runner->Run({BytesOf({1})}).ok());
  CHECK(!runner->Run({}).ok());
  REQUIRE(runner->Run({BytesOf({-1, 2})}).ok());
  CHECK(runner->Output(0)[0] == 0);
  CHECK(runner->Output(0)[1] == 2);
}

}  // namespace
}  // namespace tenon::converter
