// Factors from sums to bytes as the accelerator's requantisation lanes have them
// (rtl/requantise_lane.sv).
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>

namespace tenon::fpga {

/// multiplier * 2^-(31 + shift).
struct LaneFactor {
  uint32_t multiplier = 0;  ///< below 2^31
  int shift = 0;            ///< to the right, 0 to 63
};

/// For HALF_EVEN; none for factors of 1 and more, negative ones and what is no number.
[[nodiscard]] inline std::optional<LaneFactor> LaneFactorOfFloat(float factor) {
  if (!(factor >= 0.0F && factor < 1.0F)) return {};
  // What is smaller makes nothing of any sum of 32 bits.
  if (factor < 0x1p-62F) return LaneFactor{};
  int exponent = 0;
  const float mantissa = std::frexp(factor, &exponent);  // in [0.5, 1)
  return LaneFactor{static_cast<uint32_t>(std::ldexp(mantissa, 31)), -exponent};
}

/// For FIXED_POINT and FIXED_POINT_ONCE, of requantize.hpp's multiplier and shift; none for shifts
/// to the left and negative multipliers.
[[nodiscard]] inline std::optional<LaneFactor> LaneFactorOfFixedPoint(int32_t multiplier,
                                                                      int32_t shift) {
  if (multiplier < 0 || shift > 0) return {};
  return LaneFactor{static_cast<uint32_t>(multiplier), shift < -31 ? 31 : -shift};
}

/// For EXACT_HALF_EVEN: sums that have so many bits behind the point; none for 0, since the lane
/// halves at least.
[[nodiscard]] inline std::optional<LaneFactor> LaneFactorOfFraction(int bits) {
  if (bits < 1 || bits > 64) return {};
  return LaneFactor{uint32_t{1} << 30, bits - 1};
}

}  // namespace tenon::fpga
