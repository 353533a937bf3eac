// Sigmoid and tanh of fixed-point numbers in 16 bits, bit for bit those of gemmlowp's fixed-point
// library, which TFLite's integer LSTM is defined by. Qn: the number is raw * 2^(n - 15), n integer
// bits. Results are in Q0.
//
// Nothing is undefined for any argument; sums wrap where a number leaves its format. Values are
// selected, never branched on (runtime/ops/requantize.hpp). The same in 32 bits:
// reduce/fixed_point.hpp.
#pragma once

#include <cstdint>

namespace tenon::cpu::portable::fixed_point_words {

inline constexpr int16_t kOneQ0 = INT16_MAX;  ///< as near to 1 as Q0 gets

[[nodiscard]] constexpr int16_t Wrapped(int32_t x) { return static_cast<int16_t>(x); }

[[nodiscard]] constexpr int16_t Saturated(int32_t x) {
  x = x > INT16_MAX ? INT16_MAX : x;
  return static_cast<int16_t>(x < INT16_MIN ? INT16_MIN : x);
}

/// Nearest integer to a * b / 2^15, halves up; the one overflow saturates.
[[nodiscard]] constexpr int16_t Product(int16_t a, int16_t b) {
  return Saturated((int32_t{a} * b + (1 << 14)) >> 15);
}

/// Nearest integer to x / 2^exponent, halves away from zero.
[[nodiscard]] constexpr int16_t ShiftedRight(int16_t x, int exponent) {
  const int32_t half = (1 << exponent) >> 1;
  return static_cast<int16_t>((x + half - (x < 0 ? 1 : 0)) >> exponent);
}

[[nodiscard]] constexpr int16_t ShiftedLeft(int16_t x, int bits) {
  return Saturated(x * (1 << bits));
}

/// exp(x) of Q0 in [-1/4, 0): Taylor's series around -1/8 to the fourth power.
[[nodiscard]] constexpr int16_t ExpOfSmall(int16_t x) {
  constexpr int16_t kExpOfMinusEighth = 28918;
  constexpr int16_t kThird = 10923;
  const int16_t a = Wrapped(x + (1 << 12));
  const int16_t a2 = Product(a, a);
  const int16_t a3 = Product(a2, a);
  const int16_t a4 = Product(a2, a2);
  const int16_t upper = Wrapped(ShiftedRight(a4, 2) + a3);  // a^4 / 4 + a^3
  const int16_t tail = Wrapped(Product(upper, kThird) + a2);
  const int16_t series = Wrapped(a + ShiftedRight(tail, 1));
  return Saturated(kExpOfMinusEighth + Product(kExpOfMinusEighth, series));
}

/// exp(x) in Q0 of x <= 0 with `bits` bits before the point, at most 7: exp of x modulo 1/4, times
/// exp(-2^k) for each bit of the rest.
[[nodiscard]] constexpr int16_t ExpOfNegative(int16_t x, int bits) {
  constexpr int16_t kPowers[] = {25520, 19875, 12055, 4435, 600, 11, 0};  // exp(-1/4) to exp(-16)
  const int32_t quarter = 1 << (13 - bits);
  const int16_t small = Wrapped((x & (quarter - 1)) - quarter);
  const int32_t rest = small - x;
  int16_t result = ExpOfSmall(ShiftedLeft(small, bits));
  for (int k = 0; k < 7 && k - 2 < bits; ++k) {
    const int16_t less = Product(result, kPowers[k]);
    result = (rest >> (13 - bits + k) & 1) != 0 ? less : result;
  }
  constexpr int kMostOf32 = 5;  // bits that hold no more than 32
  const int32_t least = bits > kMostOf32 ? -(1 << (20 - bits)) : INT16_MIN;  // -32
  result = x < least ? int16_t{0} : result;
  return x == 0 ? kOneQ0 : result;
}

/// 1 / (1 + x) in Q2, halved, of x in [0, 1] in Q0: three steps of Newton and Raphson on half the
/// denominator, from the start 48/17 - 32/17 d.
[[nodiscard]] constexpr int16_t TwiceReciprocalOfOnePlus(int16_t x) {
  constexpr int16_t k48Over17 = 23130;        // Q2
  constexpr int16_t kMinus32Over17 = -15420;  // Q2
  constexpr int16_t kOneQ2 = 1 << 13;
  const int32_t sum = x + kOneQ0;
  const auto half = static_cast<int16_t>((sum + (sum >= 0 ? 1 : -1)) / 2);
  int16_t y = Wrapped(k48Over17 + Product(half, kMinus32Over17));
  for (int i = 0; i < 3; ++i) {
    const int16_t error = Wrapped(kOneQ2 - Product(half, y));
    y = Wrapped(y + ShiftedLeft(Product(y, error), 2));
  }
  return y;
}

/// 1 / (1 + exp(-x)).
[[nodiscard]] constexpr int16_t Sigmoid(int16_t x, int bits) {
  constexpr int16_t kHalf = 1 << 14;
  const int16_t minus = x > 0 ? Wrapped(-x) : x;
  const int16_t y = ShiftedLeft(TwiceReciprocalOfOnePlus(ExpOfNegative(minus, bits)), 1);
  const int16_t signed_y = x > 0 ? y : Wrapped(kOneQ0 - y);
  return x == 0 ? kHalf : signed_y;
}

/// (1 - exp(-2 |x|)) / (1 + exp(-2 |x|)), with the sign of x.
[[nodiscard]] constexpr int16_t Tanh(int16_t x, int bits) {
  const int16_t minus = x > 0 ? Wrapped(-x) : x;
  const int16_t twice = TwiceReciprocalOfOnePlus(ExpOfNegative(minus, bits + 1));
  const int16_t y = ShiftedLeft(Wrapped(twice - (1 << 13)), 2);
  const int16_t signed_y = x > 0 ? y : Wrapped(-y);
  return x == 0 ? int16_t{0} : signed_y;
}

}  // namespace tenon::cpu::portable::fixed_point_words
