// The NEON GEMM with dot products of four bytes (FEAT_DotProd) keeps a tile of up to 5 pixels by 16
// channels in registers and loads 16 bytes of a pixel at once.
#include "backends/cpu/kernels/load_later.hpp"
#include "backends/cpu/kernels/q8/simd/gemm_neon.hpp"

namespace tenon::cpu::q8 {
namespace {

/// Adds lane kLane of every pixel times 16 channels' weights, and moves the weights on.
template <int kPixels, int kLane>
[[gnu::always_inline]] inline void AddLane(const int8x16_t* x, const int8_t*& weights, int64_t step,
                                           int32x4_t (*sums)[4]) {
  int8x16_t w[4];
#pragma GCC unroll 4
  for (int v = 0; v < 4; ++v) w[v] = vld1q_s8(weights + v * 16);
  weights += step;
#pragma GCC unroll 5
  for (int i = 0; i < kPixels; ++i) {
#pragma GCC unroll 4
    for (int v = 0; v < 4; ++v) sums[i][v] = vdotq_laneq_s32(sums[i][v], w[v], x[i], kLane);
    if (i == kPixels / 2) LoadLater(weights, sums[i][0]);
  }
}

/// Multiplies four bytes of a pixel at a time, or 16 where there are as many.
struct DotProducts {
  static const GemmRoutines& Routines() { return kNeonDotGemmRoutines; }

  static constexpr int kMostPixels = 5;
  static constexpr bool kPairsPixels = false;

  template <int kPixels>
  static void Tile(const GemmCall& call, const uint8_t* x, int first, int32_t* to) {
    RunTile<DotProducts, kPixels>(call, x, first, to);
  }

  template <int kPixels>
  [[gnu::always_inline]] static void AddTap(const GemmCall& call, const uint8_t* tap,
                                            const int8_t*& weights, int32x4_t (*sums)[4]) {
    const TapSteps steps(call);
    const int8x16_t flips = vreinterpretq_s8_u32(vdupq_n_u32(steps.flip));
    int64_t k = 0;
    for (; k + 16 <= steps.depth; k += 16) {
      int8x16_t bytes[kPixels];
#pragma GCC unroll 5
      for (int i = 0; i < kPixels; ++i) {
        bytes[i] = veorq_s8(vreinterpretq_s8_u8(vld1q_u8(tap + i * call.x_step + k)), flips);
      }
      AddLane<kPixels, 0>(bytes, weights, steps.weights, sums);
      AddLane<kPixels, 1>(bytes, weights, steps.weights, sums);
      AddLane<kPixels, 2>(bytes, weights, steps.weights, sums);
      AddLane<kPixels, 3>(bytes, weights, steps.weights, sums);
    }
    for (; k < steps.depth; k += kDepthStep) {
      const uint8_t* from = tap + steps.At(k);
      int8x16_t bytes[kPixels];
#pragma GCC unroll 5
      for (int i = 0; i < kPixels; ++i) {
        bytes[i] = vreinterpretq_s8_s32(vdupq_n_s32(LoadFour(from + i * call.x_step, steps.flip)));
      }
      AddLane<kPixels, 0>(bytes, weights, steps.weights, sums);
    }
  }
};

}  // namespace

const GemmRoutines kNeonDotGemmRoutines = {
    "neondot",         Run<DotProducts>, PlaceByFours, ChannelAt,
    /*signed_x=*/true, nullptr,          nullptr,      nullptr,   nullptr};

}  // namespace tenon::cpu::q8
