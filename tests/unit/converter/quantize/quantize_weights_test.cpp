#include <cmath>

#include "converter/quantize/insert_quantization.hpp"
#include "tests/unit/converter/quantize/quantize_testing.hpp"

namespace tenon::converter {
namespace {

TEST_CASE("QuantizeWeights: every output channel has its own scale, and errs by half a step") {
  const Graph graph = GraphOf(
      "input %x: f32[1,3,4,4]\nconst %w: f32[2,3,1,1] = [1, -0.25, 0.3, 200, 100, -127]\n"
      "%y = conv(%x, %w)\noutput %y\n");
  const Op& op = graph.op(OpNamed(graph, "y"));
  const QuantizedWeights weights = QuantizeWeights(graph, op, 1);
  CHECK(weights.axis == 0);
  CHECK(weights.values == std::vector<int8_t>{127, -32, 38, 127, 64, -81});
  CHECK(weights.scales[0] == doctest::Approx(1.0 / 127));
  const Shape& shape = graph.tensor(op.inputs[1]).shape;
  const std::vector<double> exact = ReadElements(graph.tensor(op.inputs[1]));
  const std::vector<float> rounded = weights.Dequantize(shape);
  for (size_t i = 0; i < exact.size(); ++i) {
    CHECK(std::abs(double{rounded[i]} - exact[i]) <= 0.501 * double{weights.scales[i / 3]});
  }
}

TEST_CASE("QuantizeWeights: channels of a matrix are its columns, or rows if it is transposed") {
  for (const bool transposed : {false, true}) {
    const Graph graph =
        GraphOf(fmt::format("input %x: f32[1,2]\nconst %w: f32[2,2] = [1, 100, 2, 200]\n"
                            "%y = matmul(%x, %w) {{transpose_b={}}}\noutput %y\n",
                            transposed ? 1 : 0));
    const QuantizedWeights weights = QuantizeWeights(graph, graph.op(OpNamed(graph, "y")), 1);
    CHECK(weights.axis == (transposed ? 0 : 1));
    CHECK(weights.scales[0] == doctest::Approx((transposed ? 100.0 : 2.0) / 127));
    CHECK(weights.scales[1] == doctest::Approx(200.0 / 127));
  }
}

TEST_CASE("QuantizeWeights: a large bias on small weights still fits 32 bits") {
  const Graph graph = GraphOf(
      "input %x: f32[1,1,2,2]\nconst %w: f32[2,1,1,1] = [1e-12, 0]\n"
      "const %b: f32[2] = [5, 0]\n%y = conv(%x, %w, %b)\noutput %y\n");
  const float input_scale = 0.01F;
  const QuantizedWeights weights =
      QuantizeWeights(graph, graph.op(OpNamed(graph, "y")), input_scale);
  CHECK(5 / (double{input_scale} * double{weights.scales[0]}) < 2147483647.0);
  CHECK(weights.scales[1] == 1);
  CHECK(weights.values[1] == 0);
}

}  // namespace
}  // namespace tenon::converter
