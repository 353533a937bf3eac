#include "converter/ir/fixed_point.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <initializer_list>

namespace tenon::converter {
namespace {

double ValueOf(const FixedPoint& factor) {
  return std::ldexp(static_cast<double>(factor.multiplier), factor.shift - 31);
}

TEST_CASE("Fixed point: powers of two are exact, with a multiplier of 2^30") {
  for (int exponent = -31; exponent <= 29; ++exponent) {
    const FixedPoint factor = QuantizeMultiplier(std::ldexp(1.0, exponent));
    CHECK(factor.multiplier == 1 << 30);
    CHECK(factor.shift == exponent + 1);
  }
}

TEST_CASE("Fixed point: a factor is kept to 31 bits, in a multiplier of full length") {
  for (const double value : {0.1, 0.0123456789, 3.7, 123.456, 0.9999, 1e-8}) {
    const FixedPoint factor = QuantizeMultiplier(value);
    CHECK(factor.multiplier >= 1 << 30);
    CHECK(std::abs(ValueOf(factor) - value) <= value * std::ldexp(1.0, -31));
  }
}

TEST_CASE("Fixed point: a fraction that rounds to one takes the next shift") {
  const FixedPoint factor = QuantizeMultiplier(1.0 - std::ldexp(1.0, -40));
  CHECK(factor.multiplier == 1 << 30);
  CHECK(factor.shift == 1);
}

TEST_CASE("Fixed point: what is below 2^-32 is nothing") {
  CHECK(QuantizeMultiplier(std::ldexp(1.0, -33)).multiplier == 0);
  CHECK(QuantizeMultiplier(0.0).multiplier == 0);
  CHECK(QuantizeMultiplier(std::ldexp(1.0, -32)).multiplier == 1 << 30);
}

TEST_CASE(
    "Fixed point: a negative factor is the other's, turned; an infinite one is past all shifts") {
  const FixedPoint factor = QuantizeMultiplier(-0.3);
  CHECK(factor.multiplier == -QuantizeMultiplier(0.3).multiplier);
  CHECK(ValueOf(factor) == doctest::Approx(-0.3));
  CHECK(QuantizeMultiplier(HUGE_VAL).shift > QuantizeMultiplier(1.7e308).shift);
  CHECK(QuantizeMultiplier(std::nan("")).multiplier == 0);
}

TEST_CASE("Fixed point: dividing keeps as many bits as the count has") {
  const FixedPoint half = QuantizeMultiplier(0.5);  // 2^30, shift 0
  const FixedPoint by_eight = DividedBy(half, 8);
  CHECK(by_eight.multiplier == 1 << 30);
  CHECK(by_eight.shift == -3);
  const FixedPoint by_49 = DividedBy(half, 49);  // 2^30 * 2^5 / 49, rounded down
  CHECK(by_49.multiplier == 701219150);
  CHECK(by_49.shift == -5);
  CHECK(DividedBy(half, 1).shift == 0);
  CHECK(DividedBy({1 << 30, -31}, 4).shift == -31);  // no shift is left to trade for bits
}

TEST_CASE("Fixed point: a softmax's differences stay where its exponential does not overflow") {
  const SoftmaxScaling scaling = ScaleSoftmax(1.0, 0.05);
  CHECK(ValueOf(scaling.factor) == doctest::Approx(0.05 * (1 << 26)));
  // 31 in steps of 2^-26, shifted back by the 22 bits that the factor has left of its point.
  CHECK(scaling.factor.shift == 22);
  CHECK(scaling.least_difference == -496);
}

}  // namespace
}  // namespace tenon::converter
