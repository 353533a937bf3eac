// Transforms, and the complex numbers between them and what reads those.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <numbers>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/tflite/tflite_builder.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::TensorType;
using Floats = std::vector<float>;

constexpr TensorType kComplex = TensorType::COMPLEX64;

Floats ComputedSpectrum(TfliteBuilder& model, const Floats& x) {
  const Result<Graph> graph = ImportBytes(model.File());
  REQUIRE_MESSAGE(graph.ok(), (graph.ok() ? "" : graph.error().message));
  Values values;
  auto& input = values[graph->inputs().at(0).tensor];
  input.resize(x.size() * sizeof(float));
  std::memcpy(input.data(), x.data(), input.size());
  const TensorId wanted = graph->outputs().at(0).tensor;
  const Status status = Evaluate(*graph, {wanted}, values);
  REQUIRE_MESSAGE(status.ok(), (status.ok() ? "" : status.error().message));
  Floats y(values.at(wanted).size() / sizeof(float));
  std::memcpy(y.data(), values.at(wanted).data(), values.at(wanted).size());
  return y;
}

struct Spectrum {
  int32_t rows, columns;  ///< of the input
  int32_t height, width;  ///< of the transform
};

/// By the definition: the sum of x[h, w] exp(-2 pi i (h u / height + w v / width)).
Floats NaiveSpectrum(const Spectrum& s, const Floats& x, Op part) {
  Floats result;
  for (int32_t u = 0; u < s.height; ++u) {
    for (int32_t v = 0; v <= s.width / 2; ++v) {
      double real = 0;
      double imaginary = 0;
      for (int32_t h = 0; h < std::min(s.rows, s.height); ++h) {
        for (int32_t w = 0; w < std::min(s.columns, s.width); ++w) {
          const double angle =
              -2.0 * std::numbers::pi *
              (static_cast<double>(h * u) / s.height + static_cast<double>(w * v) / s.width);
          const auto value = static_cast<double>(x[static_cast<size_t>(h * s.columns + w)]);
          real += value * std::cos(angle);
          imaginary += value * std::sin(angle);
        }
      }
      const double wanted = part == Op::IMAG          ? imaginary
                            : part == Op::COMPLEX_ABS ? std::hypot(real, imaginary)
                                                      : real;  // of REAL, and of a CAST to f32
      result.push_back(static_cast<float>(wanted));
    }
  }
  return result;
}

TEST_CASE("TFLite lowering: RFFT2D of rows and of planes, cut off and filled up, part by part") {
  for (const Spectrum& s : {Spectrum{1, 8, 1, 8}, Spectrum{1, 6, 1, 8}, Spectrum{3, 8, 1, 4},
                            Spectrum{4, 8, 4, 8}, Spectrum{3, 5, 4, 8}, Spectrum{5, 8, 4, 4},
                            Spectrum{1, 512, 1, 512}, Spectrum{2, 520, 2, 512}}) {
    for (const Op part : {Op::REAL, Op::IMAG, Op::COMPLEX_ABS, Op::CAST}) {
      CAPTURE(s.rows);
      CAPTURE(s.width);
      TfliteBuilder model;
      const int32_t x = model.Input("x", kF32, {s.rows, s.columns});
      const int32_t length = model.Ints("length", {2}, {s.height, s.width});
      const int32_t f = model.Value("f", kComplex, {s.height, s.width / 2 + 1});
      const int32_t y = model.Output("y", kF32, {s.height, s.width / 2 + 1});
      model.Node(Op::RFFT2D, {x, length}, {f});
      model.Node(part, {f}, {y});
      Floats values;
      for (int32_t i = 0; i < s.rows * s.columns; ++i) {
        values.push_back(std::sin(static_cast<float>(i * i)));
      }
      const Floats got = ComputedSpectrum(model, values);
      const Floats wanted = NaiveSpectrum(s, values, part);
      REQUIRE(got.size() == wanted.size());
      const float tolerance = s.width > 100 ? 2e-4F : 1e-5F;
      for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < tolerance);
    }
  }
}

// As TensorFlow writes a transform of one dimension.
TEST_CASE("TFLite lowering: complex numbers get other dims") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {2, 1, 4});
  const int32_t length = model.Ints("length", {2}, {1, 4});
  const int32_t f = model.Value("f", kComplex, {2, 1, 3});
  const int32_t s = model.Value("s", kComplex, {2, 3});
  const int32_t axis = model.Ints("axis", {1}, {0});
  const int32_t e = model.Value("e", kComplex, {1, 2, 3});
  const int32_t dims = model.Ints("dims", {2}, {3, -1});
  const int32_t r = model.Value("r", kComplex, {3, 2});
  const int32_t y = model.Output("y", kF32, {3, 2});
  model.Node(Op::RFFT2D, {x, length}, {f});
  model.Node(Op::SQUEEZE, {f}, {s});
  model.Node(Op::EXPAND_DIMS, {s, axis}, {e});
  model.Node(Op::RESHAPE, {e, dims}, {r});
  model.Node(Op::REAL, {r}, {y});
  const Floats got = ComputedSpectrum(model, {1, 1, 1, 1, 0, 1, 0, 0});
  const Floats wanted = {4, 0, 0, 1, 0, -1};
  REQUIRE(got.size() == wanted.size());
  for (size_t i = 0; i < got.size(); ++i) CHECK(std::abs(got[i] - wanted[i]) < 1e-6F);
}

TEST_CASE("TFLite lowering: complex numbers are refused where nothing computes with them") {
  const auto refused = [](Op op, bool as_output) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {1, 4});
    const int32_t length = model.Ints("length", {2}, {1, 4});
    const int32_t f = model.Value("f", kComplex, {1, 3});
    model.Node(Op::RFFT2D, {x, length}, {f});
    const int32_t y = model.Output("y", as_output ? kComplex : kF32, {1, 3});
    model.Node(op, {f}, {y});
    return model.Text();
  };
  CHECK(refused(Op::NEG, true).find("it cannot compute with complex numbers") != std::string::npos);
  CHECK(refused(Op::SQUEEZE, true).find("type COMPLEX64 is not supported") != std::string::npos);
  CHECK(refused(Op::SQUEEZE, false).find("is not of complex numbers") != std::string::npos);
  TfliteBuilder real;
  const int32_t x = real.Input("x", kF32, {4});
  const int32_t y = real.Output("y", kF32, {4});
  real.Node(Op::COMPLEX_ABS, {x}, {y});
  CHECK(real.Text().find("it does not read complex numbers") != std::string::npos);
  TfliteBuilder given;
  const int32_t c = given.Input("c", kComplex, {4});
  const int32_t z = given.Output("z", kF32, {4});
  given.Node(Op::REAL, {c}, {z});
  CHECK(given.Text().find("type COMPLEX64 is not supported") != std::string::npos);
}

TEST_CASE("TFLite lowering: lengths that no table holds are refused") {
  for (const int32_t width : {0, -4, 16384}) {
    TfliteBuilder model;
    const int32_t x = model.Input("x", kF32, {1, 4});
    const int32_t length = model.Ints("length", {2}, {1, width});
    const int32_t f = model.Value("f", kComplex, {1, 3});
    const int32_t y = model.Output("y", kF32, {1, 3});
    model.Node(Op::RFFT2D, {x, length}, {f});
    model.Node(Op::REAL, {f}, {y});
    CHECK(model.Text().find("points are not supported, only up to 8192") != std::string::npos);
  }
}

}  // namespace
}  // namespace tenon::converter::test
