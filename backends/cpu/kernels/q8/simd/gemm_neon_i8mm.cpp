// The NEON GEMM with products of matrices of bytes (FEAT_I8MM): one instruction multiplies eight
// bytes of two pixels by those of two channels. A tile of up to 6 pixels by 16 channels stays in
// registers.
#include "backends/cpu/kernels/load_later.hpp"
#include "backends/cpu/kernels/q8/simd/gemm_neon.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kChannelPairs = kTileWidth / 2;

/// Has the sums of two pixels by two channels: both channels of the first pixel, then of the
/// second.
template <int kPairs>
using PairSums = int32x4_t[kPairs][kChannelPairs];

/// Adds the products of eight bytes of every pixel by four channels, which are two channels' bytes
/// of two steps each.
template <int kPairs>
[[gnu::always_inline]] inline void AddChannels(const int8x16_t* x, int8x16_t step,
                                               int8x16_t next_step, int pair,
                                               PairSums<kPairs>& sums) {
  const int32x4_t first = vreinterpretq_s32_s8(step);
  const int32x4_t second = vreinterpretq_s32_s8(next_step);
  const int8x16_t low = vreinterpretq_s8_s32(vzip1q_s32(first, second));
  const int8x16_t high = vreinterpretq_s8_s32(vzip2q_s32(first, second));
#pragma GCC unroll 3
  for (int i = 0; i < kPairs; ++i) {
    sums[i][pair] = vmmlaq_s32(sums[i][pair], x[i], low);
    sums[i][pair + 1] = vmmlaq_s32(sums[i][pair + 1], x[i], high);
  }
}

/// Multiplies eight bytes of a pixel at a time.
struct MatrixProducts {
  static const GemmRoutines& Routines() { return kNeonI8mmGemmRoutines; }
  static constexpr int kMostPixels = 6;
  static constexpr bool kPairsPixels = true;

  /// Adds the products of the tap, of pixels that are `pixels` from it.
  template <int kPairs>
  [[gnu::always_inline]] static void AddTap(const GemmCall& call, const uint8_t* tap,
                                            const int64_t* pixels, const int8_t*& weights,
                                            PairSums<kPairs>& sums) {
    const TapSteps steps(call);
    const uint8x16_t flips = vreinterpretq_u8_u32(vdupq_n_u32(steps.flip));
    int8x16_t x[kPairs];
    int64_t k = 0;
    for (; k + 2 * kDepthStep <= steps.depth; k += 2 * kDepthStep) {
#pragma GCC unroll 3
      for (int i = 0; i < kPairs; ++i) {
        const uint8x16_t bytes =
            vcombine_u8(vld1_u8(tap + pixels[2 * i] + k), vld1_u8(tap + pixels[2 * i + 1] + k));
        x[i] = vreinterpretq_s8_u8(veorq_u8(bytes, flips));
      }
      const int8_t* next = weights + steps.weights;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        AddChannels<kPairs>(x, vld1q_s8(weights + v * 16), vld1q_s8(next + v * 16), 2 * v, sums);
        LoadLater(weights, sums[kPairs - 1][2 * v + 1]);
      }
      weights += 2 * steps.weights;
    }
    for (; k < steps.depth; k += kDepthStep, weights += steps.weights) {
      const int64_t at = steps.At(k);
#pragma GCC unroll 3
      for (int i = 0; i < kPairs; ++i) {
        const int32x4_t four = {LoadFour(tap + pixels[2 * i] + at, steps.flip), 0,
                                LoadFour(tap + pixels[2 * i + 1] + at, steps.flip), 0};
        x[i] = vreinterpretq_s8_s32(four);
      }
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        AddChannels<kPairs>(x, vld1q_s8(weights + v * 16), vdupq_n_s8(0), 2 * v, sums);
      }
    }
  }

  /// An odd pixel is computed twice.
  template <int kPixels>
  static void Tile(const GemmCall& call, const uint8_t* x, int first, int32_t* to) {
    constexpr int kPairs = (kPixels + 1) / 2;
    const int8_t* weights = call.group->weights + int64_t{first} * kDepthStep;
    const int32_t* bias = call.group->bias + first;
    int64_t pixels[2 * kPairs];
    for (int i = 0; i < 2 * kPairs; ++i) {
      pixels[i] = (i < kPixels ? i : kPixels - 1) * call.x_step;
    }
    PairSums<kPairs> sums;
#pragma GCC unroll 8
    for (int c = 0; c < kChannelPairs; ++c) {
      const int32x2_t two = vld1_s32(bias + 2 * c);
#pragma GCC unroll 3
      for (int i = 0; i < kPairs; ++i) sums[i][c] = vcombine_s32(two, two);
    }
    for (int t = 0; t < call.tap_count; ++t) {
      AddTap<kPairs>(call, x + call.taps[t], pixels, weights, sums);
    }
#pragma GCC unroll 3
    for (int i = 0; i < kPairs; ++i) {
      int32_t* const pixel = to + 2 * i * kMostWidth + first;
#pragma GCC unroll 4
      for (int v = 0; v < 4; ++v) {
        const int64x2_t low = vreinterpretq_s64_s32(sums[i][2 * v]);
        const int64x2_t high = vreinterpretq_s64_s32(sums[i][2 * v + 1]);
        vst1q_s32(pixel + v * 4, vreinterpretq_s32_s64(vzip1q_s64(low, high)));
        if (2 * i + 1 == kPixels) continue;
        vst1q_s32(pixel + kMostWidth + v * 4, vreinterpretq_s32_s64(vzip2q_s64(low, high)));
      }
    }
  }
};

}  // namespace

const GemmRoutines kNeonI8mmGemmRoutines = {"neoni8mm",
                                            Run<MatrixProducts>,
                                            PlaceByFours,
                                            ChannelAt,
                                            /*signed_x=*/true,
                                            nullptr,
                                            nullptr,
                                            nullptr,
                                            nullptr};

}  // namespace tenon::cpu::q8
