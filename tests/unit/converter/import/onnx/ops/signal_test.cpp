// Fourier transforms, short and long, beside their definition.
#include <doctest/doctest.h>

#include <cmath>
#include <numbers>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

using Floats = std::vector<float>;

struct Case {
  int32_t rows;
  int32_t length;
  bool one_sided;
  bool inverse;
};

Floats Signal(const Case& c) {
  Floats x;
  for (int32_t i = 0; i < c.rows * c.length; ++i) {
    x.push_back(std::sin(static_cast<float>(i * i % 1000)));
  }
  return x;
}

/// Of rows of real numbers: each bin's sum of x[n] exp(-2 pi i n k / length), or the inverse.
std::vector<double> ByDefinition(const Case& c, const Floats& x) {
  const int32_t bins = c.one_sided ? c.length / 2 + 1 : c.length;
  std::vector<double> y;
  for (int32_t row = 0; row < c.rows; ++row) {
    for (int32_t k = 0; k < bins; ++k) {
      double sums[2] = {0.0, 0.0};
      for (int32_t n = 0; n < c.length; ++n) {
        const int64_t turn = int64_t{n} * k % c.length;
        const double angle = 2.0 * std::numbers::pi * static_cast<double>(turn) / c.length;
        const auto value = double{x[static_cast<size_t>(row * c.length + n)]};
        sums[0] += value * std::cos(angle);
        sums[1] += value * std::sin(angle) * (c.inverse ? 1.0 : -1.0);
      }
      for (const double sum : sums) y.push_back(c.inverse ? sum / c.length : sum);
    }
  }
  return y;
}

TEST_CASE("DFT: transforms of any length are those of the definition") {
  // 512, 600 and 2048 points go in two steps; 521 is a prime, and 96 is short.
  for (const Case& c :
       {Case{3, 512, true, false}, Case{2, 512, false, false}, Case{2, 512, false, true},
        Case{1, 600, true, false}, Case{1, 2048, true, false}, Case{2, 521, true, false},
        Case{2, 96, true, false}, Case{2, 96, false, true}}) {
    CAPTURE(c.length);
    CAPTURE(c.one_sided);
    CAPTURE(c.inverse);
    const auto model = ModelBuilder(17)
                           .Input("x", {c.rows, c.length, 1})
                           .Node("DFT", {"x"}, {"y"})
                           .Set("axis", 1)
                           .Set("onesided", c.one_sided ? 1 : 0)
                           .Set("inverse", c.inverse ? 1 : 0)
                           .Output("y");
    const Floats x = Signal(c);
    const Floats got = Run(model, {x});
    const std::vector<double> wanted = ByDefinition(c, x);
    REQUIRE(got.size() == wanted.size());
    const double scale = c.inverse ? 1.0 / c.length : 1.0;
    for (size_t i = 0; i < got.size(); ++i) {
      if (std::abs(double{got[i]} - wanted[i]) > 2e-4 * scale) {
        FAIL_CHECK(i << ": " << got[i] << " for " << wanted[i]);
      }
    }
  }
}

TEST_CASE("DFT: a long transform takes a fraction of the products of its definition") {
  const auto model = ModelBuilder(17)
                         .Input("x", {4, 2048, 1})
                         .Node("DFT", {"x"}, {"y"})
                         .Set("axis", 1)
                         .Set("onesided", 1)
                         .Output("y");
  const auto graph = model.Import();
  REQUIRE(graph.ok());
  int64_t bytes = 0;
  for (const TensorId id : graph->Tensors()) {
    const Tensor& tensor = graph->tensor(id);
    if (tensor.IsConstant()) bytes += static_cast<int64_t>(tensor.constant->size());
  }
  CHECK(bytes < 2048 * 1025 * 2 * 4 / 10);
}

TEST_CASE("STFT: a step beyond the signal's end leaves one frame") {
  const auto model = ModelBuilder(17)
                         .Input("x", {1, 2, 1})
                         .ScalarInt("step", 3)
                         .Floats("window", {2}, {1, 1})
                         .Node("STFT", {"x", "step", "window"}, {"y"})
                         .Output("y");
  CheckClose(Run(model, {{1, 2}}), {3, 0, -1, 0});
}

TEST_CASE("STFT: a signal of two dimensions is real, as ONNX Runtime takes it") {
  const auto model = ModelBuilder(17)
                         .Input("x", {1, 4})
                         .ScalarInt("step", 2)
                         .Floats("window", {2}, {1, 1})
                         .Node("STFT", {"x", "step", "window"}, {"y"})
                         .Output("y");
  // Frames (1, 2) and (3, 5): sums, then differences, each with its imaginary part.
  CheckClose(Run(model, {{1, 2, 3, 5}}), {3, 0, -1, 0, 8, 0, -2, 0});
}

}  // namespace
}  // namespace tenon::converter::test
