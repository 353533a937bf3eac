// The NEON GEMM without dot products widens bytes to 16 bits and multiplies by lane. (Sums of two
// products of bytes do not fit 16 bits where both are 2^14.) A tile of up to 5 pixels by 16
// channels stays in registers.
#include "backends/cpu/kernels/q8/simd/gemm_neon.hpp"

#include "backends/cpu/kernels/load_later.hpp"

namespace tenon::cpu::q8 {
namespace {

/// 16 channels at a time, byte by byte of the step.
int WeightPlace(int p, int k, int) {
  const int block = p / kTileWidth;
  return block * kTileWidth * kDepthStep + k * kTileWidth + p % kTileWidth;
}

/// Adds lane kLane of every pixel times 16 channels' weights, and moves these on.
template <int kPixels, int kLane>
[[gnu::always_inline]] inline void AddLane(const int16x8_t* x, const int8_t*& weights,
                                           int32x4_t (*sums)[4]) {
  const int8x16_t bytes = vld1q_s8(weights);
  weights += kTileWidth;
  const int16x8_t low = vmovl_s8(vget_low_s8(bytes));
  const int16x8_t high = vmovl_high_s8(bytes);
#pragma GCC unroll 5
  for (int i = 0; i < kPixels; ++i) {
    sums[i][0] = vmlal_laneq_s16(sums[i][0], vget_low_s16(low), x[i], kLane);
    sums[i][1] = vmlal_high_laneq_s16(sums[i][1], low, x[i], kLane);
    sums[i][2] = vmlal_laneq_s16(sums[i][2], vget_low_s16(high), x[i], kLane);
    sums[i][3] = vmlal_high_laneq_s16(sums[i][3], high, x[i], kLane);
    if (i == kPixels / 2) LoadLater(weights, sums[i][0]);
  }
}

/// Adds four lanes of every pixel, from kLane on, which are those of one step.
template <int kPixels, int kLane>
[[gnu::always_inline]] inline void AddStep(const int16x8_t* x, const int8_t* weights,
                                           int32x4_t (*sums)[4]) {
  AddLane<kPixels, kLane>(x, weights, sums);
  AddLane<kPixels, kLane + 1>(x, weights, sums);
  AddLane<kPixels, kLane + 2>(x, weights, sums);
  AddLane<kPixels, kLane + 3>(x, weights, sums);
}

/// Bytes are widened, then multiplied by lane.
struct Widening {
  static const GemmRoutines& Routines() { return kNeonGemmRoutines; }

  static constexpr int kMostPixels = 5;
  static constexpr bool kPairsPixels = false;

  template <int kPixels>
  static void Tile(const GemmCall& call, const uint8_t* x, int first, int32_t* to) {
    RunTile<Widening, kPixels>(call, x, first, to);
  }

  template <int kPixels>
  [[gnu::always_inline]] static void AddTap(const GemmCall& call, const uint8_t* tap,
                                            const int8_t*& weights, int32x4_t (*sums)[4]) {
    const TapSteps steps(call);
    const uint8x8_t flips = vreinterpret_u8_u32(vdup_n_u32(steps.flip));
    int16x8_t words[kPixels];
    int64_t k = 0;
    for (; k + 2 * kDepthStep <= steps.depth; k += 2 * kDepthStep) {
#pragma GCC unroll 5
      for (int i = 0; i < kPixels; ++i) {
        const uint8x8_t bytes = veor_u8(vld1_u8(tap + i * call.x_step + k), flips);
        words[i] = vmovl_s8(vreinterpret_s8_u8(bytes));
      }
      AddStep<kPixels, 0>(words, weights, sums);
      AddStep<kPixels, kDepthStep>(words, weights + steps.weights, sums);
      weights += 2 * steps.weights;
    }
    for (; k < steps.depth; k += kDepthStep, weights += steps.weights) {
      const uint8_t* from = tap + steps.At(k);
#pragma GCC unroll 5
      for (int i = 0; i < kPixels; ++i) {
        const int32_t four = LoadFour(from + i * call.x_step, steps.flip);
        words[i] = vmovl_s8(vreinterpret_s8_s32(vdup_n_s32(four)));
      }
      AddStep<kPixels, 0>(words, weights, sums);
    }
  }
};

}  // namespace

const GemmRoutines kNeonGemmRoutines = {"neon",
                                        Run<Widening>,
                                        WeightPlace,
                                        ChannelAt,
                                        /*signed_x=*/true,
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr};

}  // namespace tenon::cpu::q8
