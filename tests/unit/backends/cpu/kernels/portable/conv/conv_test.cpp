#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr double kTolerance = 2e-6;

struct ConvCase {
  std::vector<int32_t> x;
  std::vector<int32_t> w;
  ConvAttributes attributes;
  Layout layouts[4] = {};  // x, w, y, residual
  bool bias = false;
  bool residual = false;
};

int32_t OutExtent(const ConvCase& c, size_t axis) {
  const ConvAttributes& a = c.attributes;
  const int32_t reach = (c.w[2 + axis] - 1) * a.dilations[axis] + 1;
  return (c.x[2 + axis] + a.pads[axis] + a.pads[2 + axis] - reach) / a.strides[axis] + 1;
}

/// The definition, index by index, in double precision, on logical row-major values.
std::vector<double> NaiveConv(const ConvCase& c, const std::vector<float>& x,
                              const std::vector<float>& w, const std::vector<float>& bias,
                              const std::vector<float>& residual) {
  const ConvAttributes& a = c.attributes;
  const int32_t out_h = OutExtent(c, 0);
  const int32_t out_w = OutExtent(c, 1);
  const int32_t per_group = c.w[0] / a.group;
  std::vector<double> y;
  for (int32_t n = 0; n < c.x[0]; ++n) {
    for (int32_t m = 0; m < c.w[0]; ++m) {
      for (int32_t oh = 0; oh < out_h; ++oh) {
        for (int32_t ow = 0; ow < out_w; ++ow) {
          double sum = bias.empty() ? 0.0 : static_cast<double>(bias[static_cast<size_t>(m)]);
          if (!residual.empty()) sum += static_cast<double>(residual[y.size()]);
          for (int32_t i = 0; i < c.w[1]; ++i) {
            for (int32_t kh = 0; kh < c.w[2]; ++kh) {
              for (int32_t kw = 0; kw < c.w[3]; ++kw) {
                const int32_t ih = oh * a.strides[0] - a.pads[0] + kh * a.dilations[0];
                const int32_t iw = ow * a.strides[1] - a.pads[1] + kw * a.dilations[1];
                if (ih < 0 || ih >= c.x[2] || iw < 0 || iw >= c.x[3]) continue;
                const int32_t channel = m / per_group * c.w[1] + i;
                const int32_t xi = ((n * c.x[1] + channel) * c.x[2] + ih) * c.x[3] + iw;
                const int32_t wi = ((m * c.w[1] + i) * c.w[2] + kh) * c.w[3] + kw;
                sum += static_cast<double>(x[static_cast<size_t>(xi)]) *
                       static_cast<double>(w[static_cast<size_t>(wi)]);
              }
            }
          }
          y.push_back(sum);
        }
      }
    }
  }
  return y;
}

struct Outcome {
  std::vector<float> actual;
  std::vector<double> expected;
  bool gaps_intact;
};

/// Runs the case on random values; expected has no activation.
Outcome RunConv(const ConvCase& c, Generator& random, int threads = 1) {
  OpFixture op(OpKind::kConv);
  const Tensor x = op.AddInput(Random(c.x, c.layouts[0], random));
  const Tensor w = op.AddInput(Random(c.w, c.layouts[1], random), kConstant);
  const std::vector<int32_t> y_dims = {c.x[0], c.w[0], OutExtent(c, 0), OutExtent(c, 1)};
  std::vector<float> bias;
  std::vector<float> residual;
  if (c.bias) {
    bias = op.AddInput(Random({c.w[0]}, Layout::kRowMajor, random)).Values<float>();
  } else {
    op.AddAbsentInput();
  }
  if (c.residual) residual = op.AddInput(Random(y_dims, c.layouts[3], random)).Values<float>();
  const Tensor y = op.AddOutput(Tensor(DType::kF32, y_dims, c.layouts[2]));
  REQUIRE(op.Run(c.attributes, threads).ok());
  return {y.Values<float>(), NaiveConv(c, x.Values<float>(), w.Values<float>(), bias, residual),
          y.GapsIntact()};
}

ConvCase Plain(const std::vector<int32_t>& x, const std::vector<int32_t>& w) {
  ConvCase c;
  c.x = x;
  c.w = w;
  return c;
}

Layout AnyLayout(Generator& random) { return kAllLayouts[Pick(random, 0, 4)]; }

ConvCase RandomCase(Generator& random) {
  ConvCase c;
  ConvAttributes& a = c.attributes;
  a.group = Pick(random, 0, 2) == 0 ? Pick(random, 2, 12) : 1;
  const int32_t in_per_group = Pick(random, 0, 2) == 0 ? 1 : Pick(random, 1, 70);
  const int32_t out_per_group = Pick(random, 0, 2) == 0 ? 1 : Pick(random, 1, 20);
  c.w = {a.group * out_per_group, in_per_group, Pick(random, 1, 5), Pick(random, 1, 5)};
  c.x = {Pick(random, 1, 2), a.group * in_per_group, 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    a.strides[i] = Pick(random, 1, 3);
    a.dilations[i] = Pick(random, 1, 2);
    const int32_t reach = (c.w[2 + i] - 1) * a.dilations[i] + 1;
    a.pads[i] = Pick(random, 0, reach);
    a.pads[2 + i] = Pick(random, 0, reach);
    c.x[2 + i] = Pick(random, std::max<int32_t>(1, reach - a.pads[i] - a.pads[2 + i]), 16);
  }
  for (Layout& layout : c.layouts) layout = AnyLayout(random);
  c.bias = Pick(random, 0, 1) == 1;
  c.residual = Pick(random, 0, 1) == 1;
  return c;
}

TEST_CASE("Conv: agrees with the definition over random shapes, strides, pads and layouts") {
  Generator random(1);
  for (int i = 0; i < RandomCases(300); ++i) {
    const Outcome outcome = RunConv(RandomCase(random), random, Pick(random, 1, 3));
    INFO("case ", i);
    CHECK(LargestRelativeError(outcome.actual, outcome.expected) < kTolerance);
    CHECK(outcome.gaps_intact);
  }
}

TEST_CASE("Conv: a depthwise convolution agrees with the definition in every layout") {
  Generator random(2);
  for (const Layout layout : kAllLayouts) {
    ConvCase c = Plain({2, 19, 9, 11}, {19, 1, 3, 3});
    c.attributes.group = 19;
    c.attributes.strides[1] = 2;
    for (int32_t& pad : c.attributes.pads) pad = 1;
    for (Layout& each : c.layouts) each = layout;
    const Outcome outcome = RunConv(c, random);
    CHECK(LargestRelativeError(outcome.actual, outcome.expected) < kTolerance);
  }
}

TEST_CASE("Conv: a pointwise convolution agrees with the definition in every layout") {
  Generator random(3);
  for (const Layout layout : kAllLayouts) {
    ConvCase c = Plain({2, 150, 7, 7}, {21, 150, 1, 1});
    c.bias = c.residual = true;
    for (Layout& each : c.layouts) each = layout;
    const Outcome outcome = RunConv(c, random);
    CHECK(LargestRelativeError(outcome.actual, outcome.expected) < kTolerance);
  }
}

TEST_CASE("Conv: more taps than are packed at once agree with the definition") {
  Generator random(4);
  ConvCase c = Plain({1, 3, 15, 15}, {9, 3, 11, 11});
  for (int32_t& pad : c.attributes.pads) pad = 5;
  const Outcome outcome = RunConv(c, random);
  CHECK(LargestRelativeError(outcome.actual, outcome.expected) < kTolerance);
}

TEST_CASE("Conv: padding counts as zero, so a window of padding alone gives the bias") {
  OpFixture op(OpKind::kConv);
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 1, 1, 1}, {5.0F}));
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 1, 1, 1}, {3.0F}));
  op.AddInput(Tensor::From<float>(DType::kF32, {1}, {0.25F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, 1, 3}));
  ConvAttributes attributes;
  attributes.pads[1] = attributes.pads[3] = 1;
  REQUIRE(op.Run(attributes).ok());
  CHECK(y.Values<float>() == std::vector<float>{0.25F, 15.25F, 0.25F});
}

TEST_CASE("Conv: the activation comes after bias and residual, on the whole sum") {
  Generator random(5);
  constexpr UnaryFunction kFunctions[] = {UnaryFunction::kRelu, UnaryFunction::kClip,
                                          UnaryFunction::kHardSwish, UnaryFunction::kSilu};
  for (const UnaryFunction function : kFunctions) {
    ConvCase c = Plain({1, 100, 5, 6}, {10, 100, 3, 3});
    c.bias = c.residual = true;
    c.attributes.activation = {function, -0.5F, 2.0F};
    Outcome outcome = RunConv(c, random);
    for (double& value : outcome.expected) {
      const double a = -0.5;
      const double b = 2.0;
      if (function == UnaryFunction::kRelu) value = std::max(value, 0.0);
      if (function == UnaryFunction::kClip) value = std::min(std::max(value, a), b);
      if (function == UnaryFunction::kHardSwish) {
        value *= std::max(0.0, std::min(1.0, value / 6.0 + 0.5));
      }
      if (function == UnaryFunction::kSilu) value /= 1.0 + std::exp(-value);
    }
    // The sums that clip cuts down to 2 are larger: so are their roundings.
    CHECK(LargestRelativeError(outcome.actual, outcome.expected) < 5 * kTolerance);
  }
}

TEST_CASE("Conv: the residual may be the output's own memory") {
  Generator random(6);
  for (const Layout layout : kAllLayouts) {
    ConvCase c = Plain({2, 90, 6, 6}, {11, 90, 3, 3});
    for (int32_t& pad : c.attributes.pads) pad = 1;
    OpFixture op(OpKind::kConv);
    const Tensor x = op.AddInput(Random(c.x, layout, random));
    const Tensor w = op.AddInput(Random(c.w, Layout::kRowMajor, random));
    op.AddAbsentInput();
    const Tensor y = op.AddInput(Random({2, 11, 6, 6}, layout, random));
    const std::vector<float> residual = y.Values<float>();
    op.AddOutput(y);
    REQUIRE(op.Run(c.attributes, 2).ok());
    const auto expected = NaiveConv(c, x.Values<float>(), w.Values<float>(), {}, residual);
    CHECK(LargestRelativeError(y.Values<float>(), expected) < kTolerance);
  }
}

TEST_CASE("Conv: the number of threads does not change a bit") {
  for (uint32_t seed = 10; seed < 30; ++seed) {
    Generator shapes(seed);
    const ConvCase c = RandomCase(shapes);
    std::vector<std::vector<float>> results;
    for (const int threads : {1, 2, 3, 5}) {
      Generator random(seed);
      results.push_back(RunConv(c, random, threads).actual);
    }
    for (const auto& result : results) CHECK(result == results[0]);
  }
}

TEST_CASE("Conv: empty images write nothing") {
  OpFixture op(OpKind::kConv);
  op.AddInput(Tensor(DType::kF32, {0, 3, 8, 8}));
  op.AddInput(Tensor(DType::kF32, {4, 3, 3, 3}));
  op.AddOutput(Tensor(DType::kF32, {0, 4, 6, 6}));
  CHECK(op.Run(ConvAttributes{}, 2).ok());
}

TEST_CASE("Conv: NaN reaches exactly the outputs whose windows hold it") {
  OpFixture op(OpKind::kConv);
  std::vector<float> values(25, 1.0F);
  values[0] = std::nanf("");
  op.AddInput(Tensor::From(DType::kF32, {1, 1, 5, 5}, values));
  op.AddInput(Tensor::From(DType::kF32, {1, 1, 3, 3}, std::vector<float>(9, 1.0F)));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, 3, 3}));
  REQUIRE(op.Run(ConvAttributes{}).ok());
  const auto result = y.Values<float>();
  CHECK(std::isnan(result[0]));
  CHECK(std::vector<float>(result.begin() + 1, result.end()) == std::vector<float>(8, 9.0F));
}

TEST_CASE("Conv: refuses other types than f32") {
  OpFixture op(OpKind::kConv);
  op.AddInput(Tensor(DType::kF16, {1, 1, 3, 3}));
  op.AddInput(Tensor(DType::kF16, {1, 1, 3, 3}));
  op.AddOutput(Tensor(DType::kF16, {1, 1, 1, 1}));
  CHECK(op.Check(ConvAttributes{}).code() == StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tenon::cpu::testing
