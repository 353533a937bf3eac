// The routines for NEON of 64-bit Arm multiply depthwise inputs by 16-bit weights, 16 channels at a
// time, with four pixels for each load of weights. The compiler vectorises the elementwise loops.
#define TENON_Q8_ISA neon
#define TENON_BYTES_WIDTH 16

#include <arm_neon.h>

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/dynamic.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"
#include "backends/cpu/kernels/q8/simd/softmax.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kBlock = 16;
constexpr int kMostPixels = 4;

/// Contains the sums of 16 channels, in their order.
struct Sums {
  int32x4_t of[4];
};

/// Loads the bytes of 16 channels, of which `channels` exist.
[[gnu::always_inline]] inline uint8x16_t LoadBytes(const uint8_t* from, int channels) {
  if (channels >= kBlock) return vld1q_u8(from);
  uint8_t bytes[kBlock] = {};
  for (int i = 0; i < channels; ++i) bytes[i] = from[i];
  return vld1q_u8(bytes);
}

/// The bytes as u8 says them, where kFlip as i8 does.
template <bool kFlip>
[[gnu::always_inline]] inline int16x8_t WidenLow(uint8x16_t x) {
  if constexpr (!kFlip) return vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(x)));
  return vsubl_s8(vget_low_s8(vreinterpretq_s8_u8(x)), vdup_n_s8(-128));
}
template <bool kFlip>
[[gnu::always_inline]] inline int16x8_t WidenHigh(uint8x16_t x) {
  if constexpr (!kFlip) return vreinterpretq_s16_u16(vmovl_high_u8(x));
  return vsubl_high_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(-128));
}

/// Adds the products of one tap.
template <bool kFlip>
[[gnu::always_inline]] inline void AddTap(uint8x16_t x, int16x8_t low_weights,
                                          int16x8_t high_weights, Sums& sums) {
  const int16x8_t low = WidenLow<kFlip>(x);
  const int16x8_t high = WidenHigh<kFlip>(x);
  sums.of[0] = vmlal_s16(sums.of[0], vget_low_s16(low), vget_low_s16(low_weights));
  sums.of[1] = vmlal_high_s16(sums.of[1], low, low_weights);
  sums.of[2] = vmlal_s16(sums.of[2], vget_low_s16(high), vget_low_s16(high_weights));
  sums.of[3] = vmlal_high_s16(sums.of[3], high, high_weights);
}

/// As requantize.hpp says; `at` counts registers.
[[gnu::always_inline]] inline int32x4_t Rounded(const DepthwiseCall& call, int32x4_t sum, int at) {
  if (!call.fixed_point) {
    const float32x4_t factor = vld1q_f32(static_cast<const float*>(call.multiplier) + at * 4);
    return vcvtnq_s32_f32(vmulq_f32(vcvtq_f32_s32(sum), factor));
  }
  const int32x4_t multiplier = vld1q_s32(static_cast<const int32_t*>(call.multiplier) + at * 4);
  const int32x4_t right = vld1q_s32(call.right + at * 4);
  const int32x4_t left = vsubq_s32(vld1q_s32(call.doubling + at * 4), vdupq_n_s32(1));
  // The instruction doubles the product and adds 2^31 before it takes the upper half: with sums and
  // factors in range, just the rounding that is defined.
  const int32x4_t high = vqrdmulhq_s32(vshlq_s32(sum, left), multiplier);
  const int32x4_t biased = vaddq_s32(high, vld1q_s32(call.half + at * 4));
  const int32x4_t away = vandq_s32(vshrq_n_s32(high, 31), vld1q_s32(call.away + at * 4));
  return vshlq_s32(vaddq_s32(biased, away), vnegq_s32(right));
}

void ApplyEpilogue(const DepthwiseCall& call, const Sums& sums, uint8_t* y) {
  const ByteOutput& output = call.output;
  const int16x8_t zero_point = vdupq_n_s16(static_cast<int16_t>(output.zero_point));
  const int16x8_t low =
      vqmovn_high_s32(vqmovn_s32(Rounded(call, sums.of[0], 0)), Rounded(call, sums.of[1], 1));
  const int16x8_t high =
      vqmovn_high_s32(vqmovn_s32(Rounded(call, sums.of[2], 2)), Rounded(call, sums.of[3], 3));
  int8x16_t bytes =
      vqmovn_high_s16(vqmovn_s16(vqaddq_s16(low, zero_point)), vqaddq_s16(high, zero_point));
  bytes = vmaxq_s8(bytes, vdupq_n_s8(static_cast<int8_t>(output.min)));
  bytes = vminq_s8(bytes, vdupq_n_s8(static_cast<int8_t>(output.max)));
  const uint8x16_t flipped = veorq_u8(vreinterpretq_u8_s8(bytes), vdupq_n_u8(output.flip));
  if (call.channels >= kBlock) return vst1q_u8(y, flipped);
  uint8_t stored[kBlock];
  vst1q_u8(stored, flipped);
  for (int i = 0; i < call.channels; ++i) y[i] = stored[i];
}

/// Says which columns and channels a run of pixels has.
enum class Where {
  kInside,   ///< all columns of every window, and all 16 channels
  kEdge,     ///< columns outside, and all 16 channels
  kPartial,  ///< any columns, fewer channels
};

/// Returns the bytes that pixel `i` reads of a tap.
template <Where kWhere>
[[gnu::always_inline]] inline uint8x16_t LoadTap(const DepthwiseCall& call, const DepthwiseTap& tap,
                                                 int64_t column) {
  if constexpr (kWhere == Where::kInside) return vld1q_u8(tap.row + column * tap.step);
  const bool inside = column >= 0 && column < call.columns;
  const uint8_t* from = inside ? tap.row + column * tap.step : call.padding;
  return LoadBytes(from, kWhere == Where::kEdge ? kBlock : call.channels);
}

/// kPixels adjacent outputs, the first window beginning at column `first`.
template <int kPixels, Where kWhere, bool kFlip>
void RunPixels(const DepthwiseCall& call, int64_t first, uint8_t* y) {
  Sums sums[kPixels];
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[i].of[v] = vld1q_s32(call.bias + v * 4);
  }
  const auto* weights = static_cast<const int16_t*>(call.weights);
  for (int t = 0; t < call.groups; ++t, weights += kBlock) {
    const DepthwiseTap& tap = call.taps[t];
    const int16x8_t low = vld1q_s16(weights);
    const int16x8_t high = vld1q_s16(weights + 8);
#pragma GCC unroll 4
    for (int i = 0; i < kPixels; ++i) {
      const int64_t column = first + tap.column + i * call.stride;
      AddTap<kFlip>(LoadTap<kWhere>(call, tap, column), low, high, sums[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) ApplyEpilogue(call, sums[i], y + i * call.y_step);
}

/// Computes `pixels` outputs, at most kMostPixels.
template <Where kWhere, bool kFlip>
void RunSome(const DepthwiseCall& call, int pixels, int64_t first, uint8_t* y) {
  if (pixels == 4) return RunPixels<4, kWhere, kFlip>(call, first, y);
  if (pixels == 3) return RunPixels<3, kWhere, kFlip>(call, first, y);
  if (pixels == 2) return RunPixels<2, kWhere, kFlip>(call, first, y);
  RunPixels<1, kWhere, kFlip>(call, first, y);
}

template <bool kFlip>
void RunRow(const DepthwiseCall& call) {
  int64_t reach = 0;  // of a window
  for (int t = 0; t < call.groups; ++t) {
    if (call.taps[t].column > reach) reach = call.taps[t].column;
  }
  for (int pixel = 0; pixel < call.pixels; pixel += kMostPixels) {
    const int left = call.pixels - pixel;
    const int pixels = left < kMostPixels ? left : kMostPixels;
    const int64_t first = call.first + pixel * call.stride;
    uint8_t* y = call.y + pixel * call.y_step;
    if (call.channels < kBlock) {
      RunSome<Where::kPartial, kFlip>(call, pixels, first, y);
    } else if (first >= 0 && first + (pixels - 1) * call.stride + reach < call.columns) {
      RunSome<Where::kInside, kFlip>(call, pixels, first, y);
    } else {
      RunSome<Where::kEdge, kFlip>(call, pixels, first, y);
    }
  }
}

void RunDepthwise(const DepthwiseCall& call) {
  if (call.x_flip != 0) return RunRow<true>(call);
  RunRow<false>(call);
}

/// Sixteen bytes at a time in four tables of 64, of which an index finds itself in one.
void RunTableLookup(const LookupCall& call) {
  uint8x16x4_t tables[4];
  for (int t = 0; t < 4; ++t) {
    for (int v = 0; v < 4; ++v) tables[t].val[v] = vld1q_u8(call.table + t * 64 + v * 16);
  }
  const uint8x16_t flip = vdupq_n_u8(call.flip);
  int i = 0;
  for (; i + 16 <= call.count; i += 16) {
    const uint8x16_t index = veorq_u8(vld1q_u8(call.x + i), flip);
    uint8x16_t y = vqtbl4q_u8(tables[0], index);
    y = vqtbx4q_u8(y, tables[1], vsubq_u8(index, vdupq_n_u8(64)));
    y = vqtbx4q_u8(y, tables[2], vsubq_u8(index, vdupq_n_u8(128)));
    y = vqtbx4q_u8(y, tables[3], vsubq_u8(index, vdupq_n_u8(192)));
    vst1q_u8(call.y + i, y);
  }
  for (; i < call.count; ++i) {
    call.y[i] = call.table[static_cast<uint8_t>(call.x[i] ^ call.flip)];
  }
}

void RunInterleave(const uint8_t* const* planes, uint8_t* y, int count) {
  int i = 0;
  for (; i + 16 <= count; i += 16) {
    const uint8x16x3_t three = {
        {vld1q_u8(planes[0] + i), vld1q_u8(planes[1] + i), vld1q_u8(planes[2] + i)}};
    vst3q_u8(y + 3 * i, three);
  }
  const uint8_t* const rest[3] = {planes[0] + i, planes[1] + i, planes[2] + i};
  neon::RunInterleave3(rest, y + 3 * i, count - i);
}

}  // namespace

const ByteRoutines kNeonByteRoutines = {
    "neon",
    {/*vectors=*/4, /*group=*/1, /*is_byte=*/false, /*is_column=*/false, /*widest=*/16,
     /*pairs_rows=*/false,
     /*overlaps=*/false},
    RunDepthwise,
    /*depthwise_window=*/nullptr,
    RunTableLookup,
    neon::RunBinary,
    neon::RunQuantize,
    neon::RunDequantize,
    neon::RunQuantizeWords,
    neon::RunDequantizeWords,
    neon::RunLayerNorm,
    neon::RunSoftmax,
    neon::RunMaxPool,
    neon::RunSumPool,
    RunInterleave,
    neon::RunRange,
    neon::RunScaleSums,
};

}  // namespace tenon::cpu::q8
