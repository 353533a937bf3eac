// The arithmetic of quantized ops, where its roundings part and at the ends of its range.
#include "runtime/ops/requantize.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>

namespace tenon {
namespace {

TEST_CASE("Requantize: the high product rounds halves up and saturates its one overflow") {
  CHECK(RoundingDoublingHighMultiply(1, 1 << 30) == 1);    // 0.5
  CHECK(RoundingDoublingHighMultiply(-1, 1 << 30) == 0);   // -0.5
  CHECK(RoundingDoublingHighMultiply(-3, 1 << 30) == -1);  // -1.5
  CHECK(RoundingDoublingHighMultiply(INT32_MIN, INT32_MIN) == INT32_MAX);
  CHECK(RoundingDoublingHighMultiply(INT32_MIN, INT32_MAX) == -INT32_MAX);
}

TEST_CASE("Requantize: a shift to the right rounds halves away from zero") {
  CHECK(RoundingShiftRight(5, 1) == 3);
  CHECK(RoundingShiftRight(-5, 1) == -3);
  CHECK(RoundingShiftRight(5, 2) == 1);
  CHECK(RoundingShiftRight(-6, 2) == -2);
  CHECK(RoundingShiftRight(-7, 0) == -7);
  CHECK(RoundingShiftRight(INT32_MAX, 31) == 1);
  CHECK(RoundingShiftRight(INT32_MIN, 31) == -1);
  CHECK(RoundingShiftRight(-(1 << 30) + 1, 31) == 0);
}

TEST_CASE("Requantize: a fixed-point factor is multiplier * 2^(shift - 31), rounded twice") {
  CHECK(FixedPointMultiply(100, 1 << 30, 0) == 50);
  CHECK(FixedPointMultiply(100, 1 << 30, 3) == 400);
  CHECK(FixedPointMultiply(100, 1 << 30, -3) == 6);  // 6.25
  // 3 * 0.5 = 1.5, to 2; 2 / 4 = 0.5, to 1: rounded once, 0.375 would be 0.
  CHECK(FixedPointMultiply(3, 1 << 30, -2) == 1);
}

TEST_CASE("Requantize: rounded once, halves go up and nothing is rounded on the way") {
  CHECK(FixedPointMultiplyOnce(100, 1 << 30, 0) == 50);
  CHECK(FixedPointMultiplyOnce(100, 1 << 30, 3) == 400);
  CHECK(FixedPointMultiplyOnce(100, 1 << 30, -3) == 6);  // 6.25
  CHECK(FixedPointMultiplyOnce(3, 1 << 30, -2) == 0);    // 0.375; rounded twice it is 1
  CHECK(FixedPointMultiplyOnce(1, 1 << 30, 0) == 1);     // 0.5
  CHECK(FixedPointMultiplyOnce(-1, 1 << 30, 0) == 0);    // -0.5
  CHECK(FixedPointMultiplyOnce(-3, 1 << 30, 0) == -1);   // -1.5
}

TEST_CASE("Requantize: any bits of multiplier and shift give some number") {
  CHECK(FixedPointMultiplyOnce(INT32_MIN, INT32_MIN, -128) == 1);  // 2^62 / 2^62
  CHECK(FixedPointMultiplyOnce(INT32_MIN, INT32_MIN, 127) == 0);   // 2^61 wraps
  CHECK(FixedPointMultiply(INT32_MIN, INT32_MIN, -128) == 1);
  CHECK(FixedPointMultiply(INT32_MAX, INT32_MAX, -128) == 1);
  CHECK(FixedPointMultiply(4, INT32_MAX, 127) == 0);  // 4 * 2^30 wraps
  CHECK(FixedPointMultiply(1, INT32_MAX, 127) == 1 << 30);
}

TEST_CASE("Requantize: floats go to the nearest integer, halves to even or away from zero") {
  CHECK(RoundHalfEven(0.5F) == 0);
  CHECK(RoundHalfEven(1.5F) == 2);
  CHECK(RoundHalfEven(-2.5F) == -2);
  CHECK(RoundHalfEven(0.49999997F) == 0);
  CHECK(RoundHalfAway(0.5F) == 1);
  CHECK(RoundHalfAway(-2.5F) == -3);
  CHECK(RoundHalfAway(0.49999997F) == 0);
}

TEST_CASE("Requantize: additions round as the library does") {
  for (const float x : {0.0F, 0.25F, 0.5F, 0.75F, 1.5F, 2.5F, 0.49999997F, 1.4999999F, 4194303.5F,
                        4194304.5F, 8388607.5F, 8388608.0F, 16777216.0F}) {
    for (const float value : {x, -x}) CHECK(NearestByAdding(value) == std::nearbyint(value));
  }
  uint32_t bits = 1;
  for (int i = 0; i < 100000; ++i) {
    bits = bits * 1664525U + 1013904223U;
    const float value = static_cast<float>(static_cast<int32_t>(bits)) / 4096.0F;
    REQUIRE(NearestByAdding(value) == std::nearbyint(value));
  }
}

TEST_CASE("Requantize: floats far outside give bounds that hold every sum, NaN gives 0") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const auto round : {RoundHalfEven, RoundHalfAway}) {
    CHECK(round(kInfinity) == 16777216);
    CHECK(round(-kInfinity) == -16777216);
    CHECK(round(3e9F) == 16777216);
    CHECK(round(-16777216.0F) == -16777216);
    CHECK(round(std::numeric_limits<float>::quiet_NaN()) == 0);
  }
}

TEST_CASE("Requantize: quotients go away from zero where they are halves, by any count") {
  CHECK(DivideHalfAway(3, 2) == 2);
  CHECK(DivideHalfAway(-3, 2) == -2);
  CHECK(DivideHalfAway(4, 3) == 1);
  CHECK(DivideHalfAway(-5, 3) == -2);
  CHECK(DivideHalfAway(INT32_MIN, 1) == INT32_MIN);
  CHECK(DivideHalfAway(INT32_MAX, 1) == INT32_MAX);
  CHECK(DivideHalfAway(INT32_MAX, int64_t{1} << 32) == 0);
  CHECK(DivideHalfAway(INT32_MIN, int64_t{1} << 32) == -1);
}

TEST_CASE("Requantize: what is stored lies within the bounds, however far the result is off") {
  QuantizedOutput output;
  output.zero_point = 5;
  output.min = -10;
  output.max = 100;
  CHECK(Saturate(output, 7) == 12);
  CHECK(Saturate(output, INT32_MAX) == 100);
  CHECK(Saturate(output, INT32_MIN) == -10);
}

}  // namespace
}  // namespace tenon
