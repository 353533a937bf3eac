// Cuts a call into tiles and makes outputs of their sums, for all forms of the NEON GEMM. Only
// gemm_neon*.cpp include it: no function here has external linkage.
#pragma once

#include <arm_neon.h>

#include <utility>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kTileWidth = 16;
constexpr int kMostPixels = 6;

int ChannelAt(int p, int) { return p; }

/// Contains what rounds the sums of four channels, and is the same for all pixels.
struct HalfEvenFactors {
  HalfEvenFactors(const GemmGroup& group, int p) : factor(vld1q_f32(group.factor + p)) {}

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums, int32x4_t&) const {
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sums), factor));
  }

  float32x4_t factor;
};

/// Applies both roundings of the definition (requantize.hpp) in integers. In a tame group no
/// instruction saturates.
struct FixedPointFactors {
  FixedPointFactors(const GemmGroup& group, int p)
      : multiplier(vld1q_s32(group.multiplier + p)),
        left(vmaxq_s32(vld1q_s32(group.shift + p), vdupq_n_s32(0))),
        right(vminq_s32(vld1q_s32(group.shift + p), vdupq_n_s32(0))) {}

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums, int32x4_t&) const {
    const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sums, left), multiplier);
    // The instruction rounds halves up, but the definition rounds them away from zero.
    return vrshlq_s32(vsraq_n_s32(high, vandq_s32(high, right), 31), right);
  }

  int32x4_t multiplier;
  int32x4_t left;
  int32x4_t right;
};

/// Rounds once. A result is exact if a factor a little too large and one a little too small agree
/// on it; where they do not, `unlike` is no longer zero.
struct FixedPointOnceFactors {
  FixedPointOnceFactors(const GemmGroup& group, int p)
      : factor(vld1q_f32(group.factor + p)),
        below(vld1q_f32(group.factor_below + p)),
        offset(vreinterpretq_s32_f32(vld1q_f32(group.offset + p))) {}

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums, int32x4_t& unlike) const {
    const float32x4_t value = vcvtq_f32_s32(sums);
    const int32x4_t sign = vandq_s32(sums, vdupq_n_s32(INT32_MIN));
    const float32x4_t reach = vreinterpretq_f32_s32(vorrq_s32(sign, offset));
    const int32x4_t high = vcvtnq_s32_f32(vfmaq_f32(reach, value, factor));
    const int32x4_t low = vcvtnq_s32_f32(vfmaq_f32(reach, value, below));
    unlike = vorrq_s32(unlike, veorq_s32(high, low));
    return high;
  }

  float32x4_t factor;
  float32x4_t below;
  int32x4_t offset;
};

/// Packs 16 rounded products into bytes.
struct Packer {
  explicit Packer(const GemmEpilogue& epilogue)
      : zero_point(vdupq_n_s16(static_cast<int16_t>(epilogue.zero_point))),
        min(vdupq_n_s8(static_cast<int8_t>(epilogue.min))),
        max(vdupq_n_s8(static_cast<int8_t>(epilogue.max))),
        flip(vreinterpretq_s8_u32(vdupq_n_u32(epilogue.flip))) {}

  [[gnu::always_inline]] int8x16_t Pack(const int32x4_t* rounded) const {
    const int16x8_t low = vqmovn_high_s32(vqmovn_s32(rounded[0]), rounded[1]);
    const int16x8_t high = vqmovn_high_s32(vqmovn_s32(rounded[2]), rounded[3]);
    const int8x16_t bytes =
        vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, zero_point)), vqaddq_s16(high, zero_point));
    return veorq_s8(vminq_s8(vmaxq_s8(bytes, min), max), flip);
  }

  int16x8_t zero_point;
  int8x16_t min;
  int8x16_t max;
  int8x16_t flip;
};

/// Stores the first `count` of 16 bytes.
[[gnu::always_inline]] inline void StoreBytes(int8x16_t bytes, uint8_t* y, int count) {
  if (count >= kTileWidth) {
    vst1q_s8(reinterpret_cast<int8_t*>(y), bytes);
    return;
  }
  alignas(16) int8_t some[kTileWidth];
  vst1q_s8(some, bytes);
  for (int m = 0; m < count; ++m) y[m] = static_cast<uint8_t>(some[m]);
}

/// Stores the outputs of `pixels` pixels from their sums, whose rows have kMostWidth entries: 16
/// channels of all pixels, then the next.
template <typename Factors>
void Requantize(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums, int pixels,
                uint8_t* y) {
  const GemmGroup& group = *call.group;
  const Packer packer(*call.epilogue);
  int32x4_t unlike[kMostPixels];
  for (int32x4_t& each : unlike) each = vdupq_n_s32(0);
  for (int p = 0; p < group.channels; p += kTileWidth) {
    const Factors factors[4] = {{group, p}, {group, p + 4}, {group, p + 8}, {group, p + 12}};
    for (int i = 0; i < pixels; ++i) {
      const int32_t* from = sums + i * kMostWidth + p;
      int32x4_t rounded[4];
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        rounded[v] = factors[v].Round(vld1q_s32(from + v * 4), unlike[i]);
      }
      StoreBytes(packer.Pack(rounded), y + i * call.y_step + p, group.channels - p);
    }
  }
  for (int i = 0; i < pixels; ++i) {
    if (vmaxvq_u32(vreinterpretq_u32_s32(unlike[i])) == 0) continue;
    StoreFromSums(routines, group, *call.epilogue, sums + i * kMostWidth, y + i * call.y_step);
  }
}

using Epilogue = void (*)(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums,
                          int pixels, uint8_t* y);

/// Computes outputs of other kinds, and of groups that are not tame, one by one.
void RequantizeOneByOne(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums,
                        int pixels, uint8_t* y) {
  for (int i = 0; i < pixels; ++i) {
    StoreFromSums(routines, *call.group, *call.epilogue, sums + i * kMostWidth,
                  y + i * call.y_step);
  }
}

Epilogue EpilogueOf(const GemmCall& call) {
  const GemmEpilogue& epilogue = *call.epilogue;
  if (call.group->is_tame && epilogue.kind == EpilogueKind::kHalfEven) {
    return Requantize<HalfEvenFactors>;
  }
  if (call.group->is_tame && epilogue.kind == EpilogueKind::kFixedPoint) {
    return epilogue.once ? Requantize<FixedPointOnceFactors> : Requantize<FixedPointFactors>;
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

/// Writes the sums of a tile to `to`, whose rows have kMostWidth entries. Isa::AddTap adds the
/// products of the tap at `tap` and advances the pointer to the weights.
template <typename Isa, int kPixels>
void RunTile(const GemmCall& call, const uint8_t* x, int first, int32_t* to) {
  const int8_t* weights = call.group->weights + int64_t{first} * kDepthStep;
  int32x4_t sums[kPixels][4];
#pragma GCC unroll 5
  for (int i = 0; i < kPixels; ++i) LoadBias(call, first, sums[i]);
  for (int t = 0; t < call.tap_count; ++t) {
    Isa::template AddTap<kPixels>(call, x + call.taps[t], weights, sums);
  }
#pragma GCC unroll 5
  for (int i = 0; i < kPixels; ++i) StoreSums(sums[i], i, first, to);
}

/// Computes a tile: the sums of some pixels by 16 channels of the group, from channel `first` on.
using TileFunction = void (*)(const GemmCall& call, const uint8_t* x, int first, int32_t* to);

/// Has a function for each number of pixels, from 1 on.
template <typename Isa, int... kIndices>
TileFunction TileOf(int pixels, std::integer_sequence<int, kIndices...>) {
  constexpr TileFunction kTiles[] = {Isa::template Tile<kIndices + 1>...};
  return kTiles[pixels - 1];
}

/// Is GemmRoutines::run.
template <typename Isa>
void Run(const GemmCall& call) {
  alignas(16) int32_t sums[Isa::kMostPixels * kMostWidth];
  const Epilogue epilogue = EpilogueOf(call);
  const uint8_t* x = call.x + call.group->source;
  const int count = (call.pixels + Isa::kMostPixels - 1) / Isa::kMostPixels;
  for (int tile = 0, done = 0; tile < count; ++tile) {
    int pixels = (call.pixels - done) / (count - tile);
    if (Isa::kPairsPixels && tile + 1 < count) pixels += pixels % 2;
    const TileFunction run =
        TileOf<Isa>(pixels, std::make_integer_sequence<int, Isa::kMostPixels>());
    for (int first = 0; first < call.group->width; first += kTileWidth) {
      run(call, x + done * call.x_step, first, sums);
    }
    epilogue(Isa::Routines(), call, sums, pixels, call.y + done * call.y_step);
    done += pixels;
  }
}

}  // namespace
}  // namespace tenon::cpu::q8
