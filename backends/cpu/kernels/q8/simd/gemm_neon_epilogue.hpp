// How both forms of NEON products cut a call into tiles, and make outputs of their sums. Included
// by product_neon*.cpp only: no function here has external linkage.
#pragma once

#include <arm_neon.h>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kTileWidth = 16;
constexpr int kMostPixels = 4;

int ChannelAt(int p, int) { return p; }

[[gnu::always_inline]] inline int32x4_t HalfEven(const ProductGroup& group, int p, int32x4_t sums) {
  return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), vld1q_f32(group.factor + p)));
}

/// Both roundings of the definition (requantize.hpp), as integers. Of a tame group no instruction
/// saturates.
[[gnu::always_inline]] inline int32x4_t FixedPoint(const ProductGroup& group, int p,
                                                   int32x4_t sums) {
  const int32x4_t shift = vld1q_s32(group.shift + p);
  const int32x4_t zero = vdupq_n_s32(0);
  const int32x4_t right = vminq_s32(shift, zero);
  const int32x4_t shifted = vshlq_s32(sums, vmaxq_s32(shift, zero));
  const int32x4_t high = vqrdmulhq_s32(shifted, vld1q_s32(group.multiplier + p));
  // The instruction rounds halves up, the definition away from zero.
  const int32x4_t away = vshrq_n_s32(vandq_s32(high, right), 31);
  return vrshlq_s32(vaddq_s32(high, away), right);
}

/// What a factor a little too large and one a little too small agree on is exact.
[[gnu::always_inline]] inline int32x4_t FixedPointOnce(const ProductGroup& group, int p,
                                                       int32x4_t sums, int32x4_t& unlike) {
  const float32x4_t value = vcvtq_f32_s32(sums);
  const int32x4_t sign = vandq_s32(sums, vdupq_n_s32(INT32_MIN));
  const int32x4_t offset = vreinterpretq_s32_f32(vld1q_f32(group.offset + p));
  const float32x4_t reach = vreinterpretq_f32_s32(vorrq_s32(sign, offset));
  const int32x4_t high = vcvtnq_s32_f32(vfmaq_f32(reach, value, vld1q_f32(group.factor + p)));
  const int32x4_t low = vcvtnq_s32_f32(vfmaq_f32(reach, value, vld1q_f32(group.factor_below + p)));
  unlike = vorrq_s32(unlike, veorq_s32(high, low));
  return high;
}

/// 16 rounded products as bytes.
[[gnu::always_inline]] inline int8x16_t Pack(const int32x4_t* rounded,
                                             const ProductFinish& finish) {
  const int16x8_t zero_point = vdupq_n_s16(static_cast<int16_t>(finish.zero_point));
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(rounded[0]), rounded[1]);
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(rounded[2]), rounded[3]);
  const int8x16_t bytes =
      vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, zero_point)), vqaddq_s16(high, zero_point));
  const int8x16_t bounded = vminq_s8(vmaxq_s8(bytes, vdupq_n_s8(static_cast<int8_t>(finish.min))),
                                     vdupq_n_s8(static_cast<int8_t>(finish.max)));
  return veorq_s8(bounded, vreinterpretq_s8_u32(vdupq_n_u32(finish.flip)));
}

/// How sums become bytes here; other kinds, and groups that are not tame, go one by one.
enum class Rounder { kHalfEven, kFixedPoint, kFixedPointOnce };

/// Outputs of one pixel from its sums.
template <Rounder kRounder>
void FinishPixel(const ProductRoutines& routines, const ProductCall& call, const int32_t* sums,
                 uint8_t* y) {
  const ProductGroup& group = *call.group;
  alignas(16) int8_t bytes[kMostWidth];
  int32x4_t unlike = vdupq_n_s32(0);
  for (int p = 0; p < group.width; p += kTileWidth) {
    int32x4_t rounded[4];
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) {
      const int at = p + v * 4;
      const int32x4_t sum = vld1q_s32(sums + at);
      if constexpr (kRounder == Rounder::kHalfEven) rounded[v] = HalfEven(group, at, sum);
      if constexpr (kRounder == Rounder::kFixedPoint) rounded[v] = FixedPoint(group, at, sum);
      if constexpr (kRounder == Rounder::kFixedPointOnce) {
        rounded[v] = FixedPointOnce(group, at, sum, unlike);
      }
    }
    const int8x16_t packed = Pack(rounded, *call.finish);
    const bool is_whole = p + kTileWidth <= group.channels;
    vst1q_s8(is_whole ? reinterpret_cast<int8_t*>(y) + p : bytes + p, packed);
  }
  const int whole = group.channels / kTileWidth * kTileWidth;
  for (int m = whole; m < group.channels; ++m) y[m] = static_cast<uint8_t>(bytes[m]);
  if (kRounder == Rounder::kFixedPointOnce && vmaxvq_u32(vreinterpretq_u32_s32(unlike)) != 0) {
    StoreFromSums(routines, group, *call.finish, sums, y);
  }
}

using PixelFinisher = void (*)(const ProductRoutines& routines, const ProductCall& call,
                               const int32_t* sums, uint8_t* y);

void FinishOneByOne(const ProductRoutines& routines, const ProductCall& call, const int32_t* sums,
                    uint8_t* y) {
  StoreFromSums(routines, *call.group, *call.finish, sums, y);
}

PixelFinisher FinisherOf(const ProductCall& call) {
  const ProductFinish& finish = *call.finish;
  if (call.group->is_tame && finish.kind == FinishKind::kHalfEven) {
    return FinishPixel<Rounder::kHalfEven>;
  }
  if (call.group->is_tame && finish.kind == FinishKind::kFixedPoint) {
    return finish.once ? FinishPixel<Rounder::kFixedPointOnce> : FinishPixel<Rounder::kFixedPoint>;
  }
  return FinishOneByOne;
}

/// Sums of some pixels by 16 channels of the group, from channel `first` on, to `sums`, rows of
/// kMostWidth.
using TileFunction = void (*)(const ProductCall& call, const uint8_t* x, int first, int32_t* sums);

/// `tiles[n - 1]` computes n pixels.
[[gnu::always_inline]] inline void RunTiles(const ProductRoutines& routines,
                                            const TileFunction (&tiles)[kMostPixels],
                                            const ProductCall& call) {
  alignas(16) int32_t sums[kMostPixels * kMostWidth];
  const PixelFinisher finish = FinisherOf(call);
  const uint8_t* x = call.x + call.group->source;
  const int count = (call.pixels + kMostPixels - 1) / kMostPixels;
  for (int tile = 0, done = 0; tile < count; ++tile) {
    const int pixels = (call.pixels - done) / (count - tile);
    for (int first = 0; first < call.group->width; first += kTileWidth) {
      tiles[pixels - 1](call, x + done * call.x_step, first, sums);
    }
    for (int i = 0; i < pixels; ++i) {
      finish(routines, call, sums + i * kMostWidth, call.y + (done + i) * call.y_step);
    }
    done += pixels;
  }
}

[[gnu::always_inline]] inline void LoadBias(const ProductCall& call, int first, int32x4_t* sums) {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) sums[v] = vld1q_s32(call.group->bias + first + v * 4);
}

[[gnu::always_inline]] inline void StoreSums(const int32x4_t* sums, int pixel, int first,
                                             int32_t* to) {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) vst1q_s32(to + pixel * kMostWidth + first + v * 4, sums[v]);
}

/// The four bytes at `from`, as i8.
[[gnu::always_inline]] inline int32_t LoadFour(const uint8_t* from, uint32_t flip) {
  uint32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return static_cast<int32_t>(four ^ flip);
}

}  // namespace
}  // namespace tenon::cpu::q8
