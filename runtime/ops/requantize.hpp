// The arithmetic of quantized ops: how an integer result gets the output's scale. Kernels, constant
// folding and tests share it; a faster form must give the same bits.
//
// Attributes and constants of a plan may hold any bits: nothing here is undefined for any argument.
// Integers are selected, never branched on, so that a microcontroller runs as many instructions for
// one input as for another (tests/firmware/data_independence_test.py).
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/ops/attributes.hpp"

namespace tenon {

/// Nearest integer to a * b / 2^31, halves up; the one overflow (both INT32_MIN) saturates. The
/// "saturating rounding doubling high multiply" of fixed-point libraries (Arm's SQRDMULH).
[[nodiscard]] constexpr int32_t RoundingDoublingHighMultiply(int32_t a, int32_t b) {
  const auto rounded = static_cast<int32_t>((int64_t{a} * b + (int64_t{1} << 30)) >> 31);
  return rounded == INT32_MIN ? INT32_MAX : rounded;  // which nothing else gives
}

/// Nearest integer to x / 2^exponent, halves away from zero; 0 <= exponent <= 31.
[[nodiscard]] constexpr int32_t RoundingShiftRight(int32_t x, int exponent) {
  const int64_t half = (int64_t{1} << exponent) >> 1;
  const int32_t less = exponent > 0 ? x >> 31 : 0;  // -1 of what is negative
  return static_cast<int32_t>((int64_t{x} + less + half) >> exponent);
}

/// x * multiplier * 2^(shift - 31), rounded twice: after the product and after the shift, as
/// TFLite's reference kernels do. `shift` is clamped to [-31, 30]; a shift to the left wraps.
/// Source: Jacob et al., "Quantization and Training of Neural Networks for Efficient
/// Integer-Arithmetic-Only Inference", section 2.2 and appendix B.
[[nodiscard]] constexpr int32_t FixedPointMultiply(int32_t x, int32_t multiplier, int32_t shift) {
  const int left = shift > 30 ? 30 : (shift > 0 ? shift : 0);
  const int right = shift < -31 ? 31 : (shift < 0 ? -shift : 0);
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(x) << left);
  return RoundingShiftRight(RoundingDoublingHighMultiply(shifted, multiplier), right);
}

/// The nearest integer to x * multiplier * 2^(shift - 31), halves up; what does not fit 32 bits
/// wraps. `shift` as above.
[[nodiscard]] constexpr int32_t FixedPointMultiplyOnce(int32_t x, int32_t multiplier,
                                                       int32_t shift) {
  const int clamped = shift > 30 ? 30 : (shift < -31 ? -31 : shift);
  const int right = 31 - clamped;  // 1 to 62
  const int64_t product = int64_t{x} * multiplier;
  // A half more, without the overflow that the largest product and shift would have.
  return static_cast<int32_t>(((product >> (right - 1)) + 1) >> 1);
}

/// Nearest whole number, halves to even, by additions: for cores whose library would round in many
/// steps. From 2^23 on floats are whole.
[[nodiscard]] inline float NearestByAdding(float x) {
  constexpr float kWhole = 8388608.0F;
  const float magnitude = x < 0.0F ? -x : x;
  const float rounded = (magnitude + kWhole) - kWhole;
  const float nearest = magnitude < kWhole ? rounded : magnitude;
  return x < 0.0F ? -nearest : nearest;
}

/// Nearest whole number, halves to even.
[[nodiscard]] inline float NearestEven(float x) {
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M' && \
    (!defined(__ARM_FP) || (__ARM_FP == 4 && __ARM_ARCH == 7))  // no FPU, or FPv4
  return NearestByAdding(x);
#else
  return std::nearbyint(x);
#endif
}

/// Nearest integer, halves to even, kept within +-2^24 (far past every 8- and 16-bit type); NaN
/// gives 0.
[[nodiscard]] inline int32_t RoundHalfEven(float x) {
  constexpr float kMost = 16777216.0F;
  if (!(x > -kMost)) return x <= -kMost ? -16777216 : 0;
  if (x > kMost) return 16777216;
  return static_cast<int32_t>(NearestEven(x));
}

/// The same with halves away from zero.
[[nodiscard]] inline int32_t RoundHalfAway(float x) {
  constexpr float kMost = 16777216.0F;
  if (!(x > -kMost)) return x <= -kMost ? -16777216 : 0;
  if (x > kMost) return 16777216;
  return static_cast<int32_t>(std::round(x));
}

/// sum / count, halves away from zero; count >= 1.
[[nodiscard]] constexpr int32_t DivideHalfAway(int32_t sum, int64_t count) {
  const int64_t half = count / 2;
  // NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
  return static_cast<int32_t>((sum >= 0 ? int64_t{sum} + half : int64_t{sum} - half) / count);
}

/// What is stored for a rounded result: plus the zero point, inside the bounds.
[[nodiscard]] constexpr int32_t Saturate(const QuantizedOutput& output, int32_t rounded) {
  // A sum past 32 bits is past any bounds.
  int32_t y = 0;
  const bool is_past = __builtin_add_overflow(rounded, output.zero_point, &y);
  y = is_past ? (rounded >> 31) ^ INT32_MAX : y;
  // One after the other: a compiler that may skip one takes a branch.
  y = y < output.min ? output.min : y;
  return y > output.max ? output.max : y;
}

}  // namespace tenon
