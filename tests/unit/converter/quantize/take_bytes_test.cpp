#include <algorithm>
#include <cmath>

#include "converter/quantize/equalize.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

/// An image of three channels as a camera has it, normalised, into a convolution with `attributes`.
std::string Camera(const std::string& mean, const std::string& scale,
                   const std::string& attributes) {
  return "input %x: u8[1,8,8,3]\n"
         "const %mean: f32[1,3,1,1] = " +
         mean + "\nconst %scale: f32[1,3,1,1] = " + scale +
         "\nconst %w: f32[4,3,3,3] = random(1)\n"
         "const %b: f32[4] = random(2)\n"
         "%t = transpose(%x) {permutation=[0,3,1,2]}\n"
         "%f = cast(%t) {to=f32}\n"
         "%centred = binary(%f, %mean) {function=sub}\n"
         "%scaled = binary(%centred, %scale) {function=mul}\n"
         "%y = conv(%scaled, %w, %b)" +
         attributes + "\noutput %y\n";
}

std::vector<float> Computed(const Graph& graph, const Sample& sample) {
  auto runner = GraphRunner::Make(graph, {});
  REQUIRE_MESSAGE(runner.ok(), (runner.ok() ? "" : runner.error().message));
  REQUIRE(runner->Run(sample).ok());
  const Span<const float> output = runner->Output(0);
  return {output.begin(), output.end()};
}

/// Differences between what the graph computes of random bytes before and after.
std::vector<double> Changes(const Graph& before, const Graph& after) {
  const Sample sample = RandomSamples(before, 1).front();
  const std::vector<float> a = Computed(before, sample);
  const std::vector<float> b = Computed(after, sample);
  REQUIRE(a.size() == b.size());
  std::vector<double> changes;
  for (size_t i = 0; i < a.size(); ++i) changes.push_back(std::abs(double{a[i]} - double{b[i]}));
  return changes;
}

double Largest(const std::vector<double>& values) {
  return *std::max_element(values.begin(), values.end());
}

Graph Taken(const Graph& before, const std::set<OpId>& keep = {}) {
  Graph graph = before;
  REQUIRE(TakeBytes(graph, keep).ok());
  return graph;
}

TEST_CASE("TakeBytes: a convolution reads the bytes, with a zero point for each channel") {
  const Graph before = GraphOf(
      "input %x: u8[1,4,4,2]\n"
      "const %mean: f32[1,2,1,1] = [128, 100]\n"
      "const %scale: f32[1,2,1,1] = [0.5, 0.25]\n"
      "const %w: f32[1,2,1,1] = [3, 4]\n"
      "%t = transpose(%x) {permutation=[0,3,1,2]}\n"
      "%f = cast(%t) {to=f32}\n"
      "%centred = binary(%f, %mean) {function=sub}\n"
      "%scaled = binary(%centred, %scale) {function=mul}\n"
      "%y = conv(%scaled, %w)\n"
      "output %y\n");
  CHECK(PrintGraph(Taken(before)) ==
        "graph \"\"\n"
        "input %x: u8[1,4,4,2]\n"
        "const %w.of_bytes: f32[1,2,1,1] = [3, 2]\n"
        "const %x.scale: f32[2] = [0.5, 0.5]\n"
        "const %x.zero_point: u8[2] = [128, 100]\n"
        "%x.turned: u8[1,2,4,4] = transpose(%x) {permutation=[0,3,1,2]}\n"
        "%x.dequantize: f32[1,2,4,4] = dequantize(%x.turned, %x.scale, %x.zero_point) {axis=1}\n"
        "%y: f32[1,1,4,4] = conv(%x.dequantize, %w.of_bytes)\n"
        "output %y\n");
}

TEST_CASE("TakeBytes: the same is computed, whatever is left of the means goes into the bias") {
  const Graph before =
      GraphOf(Camera("[123.675, 116.28, 103.5]", "[0.017125, 0.017507, 0.017429]", ""));
  const Graph after = Taken(before);
  CHECK(PrintGraph(after).find("binary") == std::string::npos);
  CHECK(PrintGraph(after).find("bias_of_bytes") != std::string::npos);
  CHECK(Largest(Changes(before, after)) < 2e-5);
}

TEST_CASE(
    "TakeBytes: padding is the rest of the means off, at most half a byte, and nothing else") {
  const Graph before = GraphOf(
      Camera("[127.5, 127.5, 127.5]", "[0.0078125, 0.0078125, 0.0078125]", " {pads=[1,1,1,1]}"));
  const std::vector<double> changes = Changes(before, Taken(before));
  double inside = 0;
  double border = 0;
  for (size_t i = 0; i < changes.size(); ++i) {
    const size_t row = i / 8 % 8;
    const size_t column = i % 8;
    const bool is_inside = row > 0 && row < 7 && column > 0 && column < 7;
    double& largest = is_inside ? inside : border;
    largest = std::max(largest, changes[i]);
  }
  CHECK(inside < 2e-5);
  CHECK(border > 2e-5);
  CHECK(border < 15 * 0.5 * 0.0078125);  // five taps of three channels, weights below 1
}

TEST_CASE("TakeBytes: whole means leave nothing, padded or not") {
  const Graph before =
      GraphOf(Camera("[128, 0, 255]", "[0.0078125, -0.5, 0.25]", " {pads=[1,1,1,1]}"));
  const Graph after = Taken(before);
  CHECK(PrintGraph(after).find("binary") == std::string::npos);
  CHECK(PrintGraph(after).find("bias_of_bytes") == std::string::npos);
  CHECK(Largest(Changes(before, after)) < 1e-3);  // of sums up to 500
}

TEST_CASE("TakeBytes: groups meet the means of their own channels") {
  const Graph before = GraphOf(
      "input %x: u8[1,2,5,5]\n"
      "const %mean: f32[1,2,1,1] = [30.25, 99.5]\n"
      "const %scale: f32[1,2,1,1] = [0.0625, 0.01]\n"
      "const %w: f32[4,1,3,3] = random(1)\n"
      "%f = cast(%x) {to=f32}\n"
      "%centred = binary(%f, %mean) {function=sub}\n"
      "%scaled = binary(%centred, %scale) {function=mul}\n"
      "%y = conv(%scaled, %w) {group=2}\n"
      "output %y\n");
  const Graph after = Taken(before);
  CHECK(PrintGraph(after).find("binary") == std::string::npos);
  CHECK(Largest(Changes(before, after)) < 2e-4);  // of sums up to 100
}

TEST_CASE("TakeBytes: channels whose 0 no byte stands for are left, and what is to be kept") {
  const Graph far = GraphOf(Camera("[-5, 128, 128]", "[1, 1, 1]", ""));
  CHECK(PrintGraph(Taken(far)) == PrintGraph(far));
  const Graph near = GraphOf(Camera("[5, 128, 128]", "[1, 1, 1]", ""));
  CHECK(PrintGraph(Taken(near, {OpNamed(near, "y")})) == PrintGraph(near));
  CHECK(PrintGraph(Taken(near)) != PrintGraph(near));
}

}  // namespace
}  // namespace tenon::converter
