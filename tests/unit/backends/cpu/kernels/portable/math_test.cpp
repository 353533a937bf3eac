#include "backends/cpu/kernels/portable/math.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <limits>

#include "backends/cpu/kernels/portable/half.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

/// Largest error over floats of every size in [low, high], in units of the last place; results
/// below the smallest normal float count absolutely.
template <typename Function, typename Reference>
double LargestUlps(Function function, Reference reference, float low, float high) {
  double largest = 0.0;
  int count = 0;
  for (uint64_t bits = 0; bits <= 0xFF800000U; bits += 4999) {
    const float x = math::FloatOfBits(static_cast<uint32_t>(bits));
    if (!(x >= low && x <= high)) continue;
    const double expected = reference(static_cast<double>(x));
    if (std::abs(expected) > FLT_MAX) continue;
    const float size = std::max(static_cast<float>(std::abs(expected)), FLT_MIN);
    const double ulp = static_cast<double>(std::nextafter(size, kInf)) - static_cast<double>(size);
    const double error = std::abs(static_cast<double>(function(x)) - expected) / ulp;
    if (!(error <= largest)) largest = error;  // keeps NaN
    ++count;
  }
  REQUIRE(count > 1000);
  return largest;
}

double SoftplusOf(double x) { return std::max(x, 0.0) + std::log1p(std::exp(-std::abs(x))); }

TEST_CASE("Math: exponentials and logarithms stay within 2 units in the last place") {
  CHECK(LargestUlps(
            math::Exp, [](double x) { return std::exp(x); }, -120.0F, 120.0F) < 2.0);
  CHECK(LargestUlps(
            math::ExpMinusOne, [](double x) { return std::expm1(x); }, -120.0F, 89.0F) < 2.0);
  CHECK(LargestUlps(
            math::Log, [](double x) { return std::log(x); }, 0.0F, FLT_MAX) < 2.0);
  CHECK(LargestUlps(
            math::LogOnePlus, [](double x) { return std::log1p(x); }, 0.0F, 1.0F) < 2.0);
}

TEST_CASE("Math: activations stay within a few units in the last place") {
  const auto sigmoid = [](double x) { return 1.0 / (1.0 + std::exp(-x)); };
  CHECK(LargestUlps(math::Sigmoid, sigmoid, -200.0F, 200.0F) < 2.5);
  CHECK(LargestUlps(
            math::Tanh, [](double x) { return std::tanh(x); }, -200.0F, 200.0F) < 2.0);
  CHECK(LargestUlps(
            math::Erf, [](double x) { return std::erf(x); }, -200.0F, 200.0F) < 2.5);
  CHECK(LargestUlps(math::Softplus, SoftplusOf, -200.0F, 200.0F) < 2.5);
  CHECK(LargestUlps([](float x) { return math::Elu(x, 1.5F); },
                    [](double x) { return x > 0.0 ? x : 1.5 * std::expm1(x); }, -200.0F,
                    200.0F) < 2.5);
  const auto silu = [](double x) { return x / (1.0 + std::exp(-x)); };
  CHECK(LargestUlps(math::Silu, silu, -80.0F, 200.0F) < 4.0);
  const auto mish = [](double x) { return x * std::tanh(SoftplusOf(x)); };
  CHECK(LargestUlps(math::Mish, mish, -80.0F, 200.0F) < 4.0);
  const auto gelu = [](double x) { return 0.5 * x * std::erfc(-x / std::sqrt(2.0)); };
  CHECK(LargestUlps(math::Gelu, gelu, -12.9F, 200.0F) < 12.0);  // 1e-6, relative
}

TEST_CASE("Math: rounding functions are exact") {
  CHECK(LargestUlps(
            math::Truncate, [](double x) { return std::trunc(x); }, -1e9F, 1e9F) == 0.0);
  CHECK(LargestUlps(
            math::Floor, [](double x) { return std::floor(x); }, -1e9F, 1e9F) == 0.0);
  CHECK(LargestUlps(
            math::Ceil, [](double x) { return std::ceil(x); }, -1e9F, 1e9F) == 0.0);
  CHECK(LargestUlps(
            math::RoundHalfToEven, [](double x) { return std::nearbyint(x); }, -1e9F, 1e9F) == 0.0);
  CHECK(math::RoundHalfToEven(0.5F) == 0.0F);
  CHECK(math::RoundHalfToEven(1.5F) == 2.0F);
  CHECK(math::RoundHalfToEven(-2.5F) == -2.0F);
  CHECK(std::signbit(math::Ceil(-0.5F)));
}

TEST_CASE("Math: infinities give the limits") {
  CHECK(math::Exp(kInf) == kInf);
  CHECK(math::Exp(-kInf) == 0.0F);
  CHECK(math::ExpMinusOne(kInf) == kInf);
  CHECK(math::ExpMinusOne(-kInf) == -1.0F);
  CHECK(math::Log(kInf) == kInf);
  CHECK(math::Log(0.0F) == -kInf);
  CHECK(std::isnan(math::Log(-1.0F)));
  CHECK(math::Sigmoid(kInf) == 1.0F);
  CHECK(math::Sigmoid(-kInf) == 0.0F);
  CHECK(math::Tanh(kInf) == 1.0F);
  CHECK(math::Tanh(-kInf) == -1.0F);
  CHECK(math::Erf(kInf) == 1.0F);
  CHECK(math::Erf(-kInf) == -1.0F);
  CHECK(math::Softplus(kInf) == kInf);
  CHECK(math::Softplus(-kInf) == 0.0F);
  CHECK(math::Softsign(-kInf) == -1.0F);
  for (auto* function : {math::Gelu, math::Silu, math::Mish, math::HardSwish}) {
    CHECK(function(kInf) == kInf);
    CHECK(function(-kInf) == 0.0F);
  }
  CHECK(math::Floor(-kInf) == -kInf);
  CHECK(math::RoundHalfToEven(kInf) == kInf);
}

TEST_CASE("Math: NaN stays NaN") {
  const float nan = std::nanf("");
  for (auto* function :
       {math::Exp, math::ExpMinusOne, math::Log, math::Sigmoid, math::Tanh, math::Erf, math::Gelu,
        math::Silu, math::Softplus, math::Mish, math::HardSwish, math::Softsign, math::Floor,
        math::Ceil, math::RoundHalfToEven, math::Sign, math::Abs}) {
    CHECK(std::isnan(function(nan)));
    CHECK(std::isnan(function(-nan)));
  }
  CHECK(std::isnan(math::Elu(nan, 1.0F)));
  CHECK(std::isnan(math::HardSigmoid(nan, 0.2F, 0.5F)));
}

/// Value of a finite f16, from its definition.
double HalfValue(uint32_t half) {
  const int exponent = static_cast<int>(half >> 10U & 31U);
  const auto fraction = static_cast<double>(half & 1023U);
  const double magnitude =
      exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024.0 + fraction, exponent - 25);
  return (half & 0x8000U) != 0 ? -magnitude : magnitude;
}

TEST_CASE("Half: every f16 is exact as f32 and comes back") {
  for (uint32_t half = 0; half < 0x10000U; ++half) {
    const float value = HalfToFloat(static_cast<uint16_t>(half));
    const uint32_t magnitude = half & 0x7FFFU;
    if (magnitude > 0x7C00U) {
      CHECK(std::isnan(value));
      CHECK(FloatToHalf(value) == (half | 0x200U));
      continue;
    }
    if (magnitude == 0x7C00U) {
      CHECK(std::isinf(value));
    } else {
      CHECK(static_cast<double>(value) == HalfValue(half));
    }
    CHECK(std::signbit(value) == (half >= 0x8000U));
    CHECK(FloatToHalf(value) == half);
  }
}

TEST_CASE("Half: f32 rounds to the nearest f16, halves to even") {
  for (uint32_t half = 0; half < 0x7BFFU; ++half) {
    const double below = HalfValue(half);
    const double above = HalfValue(half + 1);
    const auto middle = static_cast<float>((below + above) / 2.0);  // exact: one bit more
    const uint32_t even = half % 2 == 0 ? half : half + 1;
    CHECK(FloatToHalf(middle) == even);
    CHECK(FloatToHalf(std::nextafter(middle, 0.0F)) == half);
    CHECK(FloatToHalf(std::nextafter(middle, kInf)) == half + 1);
    CHECK(FloatToHalf(-middle) == (even | 0x8000U));
  }
  CHECK(FloatToHalf(65519.99F) == 0x7BFFU);
  CHECK(FloatToHalf(65520.0F) == 0x7C00U);
  CHECK(FloatToHalf(FLT_MAX) == 0x7C00U);
  CHECK(FloatToHalf(-kInf) == 0xFC00U);
}

TEST_CASE("Half: f32 rounds to the nearest bf16, halves to even") {
  for (uint32_t high = 0; high < 0x7F80U; ++high) {
    const uint32_t even = high % 2 == 0 ? high : high + 1;
    CHECK(FloatToBfloat16(math::FloatOfBits(high << 16U)) == high);
    CHECK(FloatToBfloat16(math::FloatOfBits(high << 16U | 0x7FFFU)) == high);
    CHECK(FloatToBfloat16(math::FloatOfBits(high << 16U | 0x8000U)) == even);
    CHECK(FloatToBfloat16(math::FloatOfBits(high << 16U | 0x8001U)) == high + 1);
    CHECK(math::BitsOf(Bfloat16ToFloat(static_cast<uint16_t>(high))) == high << 16U);
  }
  CHECK(std::isnan(Bfloat16ToFloat(FloatToBfloat16(math::FloatOfBits(0x7F800001U)))));
  CHECK(FloatToBfloat16(-kInf) == 0xFF80U);
}

}  // namespace
}  // namespace tenon::cpu::portable
