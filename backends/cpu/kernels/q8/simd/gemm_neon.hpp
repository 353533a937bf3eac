// Cuts a call into tiles and makes outputs of their sums, for both forms of the NEON GEMM. Only
// gemm_neon*.cpp include it: no function here has external linkage.
#pragma once

#include <arm_neon.h>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kTileWidth = 16;
constexpr int kMostPixels = 4;

int ChannelAt(int p, int) { return p; }

[[gnu::always_inline]] inline int32x4_t HalfEven(const GemmGroup& group, int p, int32x4_t sums) {
  return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), vld1q_f32(group.factor + p)));
}

/// Applies both roundings of the definition (requantize.hpp) in integers. In a tame group no
/// instruction saturates.
[[gnu::always_inline]] inline int32x4_t FixedPoint(const GemmGroup& group, int p, int32x4_t sums) {
  const int32x4_t shift = vld1q_s32(group.shift + p);
  const int32x4_t zero = vdupq_n_s32(0);
  const int32x4_t right = vminq_s32(shift, zero);
  const int32x4_t shifted = vshlq_s32(sums, vmaxq_s32(shift, zero));
  const int32x4_t high = vqrdmulhq_s32(shifted, vld1q_s32(group.multiplier + p));
  // The instruction rounds halves up, but the definition rounds them away from zero.
  const int32x4_t away = vshrq_n_s32(vandq_s32(high, right), 31);
  return vrshlq_s32(vaddq_s32(high, away), right);
}

/// Rounds once. A result is exact if a factor a little too large and one a little too small agree
/// on it.
[[gnu::always_inline]] inline int32x4_t FixedPointOnce(const GemmGroup& group, int p,
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

/// Packs 16 rounded products into bytes.
[[gnu::always_inline]] inline int8x16_t Pack(const int32x4_t* rounded,
                                             const GemmEpilogue& epilogue) {
  const int16x8_t zero_point = vdupq_n_s16(static_cast<int16_t>(epilogue.zero_point));
  const int16x8_t low = vqmovn_high_s32(vqmovn_s32(rounded[0]), rounded[1]);
  const int16x8_t high = vqmovn_high_s32(vqmovn_s32(rounded[2]), rounded[3]);
  const int8x16_t bytes =
      vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, zero_point)), vqaddq_s16(high, zero_point));
  const int8x16_t bounded = vminq_s8(vmaxq_s8(bytes, vdupq_n_s8(static_cast<int8_t>(epilogue.min))),
                                     vdupq_n_s8(static_cast<int8_t>(epilogue.max)));
  return veorq_s8(bounded, vreinterpretq_s8_u32(vdupq_n_u32(epilogue.flip)));
}

/// Says how sums become bytes here; other kinds, and groups that are not tame, are computed one by
/// one.
enum class Rounder { kHalfEven, kFixedPoint, kFixedPointOnce };

/// Stores the outputs of one pixel from its sums.
template <Rounder kRounder>
void RequantizePixel(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums,
                     uint8_t* y) {
  const GemmGroup& group = *call.group;
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
    const int8x16_t packed = Pack(rounded, *call.epilogue);
    const bool is_whole = p + kTileWidth <= group.channels;
    vst1q_s8(is_whole ? reinterpret_cast<int8_t*>(y) + p : bytes + p, packed);
  }
  const int whole = group.channels / kTileWidth * kTileWidth;
  for (int m = whole; m < group.channels; ++m) y[m] = static_cast<uint8_t>(bytes[m]);
  if (kRounder == Rounder::kFixedPointOnce && vmaxvq_u32(vreinterpretq_u32_s32(unlike)) != 0) {
    StoreFromSums(routines, group, *call.epilogue, sums, y);
  }
}

using PixelEpilogue = void (*)(const GemmRoutines& routines, const GemmCall& call,
                               const int32_t* sums, uint8_t* y);

void RequantizeOneByOne(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums,
                        uint8_t* y) {
  StoreFromSums(routines, *call.group, *call.epilogue, sums, y);
}

PixelEpilogue EpilogueOf(const GemmCall& call) {
  const GemmEpilogue& epilogue = *call.epilogue;
  if (call.group->is_tame && epilogue.kind == EpilogueKind::kHalfEven) {
    return RequantizePixel<Rounder::kHalfEven>;
  }
  if (call.group->is_tame && epilogue.kind == EpilogueKind::kFixedPoint) {
    return epilogue.once ? RequantizePixel<Rounder::kFixedPointOnce>
                         : RequantizePixel<Rounder::kFixedPoint>;
  }
  return RequantizeOneByOne;
}

[[gnu::always_inline]] inline void LoadBias(const GemmCall& call, int first, int32x4_t* sums) {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) sums[v] = vld1q_s32(call.group->bias + first + v * 4);
}

[[gnu::always_inline]] inline void StoreSums(const int32x4_t* sums, int pixel, int first,
                                             int32_t* to) {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) vst1q_s32(to + pixel * kMostWidth + first + v * 4, sums[v]);
}

/// Returns the four bytes at `from` as i8.
[[gnu::always_inline]] inline int32_t LoadFour(const uint8_t* from, uint32_t flip) {
  uint32_t four;
  __builtin_memcpy(&four, from, sizeof four);
  return static_cast<int32_t>(four ^ flip);
}

/// Writes the sums of kPixels pixels by 16 channels of the group, from channel `first` on, to `to`,
/// whose rows have kMostWidth entries. Isa::AddTap adds the products of the tap at `tap` and
/// advances the pointer to the weights.
template <typename Isa, int kPixels>
void RunTile(const GemmCall& call, const uint8_t* x, int first, int32_t* to) {
  const int8_t* weights = call.group->weights + int64_t{first} * kDepthStep;
  int32x4_t sums[kPixels][4];
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) LoadBias(call, first, sums[i]);
  for (int t = 0; t < call.tap_count; ++t) {
    Isa::template AddTap<kPixels>(call, x + call.taps[t], weights, sums);
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) StoreSums(sums[i], i, first, to);
}

/// Is GemmRoutines::run.
template <typename Isa>
void Run(const GemmCall& call) {
  using TileFunction = void (*)(const GemmCall&, const uint8_t*, int, int32_t*);
  constexpr TileFunction kTiles[kMostPixels] = {RunTile<Isa, 1>, RunTile<Isa, 2>, RunTile<Isa, 3>,
                                                RunTile<Isa, 4>};
  alignas(16) int32_t sums[kMostPixels * kMostWidth];
  const PixelEpilogue epilogue = EpilogueOf(call);
  const uint8_t* x = call.x + call.group->source;
  const int count = (call.pixels + kMostPixels - 1) / kMostPixels;
  for (int tile = 0, done = 0; tile < count; ++tile) {
    const int pixels = (call.pixels - done) / (count - tile);
    for (int first = 0; first < call.group->width; first += kTileWidth) {
      kTiles[pixels - 1](call, x + done * call.x_step, first, sums);
    }
    for (int i = 0; i < pixels; ++i) {
      epilogue(Isa::Routines(), call, sums + i * kMostWidth, call.y + (done + i) * call.y_step);
    }
    done += pixels;
  }
}

}  // namespace
}  // namespace tenon::cpu::q8
