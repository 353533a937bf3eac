#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

/// By the definition in doubles, on logical row-major values.
std::vector<double> NaiveLayerNorm(const std::vector<float>& x, const std::vector<float>& scale,
                                   const std::vector<float>& bias,
                                   const LayerNormAttributes& attributes) {
  const size_t count = scale.size();
  std::vector<double> y(x.size());
  for (size_t row = 0; row < x.size(); row += count) {
    double mean = 0;
    for (size_t i = 0; i < count; ++i) mean += static_cast<double>(x[row + i]);
    mean = attributes.rms != 0 ? 0.0 : mean / static_cast<double>(count);
    double squares = 0;
    for (size_t i = 0; i < count; ++i) {
      squares += std::pow(static_cast<double>(x[row + i]) - mean, 2.0);
    }
    const double deviation =
        std::sqrt(squares / static_cast<double>(count) + static_cast<double>(attributes.epsilon));
    for (size_t i = 0; i < count; ++i) {
      y[row + i] =
          (static_cast<double>(x[row + i]) - mean) / deviation * static_cast<double>(scale[i]);
    }
    // A loop of its own: GCC 12 for a Cortex-M55 turns a chosen summand into a predicated
    // conversion to double, which its assembler does not know.
    for (size_t i = 0; i < bias.size(); ++i) y[row + i] += static_cast<double>(bias[i]);
  }
  return y;
}

}  // namespace

TEST_CASE("LayerNorm: agrees with the definition in any layout, with and without mean and bias") {
  Generator random(1);
  for (int i = 0; i < 120; ++i) {
    Dims dims;
    for (int32_t k = Pick(random, 1, 4); k > 0; --k) dims.push_back(Pick(random, 1, 9));
    dims.back() = Pick(random, 2, 70);
    const LayerNormAttributes attributes = {1e-3F, Pick(random, 0, 1)};
    OpFixture op(OpKind::kLayerNorm);
    const Tensor x =
        op.AddInput(Random(dims, kAllLayouts[Pick(random, 0, 4)], random, -3.0F, 3.0F));
    const Tensor scale = op.AddInput(Random({dims.back()}, Layout::kRowMajor, random));
    std::vector<float> bias;
    if (Pick(random, 0, 1) == 1) {
      bias = op.AddInput(Random({dims.back()}, Layout::kRowMajor, random)).Values<float>();
    }
    const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    CHECK(LargestRelativeError(
              y.Values<float>(),
              NaiveLayerNorm(x.Values<float>(), scale.Values<float>(), bias, attributes)) < 2e-6);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("LayerNorm of bytes: is the definition rounded, in any layout, saturated") {
  Generator random(2);
  for (int i = 0; i < 120; ++i) {
    Dims dims;
    for (int32_t k = Pick(random, 1, 4); k > 0; --k) dims.push_back(Pick(random, 1, 9));
    dims.back() = Pick(random, 2, 70);
    const LayerNormAttributes attributes = {Pick(random, 0, 1) == 0 ? 0.0F : 5.0F,
                                            Pick(random, 0, 1)};
    const bool is_signed = attributes.rms != 0 || Pick(random, 0, 1) == 0;
    Tensor x(is_signed ? DType::kI8 : DType::kU8, dims, kAllLayouts[Pick(random, 0, 4)]);
    std::vector<uint8_t> bytes(x.count());
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
    x.Set(bytes);
    std::vector<float> numbers;
    for (const uint8_t byte : bytes) {
      numbers.push_back(is_signed ? static_cast<float>(static_cast<int8_t>(byte))
                                  : static_cast<float>(byte));
    }
    OpFixture op(OpKind::kLayerNorm);
    op.AddInput(x);
    const Tensor scale =
        op.AddInput(Random({dims.back()}, Layout::kRowMajor, random, -90.0F, 90.0F));
    std::vector<float> bias;
    if (Pick(random, 0, 1) == 1) {
      bias = op.AddInput(Random({dims.back()}, Layout::kRowMajor, random, -20.0F, 20.0F))
                 .Values<float>();
    }
    const Tensor y = op.AddOutput(Tensor(x.dtype(), dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    const std::vector<double> exact =
        NaiveLayerNorm(numbers, scale.Values<float>(), bias, attributes);
    const std::vector<uint8_t> got = y.Values<uint8_t>();
    const double least = is_signed ? -128 : 0;
    for (size_t k = 0; k < got.size(); ++k) {
      const double clamped = std::min(std::max(exact[k], least), least + 255);
      const auto value = static_cast<double>(is_signed ? static_cast<int8_t>(got[k]) : got[k]);
      CHECK(std::abs(value - clamped) < 0.5 + 1e-4);
    }
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("LayerNorm of bytes: a row without a spread, and parameters that are no numbers") {
  const auto run = [](const std::vector<float>& scale) {
    OpFixture op(OpKind::kLayerNorm);
    op.AddInput(Tensor::From(DType::kU8, {1, 3}, std::vector<uint8_t>{9, 9, 9}));
    op.AddInput(Tensor::From(DType::kF32, {3}, scale));
    op.AddInput(Tensor::From(DType::kF32, {3}, std::vector<float>{7, 300, -4}));
    const Tensor y = op.AddOutput(Tensor(DType::kU8, {1, 3}, Layout::kRowMajor));
    REQUIRE(op.Run(LayerNormAttributes{1.0F, 0}).ok());
    return y.Values<uint8_t>();
  };
  CHECK(run({1, 2, 3}) == std::vector<uint8_t>{7, 255, 0});
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(run({nan, nan, nan}) == std::vector<uint8_t>{0, 0, 0});
}

TEST_CASE("LayerNorm of bytes: other parameters than f32, and u8 without the mean, are refused") {
  const auto is_valid = [](DType dtype, DType parameters, int32_t rms) {
    OpFixture op(OpKind::kLayerNorm);
    op.AddInput(Tensor(dtype, {2, 4}, Layout::kRowMajor));
    op.AddInput(Tensor(parameters, {4}, Layout::kRowMajor));
    (void)op.AddOutput(Tensor(dtype, {2, 4}, Layout::kRowMajor));
    return op.Run(LayerNormAttributes{1.0F, rms}).ok();
  };
  CHECK(is_valid(DType::kI8, DType::kF32, 1));
  CHECK(is_valid(DType::kU8, DType::kF32, 0));
  CHECK_FALSE(is_valid(DType::kU8, DType::kF32, 1));
  CHECK_FALSE(is_valid(DType::kI8, DType::kI8, 0));
}

TEST_CASE("LayerNorm: a row of equal elements is its bias, whatever they are") {
  OpFixture op(OpKind::kLayerNorm);
  Tensor x(DType::kF32, {2, 3}, Layout::kRowMajor);
  x.Set(std::vector<float>{5, 5, 5, -7, -7, -7});
  op.AddInput(x);
  op.AddInput(Tensor::From(DType::kF32, {3}, std::vector<float>{1, 2, 3}));
  op.AddInput(Tensor::From(DType::kF32, {3}, std::vector<float>{0.5F, 1, 2}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 3}, Layout::kRowMajor));
  REQUIRE(op.Run(LayerNormAttributes{}).ok());
  CHECK(y.Values<float>() == std::vector<float>{0.5F, 1, 2, 0.5F, 1, 2});
}

TEST_CASE("LayerNorm: parameters of another length, and a negative epsilon, are refused") {
  const auto is_valid = [](int32_t parameters, float epsilon, int32_t rms) {
    OpFixture op(OpKind::kLayerNorm);
    op.AddInput(Tensor(DType::kF32, {2, 4}, Layout::kRowMajor));
    op.AddInput(Tensor(DType::kF32, {parameters}, Layout::kRowMajor));
    (void)op.AddOutput(Tensor(DType::kF32, {2, 4}, Layout::kRowMajor));
    return op.Run(LayerNormAttributes{epsilon, rms}).ok();
  };
  CHECK(is_valid(4, 0.0F, 1));
  CHECK_FALSE(is_valid(2, 0.0F, 0));
  CHECK_FALSE(is_valid(4, -1.0F, 0));
  CHECK_FALSE(is_valid(4, 0.0F, 2));
}

}  // namespace tenon::cpu::testing
