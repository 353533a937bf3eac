// Functions of fixed-point numbers in 32 bits, bit for bit those of gemmlowp's fixed-point library,
// which TFLite's integer kernels are defined by. Qn: the number is raw * 2^(n - 31), n integer
// bits.
//
// Nothing is undefined for any argument; sums wrap where a number leaves its format.
#pragma once

#include <cstdint>

#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::portable::fixed_point {

inline constexpr int32_t kOneQ0 = INT32_MAX;  ///< as near to 1 as Q0 gets

[[nodiscard]] constexpr int32_t WrappingAdd(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
}

/// x * 2^bits, saturated: from Qn to Q(n - bits).
[[nodiscard]] constexpr int32_t SaturatingShiftLeft(int32_t x, int bits) {
  const int64_t wide = int64_t{x} * (int64_t{1} << bits);
  const auto narrow = static_cast<int32_t>(wide);
  return narrow == wide ? narrow : (x >> 31) ^ INT32_MAX;
}

/// exp(x) of Q0 in [-1/4, 0): Taylor's series around -1/8 to the fourth power.
[[nodiscard]] constexpr int32_t ExpOfSmall(int32_t x) {
  constexpr int32_t kExpOfMinusEighth = 1895147668;
  constexpr int32_t kThird = 715827883;
  const int32_t a = WrappingAdd(x, 1 << 28);
  const int32_t a2 = RoundingDoublingHighMultiply(a, a);
  const int32_t a3 = RoundingDoublingHighMultiply(a2, a);
  const int32_t a4 = RoundingDoublingHighMultiply(a2, a2);
  const int32_t upper = WrappingAdd(RoundingShiftRight(a4, 2), a3);  // a^4 / 4 + a^3
  const int32_t tail = WrappingAdd(RoundingDoublingHighMultiply(upper, kThird), a2);
  const int32_t series = WrappingAdd(a, RoundingShiftRight(tail, 1));
  return WrappingAdd(kExpOfMinusEighth, RoundingDoublingHighMultiply(kExpOfMinusEighth, series));
}

/// exp(x) in Q0 of x <= 0 in Q5: exp of x modulo 1/4, times exp(-2^k) for each bit of the rest.
[[nodiscard]] constexpr int32_t ExpOfNegative(int32_t x) {
  constexpr int32_t kQuarter = 1 << 24;
  constexpr int32_t kPowers[] = {1672461947, 1302514674, 790015084, 290630308,
                                 39332535,   720401,     242};  // exp(-1/4) to exp(-16) in Q0
  const int32_t small = (x & (kQuarter - 1)) - kQuarter;
  const auto rest = static_cast<uint32_t>(small) - static_cast<uint32_t>(x);
  int32_t result = ExpOfSmall(SaturatingShiftLeft(small, 5));
  for (int k = 0; k < 7; ++k) {
    const int32_t less = RoundingDoublingHighMultiply(result, kPowers[k]);
    result = (rest >> (24 + k) & 1U) != 0 ? less : result;
  }
  return x == 0 ? kOneQ0 : result;
}

/// 1 / (1 + x) in Q0 of x in [0, 1) in Q0: three steps of Newton and Raphson on half the
/// denominator, from the start 48/17 - 32/17 d.
[[nodiscard]] constexpr int32_t ReciprocalOfOnePlus(int32_t x) {
  constexpr int32_t k48Over17 = 1515870810;        // Q2
  constexpr int32_t kMinus32Over17 = -1010580540;  // Q2
  constexpr int32_t kOneQ2 = 1 << 29;
  const int64_t sum = int64_t{x} + kOneQ0;
  const auto half = static_cast<int32_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t y = WrappingAdd(k48Over17, RoundingDoublingHighMultiply(half, kMinus32Over17));
  for (int i = 0; i < 3; ++i) {
    const int32_t gemm = RoundingDoublingHighMultiply(half, y);
    const int32_t error =
        WrappingAdd(kOneQ2, static_cast<int32_t>(0U - static_cast<uint32_t>(gemm)));
    y = WrappingAdd(y, SaturatingShiftLeft(RoundingDoublingHighMultiply(y, error), 2));
  }
  return SaturatingShiftLeft(y, 1);
}

}  // namespace tenon::cpu::portable::fixed_point
