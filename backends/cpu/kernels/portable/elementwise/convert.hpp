// Converts numbers without undefined behaviour.
#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>

#include "backends/cpu/kernels/portable/half.hpp"

namespace tenon::cpu::portable {

/// Returns `x` truncated towards zero; the nearest bound where `To` cannot represent it, and 0 for
/// NaN.
template <typename To, typename From>
[[nodiscard]] inline To SaturateToInteger(From x) {
  static_assert(std::is_integral_v<To> && std::is_floating_point_v<From>);
  using Limits = std::numeric_limits<To>;
  // Both are powers of two (or 0), which a float holds exactly; the largest To is not.
  constexpr auto kLowest = static_cast<From>(Limits::min());
  constexpr auto kHalf = static_cast<To>(Limits::max() / 2 + 1);
  constexpr auto kEnd = static_cast<From>(kHalf) * 2;
  // A conversion through i32 is one instruction per vector where one to a byte is many.
  using Wide = std::conditional_t<(sizeof(To) < 4), int32_t, To>;
  From safe = x >= kLowest ? x : kLowest;
  safe = safe < kEnd ? safe : From{0};
  const auto whole = static_cast<To>(static_cast<Wide>(safe));
  const To bounded = x >= kEnd ? Limits::max() : whole;
  return x == x ? bounded : To{0};
}

/// Rounds to odd: returns the float next to `x` towards zero, with its last bit set wherever `x` is
/// not a float itself. Rounding it again, to a shorter type, then gives what rounding `x` would
/// have given.
[[nodiscard]] inline float RoundToOdd(double x) {
  const auto nearest = static_cast<float>(x);
  const auto back = static_cast<double>(nearest);
  const uint32_t bits = math::BitsOf(nearest);
  const bool went_outwards = x < 0.0 ? back < x : back > x;
  const uint32_t inwards = (bits - (went_outwards ? 1U : 0U)) | 1U;
  return back == x || x != x ? nearest : math::FloatOfBits(inwards);
}

[[nodiscard]] inline float RoundToOdd(float x) { return x; }

/// The same for integers: bits beyond the float's 24 only say that there are some.
template <typename Integer>
[[nodiscard]] inline std::enable_if_t<std::is_integral_v<Integer>, float> RoundToOdd(Integer x) {
  const bool is_negative = x < 0;
  auto magnitude = static_cast<uint64_t>(x);
  if (is_negative) magnitude = 0 - magnitude;
  float scale = is_negative ? -1.0F : 1.0F;
  while (magnitude >> 24U != 0) {
    magnitude = (magnitude >> 8U) | (magnitude & 0xFFU ? 1U : 0U);
    scale *= 256.0F;
  }
  return static_cast<float>(static_cast<int32_t>(magnitude)) * scale;
}

}  // namespace tenon::cpu::portable
