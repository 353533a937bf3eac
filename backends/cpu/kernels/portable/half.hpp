// Converts f16 (IEEE binary16) and bf16 in software with the same bits as hardware conversions: it
// rounds to nearest, halves to even. Branches are selects, so that loops over these functions
// vectorise.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/portable/math.hpp"

namespace tenon::cpu::portable {

/// Converts f16 to f32 exactly; a signalling NaN becomes quiet.
[[nodiscard]] inline float HalfToFloat(uint16_t half) {
  constexpr uint32_t kInfinityExponent = 0x7C00U << 13U;
  const uint32_t sign = (half & 0x8000U) << 16U;
  const uint32_t shifted = (half & 0x7FFFU) << 13U;
  const uint32_t exponent = shifted & kInfinityExponent;
  const uint32_t rebiased = shifted + (112U << 23U);
  const uint32_t quiet = shifted > kInfinityExponent ? 0x400000U : 0U;
  const uint32_t special = (rebiased + (112U << 23U)) | quiet;
  // A subnormal is a fixed-point number: give it an exponent, then take away the hidden one.
  const uint32_t subnormal =
      math::BitsOf(math::FloatOfBits(rebiased + (1U << 23U)) - math::FloatOfBits(113U << 23U));
  const uint32_t finite = exponent == 0 ? subnormal : rebiased;
  const uint32_t magnitude = exponent == kInfinityExponent ? special : finite;
  return math::FloatOfBits(magnitude | sign);
}

/// Converts f32 to f16: values from 65520 on become infinite; NaN keeps its leading bits and
/// becomes quiet.
[[nodiscard]] inline uint16_t FloatToHalf(float value) {
  const uint32_t bits = math::BitsOf(value);
  const uint32_t magnitude = bits & 0x7FFFFFFFU;
  const uint32_t nan = 0x7E00U | ((magnitude >> 13U) & 0x3FFU);
  const uint32_t huge = magnitude > 0x7F800000U ? nan : 0x7C00U;
  const uint32_t normal = (magnitude + 0xFFFU + ((magnitude >> 13U) & 1U) - (112U << 23U)) >> 13U;
  // Adding 1/2 leaves multiples of 2^-24, f16's smallest step, in the last bits.
  const uint32_t subnormal = math::BitsOf(math::FloatOfBits(magnitude) + 0.5F) - math::BitsOf(0.5F);
  uint32_t result = magnitude < 0x38800000U ? subnormal : normal;  // 2^-14
  result = magnitude >= 0x477FF000U ? huge : result;               // 65520
  return static_cast<uint16_t>(result | (bits >> 16U & 0x8000U));
}

/// Converts bf16 to f32 exactly.
[[nodiscard]] inline float Bfloat16ToFloat(uint16_t value) {
  return math::FloatOfBits(static_cast<uint32_t>(value) << 16U);
}

/// Converts f32 to bf16; NaN keeps its leading bits and becomes quiet.
[[nodiscard]] inline uint16_t FloatToBfloat16(float value) {
  const uint32_t bits = math::BitsOf(value);
  const uint32_t rounded = (bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U;
  const uint32_t nan = (bits >> 16U) | 0x40U;
  return static_cast<uint16_t>((bits & 0x7FFFFFFFU) > 0x7F800000U ? nan : rounded);
}

}  // namespace tenon::cpu::portable
