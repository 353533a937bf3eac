// Cuts a call into tiles and makes outputs of their sums, for all forms of the NEON GEMM. Only
// gemm_neon*.cpp include it: no function here has external linkage.
#pragma once

#include <arm_neon.h>

#include <utility>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"
#include "backends/cpu/kernels/q8/simd/rounding_neon.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kTileWidth = 16;
constexpr int kMostPixels = 6;

int ChannelAt(int p, int) { return p; }

/// The factors of four channels of a group. For those that may be wrong, `unlike` is no longer zero
/// where they are.
struct GroupHalfEven : HalfEvenFactors {
  GroupHalfEven(const GemmGroup& group, int p) : HalfEvenFactors{vld1q_f32(group.factor + p)} {}

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums, int32x4_t&) const {
    return HalfEvenFactors::Round(sums);
  }
};

struct GroupFixedPoint : FixedPointFactors {
  GroupFixedPoint(const GemmGroup& group, int p)
      : FixedPointFactors{vld1q_s32(group.multiplier + p),
                          vmaxq_s32(vld1q_s32(group.shift + p), vdupq_n_s32(0)),
                          vminq_s32(vld1q_s32(group.shift + p), vdupq_n_s32(0))} {}

  [[gnu::always_inline]] int32x4_t Round(int32x4_t sums, int32x4_t&) const {
    return FixedPointFactors::Round(sums);
  }
};

/// Rounds once. A result is exact if a factor a little too large and one a little too small agree
/// on it.
struct GroupFixedPointOnce {
  GroupFixedPointOnce(const GemmGroup& group, int p)
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

/// Stores the outputs of `pixels` pixels from their sums, whose rows have kMostWidth entries: 16
/// channels of all pixels, then the next.
template <typename Factors>
void Requantize(const GemmRoutines& routines, const GemmCall& call, const int32_t* sums, int pixels,
                uint8_t* y) {
  const GemmGroup& group = *call.group;
  const GemmEpilogue& epilogue = *call.epilogue;
  const Packer packer(epilogue.zero_point, epilogue.min, epilogue.max, epilogue.flip);
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
    StoreFromSums(routines, group, epilogue, sums + i * kMostWidth, y + i * call.y_step);
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
    return Requantize<GroupHalfEven>;
  }
  if (call.group->is_tame && epilogue.kind == EpilogueKind::kFixedPoint) {
    return epilogue.once ? Requantize<GroupFixedPointOnce> : Requantize<GroupFixedPoint>;
  }
  return RequantizeOneByOne;
}

/// Is GemmRoutines::weight_place where a register has four channels of a step, the four bytes of
/// each next to each other.
[[maybe_unused]] int PlaceByFours(int p, int k, int) {
  const int block = p / kTileWidth;
  return (block * kTileWidth + p % kTileWidth) * kDepthStep + k;
}

/// Says how a tap is read, which is the same for all of a call.
struct TapSteps {
  explicit TapSteps(const GemmCall& call)
      : flip(call.flip ^ 0x80808080U),
        weights(int64_t{call.group->width} * kDepthStep),
        depth(call.depth),
        last(depth < kDepthStep ? 0 : depth - kDepthStep) {}

  /// Returns where the step that begins at byte `k`, or before it if it is the last, is read.
  [[nodiscard]] int64_t At(int64_t k) const { return k < last ? k : last; }

  uint32_t flip;    ///< makes four bytes of x i8
  int64_t weights;  ///< bytes from step to step
  int64_t depth;
  int64_t last;
};

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
