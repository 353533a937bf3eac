// Convolutions and windows over three dimensions, and those of StableHLO over any.
#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

#include "tests/unit/converter/import/tflite/run_steps.hpp"

namespace tenon::converter::test {
namespace {

using Op = format::BuiltinOperator;
using format::BuiltinOptions;
using format::BuiltinOptions2;
using format::TensorType;
using Dims = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;

size_t CountOf(const Dims& dims) {
  return std::accumulate(dims.begin(), dims.end(), size_t{1}, std::multiplies<>());
}

/// Small whole numbers, so that sums are exact in any order.
Floats NumbersFor(const Dims& dims, int seed) {
  Floats values(CountOf(dims));
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>((static_cast<int>(i) * 7 + seed) % 11 - 5);
  }
  return values;
}

/// One spatial dimension: taps at o * stride + k * dilation - before of an input whose elements are
/// `spread` apart.
struct Along {
  int input;
  int kernel;
  int output;
  int stride = 1;
  int dilation = 1;
  int before = 0;
  int spread = 1;

  /// The input's element under tap k of output o, or -1.
  [[nodiscard]] int At(int o, int k) const {
    const int place = o * stride + k * dilation - before;
    if (place < 0 || place % spread != 0 || place / spread >= input) return -1;
    return place / spread;
  }
};

/// y [D, H, W, M] of x [D, H, W, C] and w [D, H, W, C, M].
Floats Reference(const Floats& x, const Floats& w, const Along (&along)[3], int channels,
                 int outputs) {
  const Along& d = along[0];
  const Along& h = along[1];
  const Along& v = along[2];
  Floats y(static_cast<size_t>(d.output * h.output * v.output * outputs));
  for (int place = 0; place < d.output * h.output * v.output; ++place) {
    const int o[3] = {place / (h.output * v.output), place / v.output % h.output, place % v.output};
    for (int tap = 0; tap < d.kernel * h.kernel * v.kernel; ++tap) {
      const int k[3] = {tap / (h.kernel * v.kernel), tap / v.kernel % h.kernel, tap % v.kernel};
      const int i[3] = {d.At(o[0], k[0]), h.At(o[1], k[1]), v.At(o[2], k[2])};
      if (i[0] < 0 || i[1] < 0 || i[2] < 0) continue;
      const int from = ((i[0] * h.input + i[1]) * v.input + i[2]) * channels;
      for (int c = 0; c < channels; ++c) {
        for (int m = 0; m < outputs; ++m) {
          y[static_cast<size_t>(place * outputs + m)] +=
              x[static_cast<size_t>(from + c)] *
              w[static_cast<size_t>((tap * channels + c) * outputs + m)];
        }
      }
    }
  }
  return y;
}

TEST_CASE("TFLite lowering: CONV_3D slides over three dimensions, with strides and dilations") {
  const Dims x_dims = {1, 4, 5, 6, 2};
  const Dims w_dims = {3, 2, 3, 2, 3};
  const Floats w = NumbersFor(w_dims, 3);
  const Floats bias = {1, -2, 3};
  const Along along[3] = {{4, 3, 4, 1, 1, 1}, {5, 2, 3, 2, 1, 0}, {6, 3, 6, 1, 2, 2}};
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, x_dims);
  const int32_t weights = model.Floats("w", w_dims, w);
  const int32_t b = model.Floats("b", {3}, bias);
  const int32_t y = model.Output("y", kF32, {1, 4, 3, 6, 3});
  const auto options = format::CreateConv3DOptions(model.flat, format::Padding::SAME, 1, 1, 2,
                                                   format::ActivationFunctionType::RELU, 1, 2, 1);
  model.Node(Op::CONV_3D, {x, weights, b}, {y}, BuiltinOptions::Conv3DOptions, options.Union());
  Floats expected = Reference(NumbersFor(x_dims, 1), w, along, 2, 3);
  for (size_t i = 0; i < expected.size(); ++i) {
    expected[i] = std::max(0.0F, expected[i] + bias[i % 3]);
  }
  CHECK(RunStep(model, {{"x", NumbersFor(x_dims, 1)}})["y"] == expected);
}

TEST_CASE("TFLite lowering: CONV_3D wants volumes of equally many channels") {
  TfliteBuilder model;
  const int32_t x = model.Input("x", kF32, {1, 4, 4, 4, 2});
  const int32_t w = model.Floats("w", {1, 1, 1, 3, 1}, {1, 2, 3});
  const int32_t y = model.Output("y", kF32, {1, 4, 4, 4, 1});
  model.Node(Op::CONV_3D, {x, w}, {y}, BuiltinOptions::Conv3DOptions,
             format::CreateConv3DOptions(model.flat, format::Padding::VALID, 1, 1, 1).Union());
  CHECK(model.Text() ==
        "error: node 'y' (CONV_3D): its input and weights are no volumes of equally many channels");
}

/// w [D, H, W, M, C] as [D, H, W, C, M] with every spatial dimension in reverse.
Floats TurnedWeights(const Floats& w, const Dims& dims) {
  const int taps = dims[0] * dims[1] * dims[2];
  Floats turned(w.size());
  for (int t = 0; t < taps; ++t) {
    for (int m = 0; m < dims[3]; ++m) {
      for (int c = 0; c < dims[4]; ++c) {
        turned[static_cast<size_t>(((taps - 1 - t) * dims[4] + c) * dims[3] + m)] =
            w[static_cast<size_t>((t * dims[3] + m) * dims[4] + c)];
      }
    }
  }
  return turned;
}

TEST_CASE("TFLite lowering: CONV_3D_TRANSPOSE spreads volumes by its strides") {
  const Dims x_dims = {1, 2, 3, 4, 2};
  const Dims w_dims = {3, 2, 3, 3, 2};
  const Floats w = NumbersFor(w_dims, 5);
  TfliteBuilder model;
  const int32_t shape = model.Ints("shape", {5}, {1, 4, 6, 4, 3});
  const int32_t weights = model.Floats("w", w_dims, w);
  const int32_t x = model.Input("x", kF32, x_dims);
  const int32_t y = model.Output("y", kF32, {1, 4, 6, 4, 3});
  model.Node(Op::CONV_3D_TRANSPOSE, {shape, weights, x}, {y}, BuiltinOptions::Conv3DOptions,
             format::CreateConv3DOptions(model.flat, format::Padding::SAME, 2, 1, 2).Union());
  // SAME cuts off (windows - 1) * stride + kernel - output elements, less than half in front.
  const Along along[3] = {{2, 3, 4, 1, 1, 2, 2}, {3, 2, 6, 1, 1, 1, 2}, {4, 3, 4, 1, 1, 1, 1}};
  CHECK(RunStep(model, {{"x", NumbersFor(x_dims, 1)}})["y"] ==
        Reference(NumbersFor(x_dims, 1), TurnedWeights(w, w_dims), along, 2, 3));
}

/// A model of one STABLEHLO_CONVOLUTION of x [N, spatial..., C] and w [spatial..., C, M].
struct GeneralConv {
  Dims x;
  Dims w;
  Dims y;
  Longs strides;
  Longs pads;
  Longs spreads;
  Longs dilations;
  std::vector<uint8_t> reversed;
  int64_t batch_groups = 1;
};

void AddConv(TfliteBuilder& model, const GeneralConv& conv, const Floats& w) {
  const int32_t x = model.Input("x", kF32, conv.x);
  const int32_t weights = model.Floats("w", conv.w, w);
  const int32_t y = model.Output("y", kF32, conv.y);
  const auto rank = static_cast<int64_t>(conv.x.size());
  Longs spatial(conv.x.size() - 2);
  std::iota(spatial.begin(), spatial.end(), 1);
  Longs of_weights(spatial.size());
  std::iota(of_weights.begin(), of_weights.end(), 0);
  const auto options = format::CreateStablehloConvolutionOptionsDirect(
      model.flat, &conv.strides, &conv.pads, &conv.spreads, &conv.dilations, &conv.reversed, 0,
      rank - 1, &spatial, rank - 2, rank - 1, &of_weights, 0, rank - 1, &spatial, 1,
      conv.batch_groups);
  model.StableNode(Op::STABLEHLO_CONVOLUTION, {x, weights}, {y},
                   BuiltinOptions2::StablehloConvolutionOptions, options.Union());
}

TEST_CASE("TFLite lowering: STABLEHLO_CONVOLUTION has its own strides, pads and dilations") {
  const GeneralConv conv = {{1, 7, 6, 2}, {3, 2, 2, 3}, {1, 3, 7, 3}, {2, 1},
                            {1, 0, 1, 1}, {},           {1, 1},       {}};
  const Floats w = NumbersFor(conv.w, 2);
  const Along along[3] = {{1, 1, 1}, {7, 3, 3, 2, 1, 1}, {6, 2, 7, 1, 1, 1}};
  TfliteBuilder model;
  AddConv(model, conv, w);
  CHECK(RunStep(model, {{"x", NumbersFor(conv.x, 4)}})["y"] ==
        Reference(NumbersFor(conv.x, 4), w, along, 2, 3));
}

TEST_CASE("TFLite lowering: STABLEHLO_CONVOLUTION spreads its input by lhs_dilation") {
  const GeneralConv conv = {{1, 3, 4, 2, 2},    {2, 3, 2, 2, 3}, {1, 6, 4, 3, 3}, {1, 1, 1},
                            {1, 1, 1, 1, 1, 0}, {2, 1, 2},       {1, 1, 1},       {}};
  const Floats w = NumbersFor(conv.w, 2);
  const Along along[3] = {{3, 2, 6, 1, 1, 1, 2}, {4, 3, 4, 1, 1, 1, 1}, {2, 2, 3, 1, 1, 1, 2}};
  TfliteBuilder model;
  AddConv(model, conv, w);
  CHECK(RunStep(model, {{"x", NumbersFor(conv.x, 4)}})["y"] ==
        Reference(NumbersFor(conv.x, 4), w, along, 2, 3));
}

TEST_CASE("TFLite lowering: STABLEHLO_CONVOLUTION of a window in reverse turns its weights") {
  const GeneralConv conv = {{1, 4, 1}, {3, 1, 1}, {1, 2, 1}, {1}, {0, 0}, {1}, {1}, {1}};
  TfliteBuilder model;
  AddConv(model, conv, {1, 10, 100});
  CHECK(RunStep(model, {{"x", {1, 2, 3, 4}}})["y"] == Floats{123, 234});
}

TEST_CASE("TFLite lowering: STABLEHLO_CONVOLUTION of a window in reverse over a spread input") {
  const GeneralConv conv = {{1, 2, 1}, {2, 1, 1}, {1, 4, 1}, {1}, {1, 1}, {2}, {1}, {1}};
  TfliteBuilder model;
  AddConv(model, conv, {1, 10});
  // 0 1 0 2 0 under the window 10 1.
  CHECK(RunStep(model, {{"x", {1, 2}}})["y"] == Floats{1, 10, 2, 20});
}

TEST_CASE("TFLite lowering: STABLEHLO_CONVOLUTION with groups of the batch is refused") {
  GeneralConv conv = {{2, 4, 1}, {3, 1, 2}, {1, 2, 2}, {1}, {0, 0}, {1}, {1}, {}};
  conv.batch_groups = 2;
  TfliteBuilder model;
  AddConv(model, conv, Floats(6, 1.0F));
  CHECK(model.Text() ==
        "error: node 'y' (STABLEHLO_CONVOLUTION): its weights do not fit 1 channels in 1 groups");
}

struct Window {
  Op body;
  float first;
  Longs sizes;
  Longs strides;
  Longs pads;
  Longs spreads = {};
};

void AddWindow(TfliteBuilder& model, const Window& window, const Dims& x_dims, const Dims& y_dims) {
  const int32_t x = model.Input("x", kF32, x_dims);
  const int32_t first = model.Floats("first", {}, {window.first});
  const int32_t y = model.Output("y", kF32, y_dims);
  const int32_t a = model.Value("a", kF32, {});
  const int32_t b = model.Value("b", kF32, {});
  const int32_t c = model.Value("c", kF32, {});
  const int32_t body = model.Graph({a, b}, {c}, [&] { model.Node(window.body, {a, b}, {c}); });
  const auto options = format::CreateStablehloReduceWindowOptionsDirect(
      model.flat, &window.sizes, &window.strides, &window.spreads, nullptr, &window.pads, body);
  model.StableNode(Op::STABLEHLO_REDUCE_WINDOW, {x, first}, {y},
                   BuiltinOptions2::StablehloReduceWindowOptions, options.Union());
}

TEST_CASE("TFLite lowering: STABLEHLO_REDUCE_WINDOW takes maxima, minima and sums of windows") {
  const Floats x = {3, 1, 4, 1, 5, 9, 2, 6};
  TfliteBuilder most;
  AddWindow(most, {Op::MAXIMUM, -INFINITY, {2, 2}, {1, 2}, {0, 0, 0, 0}}, {2, 4}, {1, 2});
  CHECK(RunStep(most, {{"x", x}})["y"] == Floats{9, 6});
  TfliteBuilder least;
  AddWindow(least, {Op::MINIMUM, 2.0F, {1, 3}, {1, 1}, {0, 0, 1, 1}}, {2, 4}, {2, 4});
  CHECK(RunStep(least, {{"x", x}})["y"] == Floats{1, 1, 1, 1, 2, 2, 2, 2});
  TfliteBuilder sums;
  AddWindow(sums, {Op::ADD, 0.0F, {2, 3}, {1, 1}, {0, 0, 1, 1}}, {2, 4}, {1, 4});
  CHECK(RunStep(sums, {{"x", x}})["y"] == Floats{18, 24, 23, 13});
}

TEST_CASE("TFLite lowering: STABLEHLO_REDUCE_WINDOW refuses what windows cannot say") {
  TfliteBuilder product;
  AddWindow(product, {Op::MUL, 1.0F, {2}, {1}, {0, 0}}, {4}, {3});
  CHECK(product.Text() ==
        "error: node 'y' (STABLEHLO_REDUCE_WINDOW): its body is not one that adds or compares");
  TfliteBuilder spread;
  AddWindow(spread, {Op::ADD, 0.0F, {2}, {1}, {0, 0}, {2}}, {4}, {6});
  CHECK(spread.Text() == "error: node 'y' (STABLEHLO_REDUCE_WINDOW): its base_dilations are not 1");
  TfliteBuilder begun;
  AddWindow(begun, {Op::ADD, 1.0F, {2}, {1}, {0, 0}}, {4}, {3});
  CHECK(begun.Text() == "error: node 'y' (STABLEHLO_REDUCE_WINDOW): its sums do not begin with 0");
  TfliteBuilder negative;
  AddWindow(negative, {Op::ADD, 0.0F, {2}, {1}, {0, -1}}, {4}, {2});
  CHECK(negative.Text() ==
        "error: node 'y' (STABLEHLO_REDUCE_WINDOW): its padding must be 2 numbers from 0 to "
        "268435456");
}

}  // namespace
}  // namespace tenon::converter::test
