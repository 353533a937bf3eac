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
#include "backends/cpu/kernels/q8/simd/rounding_neon.hpp"
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

/// Returns the factors of the register of four channels.
HalfEvenFactors HalfEvenOf(const DepthwiseCall& call, int at) {
  return {vld1q_f32(static_cast<const float*>(call.multiplier) + at * 4)};
}
FixedPointFactors FixedPointOf(const DepthwiseCall& call, int at) {
  return {vld1q_s32(static_cast<const int32_t*>(call.multiplier) + at * 4),
          vsubq_s32(vld1q_s32(call.doubling + at * 4), vdupq_n_s32(1)),
          vnegq_s32(vld1q_s32(call.right + at * 4))};
}

/// Rounds and stores the outputs of kPixels pixels.
template <int kPixels>
[[gnu::always_inline]] inline void ApplyEpilogue(const DepthwiseCall& call, Sums* sums,
                                                 uint8_t* y) {
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) {
    if (call.fixed_point) {
      const FixedPointFactors factors = FixedPointOf(call, v);
#pragma GCC unroll 4
      for (int i = 0; i < kPixels; ++i) sums[i].of[v] = factors.Round(sums[i].of[v]);
    } else {
      const HalfEvenFactors factors = HalfEvenOf(call, v);
#pragma GCC unroll 4
      for (int i = 0; i < kPixels; ++i) sums[i].of[v] = factors.Round(sums[i].of[v]);
    }
  }
  const ByteOutput& output = call.output;
  const Packer packer(output.zero_point, output.min, output.max, output.flip);
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
    StoreBytes(packer.Pack(sums[i].of), y + i * call.y_step, call.channels);
  }
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
  ApplyEpilogue<kPixels>(call, sums, y);
}

/// kMostPixels adjacent outputs of windows whose rows are kTaps adjacent columns: what several
/// windows read of a row is loaded and widened once.
template <int kTaps, int kStride, Where kWhere, bool kFlip>
void RunSharedColumns(const DepthwiseCall& call, int64_t first, uint8_t* y) {
  constexpr int kColumns = (kMostPixels - 1) * kStride + kTaps;
  Sums sums[kMostPixels];
#pragma GCC unroll 4
  for (int i = 0; i < kMostPixels; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[i].of[v] = vld1q_s32(call.bias + v * 4);
  }
  const auto* weights = static_cast<const int16_t*>(call.weights);
  for (int t = 0; t < call.groups; t += kTaps) {
    const DepthwiseTap& tap = call.taps[t];
    const uint8_t* from = tap.row + first * tap.step;
    int16x8_t w[2 * kTaps];
#pragma GCC unroll 10
    for (int i = 0; i < 2 * kTaps; ++i) w[i] = vld1q_s16(weights + i * 8);
    weights += kTaps * kBlock;
#pragma GCC unroll 16
    for (int column = 0; column < kColumns; ++column, from += tap.step) {
      const uint8x16_t x =
          kWhere == Where::kInside ? vld1q_u8(from) : LoadTap<kWhere>(call, tap, first + column);
#pragma GCC unroll 5
      for (int k = 0; k < kTaps; ++k) {
        const int offset = column - k;
        if (offset < 0 || offset % kStride != 0 || offset / kStride >= kMostPixels) continue;
        AddTap<kFlip>(x, w[2 * k], w[2 * k + 1], sums[offset / kStride]);
      }
    }
  }
  ApplyEpilogue<kMostPixels>(call, sums, y);
}

using WindowFunction = void (*)(const DepthwiseCall& call, int64_t first, uint8_t* y);

/// Returns the function for the call's windows; null where their rows are others.
template <Where kWhere, bool kFlip>
WindowFunction WindowFunctionOf(const DepthwiseCall& call, int taps) {
  if (taps == 3 && call.stride == 1) return RunSharedColumns<3, 1, kWhere, kFlip>;
  if (taps == 3 && call.stride == 2) return RunSharedColumns<3, 2, kWhere, kFlip>;
  if (taps == 5 && call.stride == 1) return RunSharedColumns<5, 1, kWhere, kFlip>;
  if (taps == 5 && call.stride == 2) return RunSharedColumns<5, 2, kWhere, kFlip>;
  return nullptr;
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
  const bool is_whole = call.channels >= kBlock && call.pixels >= kMostPixels;
  const int taps = is_whole ? call.row_taps : 0;
  const WindowFunction windows_inside = WindowFunctionOf<Where::kInside, kFlip>(call, taps);
  const WindowFunction windows_at_edge = WindowFunctionOf<Where::kEdge, kFlip>(call, taps);
  for (int pixel = 0; pixel < call.pixels; pixel += kMostPixels) {
    const int left = call.pixels - pixel;
    const bool shares = windows_inside != nullptr;
    // The last windows that share columns are as many as all others: some are computed twice.
    const int at = shares && left < kMostPixels ? call.pixels - kMostPixels : pixel;
    const int pixels = shares || left >= kMostPixels ? kMostPixels : left;
    const int64_t first = call.first + at * call.stride;
    const bool is_inside =
        first >= 0 && first + (pixels - 1) * call.stride + call.reach < call.columns;
    uint8_t* y = call.y + at * call.y_step;
    if (shares) {
      (is_inside ? windows_inside : windows_at_edge)(call, first, y);
    } else if (call.channels < kBlock) {
      RunSome<Where::kPartial, kFlip>(call, pixels, first, y);
    } else if (is_inside) {
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
