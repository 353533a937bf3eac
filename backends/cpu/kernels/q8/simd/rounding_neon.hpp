// Rounds sums of quantized products and packs them into bytes, for GEMMs and depthwise convolutions
// of NEON. Only *_neon*.cpp include it: no function here has external linkage.
#pragma once

#include <arm_neon.h>

#include <cstdint>

namespace tenon::cpu::q8 {
namespace {

/// Contains what rounds the sums of four channels half to even, and is the same for all pixels.
struct HalfEvenFactors {
  float32x4_t factor;

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums) const {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), factor));
  }
};

/// Applies both roundings of the definition (requantize.hpp) in integers. With sums and factors in
/// range no instruction saturates.
struct FixedPointFactors {
  int32x4_t multiplier;
  int32x4_t left;   ///< shifts to the left, before the product
  int32x4_t right;  ///< those to the right after it, negative or 0

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums) const {
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, left), multiplier);
    // The instruction rounds halves up, but the definition rounds them away from zero.
    return vrshlq_s32(vsraq_n_s32(high, vandq_s32(high, right), 31), right);
  }
};

/// Packs 16 rounded products into bytes, as ByteOutput and GemmEpilogue say.
struct Packer {
  Packer(int32_t zero_point, int32_t min, int32_t max, uint32_t flip)
      : zero_points(vdupq_n_s16(static_cast<int16_t>(zero_point))),
        mins(vdupq_n_s8(static_cast<int8_t>(min))),
        maxs(vdupq_n_s8(static_cast<int8_t>(max))),
        flips(vdupq_n_s8(static_cast<int8_t>(flip))) {}

  [[gnu::always_inline]] int8x16_t Pack(const int32x4_t* rounded) const {
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(rounded[0]), rounded[1]);
    const int16x8_t high = vqmovn_high_s32(vqmovn_s32(rounded[2]), rounded[3]);
    const int8x16_t bytes =
        vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, zero_points)), vqaddq_s16(high, zero_points));
    return veorq_s8(vminq_s8(vmaxq_s8(bytes, mins), maxs), flips);
  }

  int16x8_t zero_points;
  int8x16_t mins;
  int8x16_t maxs;
  int8x16_t flips;
};

/// Stores the first `count` of 16 bytes.
[[gnu::always_inline]] inline void StoreBytes(int8x16_t bytes, uint8_t* y, int count) {
  constexpr int kAll = 16;
  if (count >= kAll) {
    vst1q_s8(reinterpret_cast<int8_t*>(y), bytes);
    return;
  }
  alignas(16) int8_t some[kAll];
  vst1q_s8(some, bytes);
  for (int m = 0; m < count; ++m) y[m] = static_cast<uint8_t>(some[m]);
}

}  // namespace
}  // namespace tenon::cpu::q8
