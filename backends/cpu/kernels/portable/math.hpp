// Elementary functions of one float, without libm and without branches, so that a loop over them
// vectorises; a fused activation, an elementwise op and a test get the same bits from them.
//
// Accuracy: within 2 units in the last place unless a function says otherwise; results below the
// smallest normal number keep their absolute accuracy. NaN gives NaN; infinities give the limit.
// Method: range reduction after Cody and Waite (Software Manual for the Elementary Functions,
// 1980); the polynomials are minimax fits (Remez exchange, relative error as the weight) made for
// this file in 40-digit arithmetic and then rounded to float. The largest error of each fit stands
// beside it. Needs float arithmetic without contraction and without reassociation.
//
// All are static: files that are compiled for one instruction set include this too, and the linker
// must not keep their copy for everybody.
#pragma once

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace tenon::cpu::portable::math {

inline constexpr float kInfinity = __builtin_inff();

[[nodiscard]] static inline uint32_t BitsOf(float x) {
  uint32_t bits;
  std::memcpy(&bits, &x, sizeof(bits));
  return bits;
}

[[nodiscard]] static inline float FloatOfBits(uint32_t bits) {
  float x;
  std::memcpy(&x, &bits, sizeof(x));
  return x;
}

/// x with the sign of `sign`.
[[nodiscard]] static inline float CopySign(float x, float sign) {
  return FloatOfBits((BitsOf(x) & 0x7FFFFFFFU) | (BitsOf(sign) & 0x80000000U));
}

[[nodiscard]] static inline float Abs(float x) { return FloatOfBits(BitsOf(x) & 0x7FFFFFFFU); }

/// 2^exponent for -126 <= exponent <= 127; any other gives a meaningless number, but no trap.
[[nodiscard]] static inline float PowerOfTwo(int32_t exponent) {
  return FloatOfBits(static_cast<uint32_t>(exponent + 127) << 23U);
}

/// x = exponent * log 2 + remainder, with |remainder| <= log(2) / 2 (and a little). `tail` is a
/// small correction of x, for arguments that one float cannot hold. |x| <= 2^13.
struct ExpReduction {
  int32_t exponent;
  float excess;  ///< exp(remainder) - 1
};

[[nodiscard]] static inline ExpReduction ReduceExp(float x, float tail) {
  constexpr float kRounder = 12582912.0F;      // 1.5 * 2^23: adding it rounds to an integer
  constexpr float kLogTwoHigh = 0.693359375F;  // few bits: its products below are exact
  constexpr float kLogTwoLow = -2.12194440e-4F;
  const float shifted = x * 1.44269504F + kRounder;
  const float whole = shifted - kRounder;
  const float r = (x - whole * kLogTwoHigh) - whole * kLogTwoLow + tail;
  // exp(r) = 1 + r + r^2 p(r); 3.1e-9.
  float p = 1.381447306e-3F;
  p = p * r + 8.368780836e-3F;
  p = p * r + 4.166839272e-2F;
  p = p * r + 1.666651964e-1F;
  p = p * r + 4.999999404e-1F;
  const auto exponent = static_cast<int32_t>(BitsOf(shifted) - BitsOf(kRounder));
  return {exponent, r + r * r * p};
}

/// exp(x + tail) for a tail much smaller than 1.
[[nodiscard]] static inline float ExpOfSum(float x, float tail) {
  x = x < -104.0F ? -104.0F : x;  // exp is 0 below and infinite above
  x = x > 89.0F ? 89.0F : x;
  const ExpReduction reduced = ReduceExp(x, tail);
  // In two factors, because 2^exponent alone may leave the range of normal numbers.
  const int32_t half = reduced.exponent >> 1;
  return (1.0F + reduced.excess) * PowerOfTwo(half) * PowerOfTwo(reduced.exponent - half);
}

[[nodiscard]] static inline float Exp(float x) { return ExpOfSum(x, 0.0F); }

/// exp(x) - 1 without cancellation near 0.
[[nodiscard]] static inline float ExpMinusOne(float x) {
  const float clamped = x < -30.0F ? -30.0F : (x > 89.0F ? 89.0F : x);
  const ExpReduction reduced = ReduceExp(clamped, 0.0F);
  const float half_scale = PowerOfTwo(reduced.exponent - 1);
  const float value = 2.0F * (half_scale * reduced.excess + (half_scale - 0.5F));
  return x == 0.0F ? x : value;  // keeps the sign of zero
}

/// Natural logarithm; -infinity at 0, NaN below.
[[nodiscard]] static inline float Log(float x) {
  constexpr uint32_t kSqrtHalf = 0x3F3504F3U;
  const bool is_subnormal = x < FLT_MIN;
  const float scaled = is_subnormal ? x * 8388608.0F : x;  // 2^23
  const uint32_t bits = BitsOf(scaled) - kSqrtHalf;
  const int32_t exponent = (static_cast<int32_t>(bits) >> 23) - (is_subnormal ? 23 : 0);
  const float f = FloatOfBits((bits & 0x7FFFFFU) + kSqrtHalf) - 1.0F;
  const auto e = static_cast<float>(exponent);
  // log(1 + f) = f - f^2 / 2 + f^3 p(f) for sqrt(1/2) <= 1 + f < sqrt(2); 7.5e-10.
  float p = 6.746699661e-2F;
  p = p * f - 1.167560145e-1F;
  p = p * f + 1.188810393e-1F;
  p = p * f - 1.240559444e-1F;
  p = p * f + 1.421956271e-1F;
  p = p * f - 1.666799635e-1F;
  p = p * f + 2.000211775e-1F;
  p = p * f - 2.500000894e-1F;
  p = p * f + 3.333331347e-1F;
  const float square = f * f;
  const float low = (f * square * p - e * 2.12194440e-4F) - 0.5F * square;
  float result = (low + f) + e * 0.693359375F;
  result = x > FLT_MAX ? x : result;
  result = x == 0.0F ? -kInfinity : result;
  return x >= 0.0F ? result : __builtin_nanf("");
}

/// log(1 + x) for 0 <= x <= 1, without losing small x.
[[nodiscard]] static inline float LogOnePlus(float x) {
  const float sum = 1.0F + x;
  return Log(sum) + (x - (sum - 1.0F)) / sum;
}

/// 1 / (1 + exp(-x)).
[[nodiscard]] static inline float Sigmoid(float x) {
  const float e = Exp(-Abs(x));
  const float numerator = x < 0.0F ? e : 1.0F;
  return numerator / (1.0F + e);
}

[[nodiscard]] static inline float Tanh(float x) {
  const float magnitude = Abs(x);
  const float far = 1.0F - 2.0F / (Exp(2.0F * magnitude) + 1.0F);
  // tanh(x) = x + x^3 p(x^2) for |x| <= 5/8; 4.4e-9.
  const float z = x * x;
  float p = -5.704989191e-3F;
  p = p * z + 2.063908987e-2F;
  p = p * z - 5.373971537e-2F;
  p = p * z + 1.333144158e-1F;
  p = p * z - 3.333328068e-1F;
  const float near = x + x * z * p;
  return magnitude > 0.625F ? CopySign(far, x) : near;
}

/// erfc(z) for z >= 0, where `high + tail` is -z^2: with it the caller keeps the relative accuracy
/// of the far end (5e-7), where z^2 rounded to a float would lose it.
[[nodiscard]] static inline float ErfcFromSquare(float z, float high, float tail) {
  // erfc(z) = t exp(-z^2 + p(t)), t = 2 / (2 + z), for z <= 10.3; 4.7e-8. The substitution is that
  // of Numerical Recipes (Press et al., 1992, section 6.2).
  const float t = 2.0F / (2.0F + z);
  float p = 1.443865895e-1F;
  p = p * t - 6.780869365e-1F;
  p = p * t + 1.150911093e+0F;
  p = p * t - 6.895028353e-1F;
  p = p * t - 8.487426490e-2F;
  p = p * t + 3.086873563e-3F;
  p = p * t + 3.423094004e-2F;
  p = p * t + 3.866589665e-1F;
  p = p * t + 9.986383319e-1F;
  p = p * t - 1.265448689e+0F;
  const float sum = high + p;
  const float lost = p - (sum - high);  // what the rounding of the sum dropped
  return t * ExpOfSum(sum, tail + lost);
}

/// The leading 12 bits of x: their square is exact.
[[nodiscard]] static inline float LeadingBits(float x) {
  return FloatOfBits(BitsOf(x) & 0xFFFFF000U);
}

/// Error function. Relative error below 3e-7.
[[nodiscard]] static inline float Erf(float x) {
  float z = Abs(x);
  z = z > 10.0F ? 10.0F : z;
  const float leading = LeadingBits(z);
  const float tail = (leading - z) * (leading + z);
  const float far = 1.0F - ErfcFromSquare(z, -leading * leading, tail);
  // erf(x) = x + x p(x^2) for |x| <= 4/5; 3.0e-9.
  const float square = x * x;
  float p = -6.535225548e-4F;
  p = p * square + 5.085128825e-3F;
  p = p * square - 2.682080492e-2F;
  p = p * square + 1.128311306e-1F;
  p = p * square - 3.761260211e-1F;
  p = p * square + 1.283791661e-1F;
  const float near = x + x * p;
  return z > 0.8F ? CopySign(far, x) : near;
}

/// x Phi(x) = x erfc(-x / sqrt 2) / 2. Relative error below 1e-6, also where the result is tiny.
[[nodiscard]] static inline float Gelu(float x) {
  float magnitude = Abs(x);
  magnitude = magnitude > 14.5F ? 14.5F : magnitude;
  const float leading = LeadingBits(magnitude);
  const float tail = 0.5F * (leading - magnitude) * (leading + magnitude);
  const float half_erfc =
      0.5F * ErfcFromSquare(magnitude * 0.707106781F, -0.5F * leading * leading, tail);
  const float finite = x < -FLT_MAX ? -FLT_MAX : x;  // infinity times 0 would be NaN
  const float upper = 1.0F - half_erfc;
  const float probability = x < 0.0F ? half_erfc : upper;
  return x < -14.5F ? finite * 0.0F : x * probability;
}

/// x / (1 + exp(-x)).
[[nodiscard]] static inline float Silu(float x) {
  const float finite = x < -FLT_MAX ? -FLT_MAX : x;
  return finite * Sigmoid(x);
}

/// 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))), by (1 + tanh(u)) / 2 = sigmoid(2 u), in which
/// no term cancels.
[[nodiscard]] static inline float GeluTanh(float x) {
  const float finite = x < -FLT_MAX ? -FLT_MAX : x;
  return finite * Sigmoid(1.59576912F * x * (1.0F + 0.044715F * x * x));
}

/// log(1 + exp(x)).
[[nodiscard]] static inline float Softplus(float x) {
  const float positive = x > 0.0F ? x : 0.0F;
  const float tail = LogOnePlus(Exp(-Abs(x)));
  return x != x ? x : positive + tail;
}

/// x tanh(softplus(x)), by tanh(log s) = (s^2 - 1) / (s^2 + 1), where no term cancels.
[[nodiscard]] static inline float Mish(float x) {
  const float t = Exp(-Abs(x));
  const float square = t * t;
  const float numerator = x < 0.0F ? square + 2.0F * t : 1.0F + 2.0F * t;
  const float rest = x < 0.0F ? 2.0F : 2.0F * square;
  const float finite = x < -FLT_MAX ? -FLT_MAX : x;
  return finite * (numerator / (numerator + rest));
}

[[nodiscard]] static inline float Elu(float x, float alpha) {
  const float negative = alpha * ExpMinusOne(x < 0.0F ? x : 0.0F);
  return x >= 0.0F ? x : (x < 0.0F ? negative : x);
}

/// min(max(x, low), high); NaN stays NaN.
template <typename T>
[[nodiscard]] static inline T Clamp(T x, T low, T high) {
  const T raised = x < low ? low : x;
  return raised > high ? high : raised;
}

[[nodiscard]] static inline float LeakyRelu(float x, float slope) {
  const float scaled = slope * x;  // of every element, so that a loop has no branch
  return x < 0.0F ? scaled : x;
}

[[nodiscard]] static inline float HardSigmoid(float x, float alpha, float beta) {
  float y = alpha * x + beta;
  y = y > 1.0F ? 1.0F : y;
  return y < 0.0F ? 0.0F : y;
}

[[nodiscard]] static inline float HardSwish(float x) {
  const float finite = x < -FLT_MAX ? -FLT_MAX : x;
  return finite * HardSigmoid(x, 1.0F / 6.0F, 0.5F);
}

/// x / (1 + |x|); at infinity its limit.
[[nodiscard]] static inline float Softsign(float x) {
  const float finite = x > FLT_MAX ? FLT_MAX : (x < -FLT_MAX ? -FLT_MAX : x);
  return finite / (1.0F + Abs(finite));
}

/// Towards zero.
[[nodiscard]] static inline float Truncate(float x) {
  const float magnitude = Abs(x);
  const bool has_fraction = magnitude < 8388608.0F;  // 2^23; false for NaN
  const float safe = has_fraction ? magnitude : 0.0F;
  const auto whole = static_cast<float>(static_cast<int32_t>(safe));
  return has_fraction ? CopySign(whole, x) : x;
}

[[nodiscard]] static inline float Floor(float x) {
  const float whole = Truncate(x);
  const float below = whole - 1.0F;
  return whole > x ? below : whole;
}

[[nodiscard]] static inline float Ceil(float x) {
  const float whole = Truncate(x);
  const float above = CopySign(whole + 1.0F, x);
  return whole < x ? above : whole;
}

/// To the nearest integer, halves to even.
[[nodiscard]] static inline float RoundHalfToEven(float x) {
  constexpr float kRounder = 8388608.0F;  // 2^23: at this size the last place is 1
  const float magnitude = Abs(x);
  const float rounded = CopySign((magnitude + kRounder) - kRounder, x);
  return magnitude < kRounder ? rounded : x;
}

/// -1, 0 or 1; keeps NaN and the sign of zero.
[[nodiscard]] static inline float Sign(float x) {
  const float one = CopySign(1.0F, x);
  const float magnitude = Abs(x);
  return magnitude > 0.0F ? one : x;
}

}  // namespace tenon::cpu::portable::math
