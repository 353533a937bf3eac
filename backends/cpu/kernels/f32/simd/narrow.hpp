// Computes convolutions of few outputs: sums of products along the depth, whose lanes are added up
// at the end.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Returns the sum of the lanes of each of four vectors.
[[gnu::always_inline]] static inline Vector<4> SumsOfFour(const Vector<kLanes>* v) {
#if TENON_F32_AVX512
  constexpr int kEven = 0x88;  // lanes of 128 bits: 0 and 2 of both
  constexpr int kOdd = 0xDD;
  constexpr int kNeighbour = 0xB1;
  constexpr int kOtherHalf = 0x4E;
  const Vector<16> first =
      _mm512_shuffle_f32x4(v[0], v[1], kEven) + _mm512_shuffle_f32x4(v[0], v[1], kOdd);
  const Vector<16> second =
      _mm512_shuffle_f32x4(v[2], v[3], kEven) + _mm512_shuffle_f32x4(v[2], v[3], kOdd);
  const Vector<16> quarters =
      _mm512_shuffle_f32x4(first, second, kEven) + _mm512_shuffle_f32x4(first, second, kOdd);
  const Vector<16> pairs = quarters + _mm512_permute_ps(quarters, kNeighbour);
  const Vector<16> sums = pairs + _mm512_permute_ps(pairs, kOtherHalf);
  const __m512i firsts = _mm512_setr_epi32(0, 4, 8, 12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0);
  return _mm512_castps512_ps128(_mm512_permutexvar_ps(firsts, sums));
#elif TENON_F32_INTRINSICS
  const Vector<8> halves = _mm256_hadd_ps(_mm256_hadd_ps(v[0], v[1]), _mm256_hadd_ps(v[2], v[3]));
  return _mm256_castps256_ps128(halves) + _mm256_extractf128_ps(halves, 1);
#else
  const Vector<4> first = __builtin_shufflevector(v[0], v[1], 0, 4, 1, 5) +
                          __builtin_shufflevector(v[0], v[1], 2, 6, 3, 7);
  const Vector<4> second = __builtin_shufflevector(v[2], v[3], 0, 4, 1, 5) +
                           __builtin_shufflevector(v[2], v[3], 2, 6, 3, 7);
  return __builtin_shufflevector(first, second, 0, 1, 4, 5) +
         __builtin_shufflevector(first, second, 2, 3, 6, 7);
#endif
}

/// Contains the sums of a few neighbouring pixels, [pixels][outputs], and zeros up to a multiple of
/// four.
template <int kOutputs, int kPixels>
struct NarrowSums {
  static constexpr int kSums = kOutputs * kPixels;
  static constexpr int kFours = (kSums + 3) / 4;
  Vector<kLanes> sums[kFours * 4];

  [[gnu::always_inline]] void StartAtZero() {
    TENON_UNROLL
    for (int i = 0; i < kFours * 4; ++i) sums[i] = Vector<kLanes>{};
  }

  /// Adds one vector's products; pixel i reads x + steps[i].
  template <bool kPartial>
  [[gnu::always_inline]] void Add(const Lanes<kLanes, kPartial>& lanes, const float* x,
                                  const int64_t* steps, const float* weights, int64_t output_step) {
    // The fewer of both stay in registers, where the others come by one after the other.
    constexpr bool kHoldsWeights = kOutputs <= kPixels;
    constexpr int kHeld = kHoldsWeights ? kOutputs : kPixels;
    constexpr int kPassing = kHoldsWeights ? kPixels : kOutputs;
    const auto load = [&](bool is_weight, int i) {
      return lanes.Get(is_weight ? weights + i * output_step : x + steps[i]);
    };
    Vector<kLanes> held[kHeld];
    TENON_UNROLL
    for (int i = 0; i < kHeld; ++i) {
      held[i] = load(kHoldsWeights, i);
      KeepInRegister(held[i]);
    }
    TENON_UNROLL
    for (int j = 0; j < kPassing; ++j) {
      Vector<kLanes> passing = load(!kHoldsWeights, j);
      if constexpr (kHeld > 1) KeepInRegister(passing);
      TENON_UNROLL
      for (int i = 0; i < kHeld; ++i) {
        sums[kHoldsWeights ? j * kOutputs + i : i * kOutputs + j] += held[i] * passing;
      }
    }
  }

  [[gnu::always_inline]] void Add(const NarrowSums& other) {
    TENON_UNROLL
    for (int i = 0; i < kSums; ++i) sums[i] += other.sums[i];
  }

  /// Writes the outputs, of which `residual` (which may be null) and y point at the first.
  [[gnu::always_inline]] void Finish(const NarrowCall& call, const float* residual, float* y) {
    constexpr int kFour = 4;
    const Bounds<kFour> bounds(call.low, call.high);
    TENON_UNROLL
    for (int i = 0; i < kSums; i += kFour) {
      const int count = kSums - i < kFour ? kSums - i : kFour;
      Vector<kFour> four = SumsOfFour(sums + i) + Load<kFour>(call.bias + i);
      if (residual != nullptr) {
        four += count == kFour ? Load<kFour>(residual + i) : LoadFirst<kFour>(residual + i, count);
      }
      four = bounds.Clamp(four);
      if (count == kFour) {
        Store<kFour>(y + i, four);
      } else {
        StoreFirst<kFour>(y + i, four, count);
      }
    }
  }
};

/// Computes kPixels neighbouring pixels, from pixel `first` of the call on.
template <int kOutputs, int kPixels>
static void NarrowTile(const NarrowCall& call, int first) {
  // Fewer sums in flight than that would wait for each other.
  constexpr int kInFlight = 4;
  constexpr int kSums = kOutputs * kPixels;
  constexpr int kParts = kSums < kInFlight ? kInFlight / kSums : 1;
  NarrowSums<kOutputs, kPixels> parts[kParts];
  TENON_UNROLL
  for (int p = 0; p < kParts; ++p) parts[p].StartAtZero();
  int64_t steps[kPixels];
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) steps[i] = i * call.x_step;
  const Lanes<kLanes, false> whole = {kLanes};
  const Lanes<kLanes, true> rest = {call.length % kLanes};
  const float* row = call.x + first * call.x_step;
  const float* row_weights = call.weights;
  for (int r = 0; r < call.rows; ++r) {
    const float* column = row;
    const float* column_weights = row_weights;
    for (int c = 0; c < call.columns; ++c) {
      const float* x = column;
      const float* weights = column_weights;
      int left = call.length;
      for (; left >= kParts * kLanes; left -= kParts * kLanes) {
        TENON_UNROLL
        for (int p = 0; p < kParts; ++p) {
          parts[p].Add(whole, x + p * kLanes, steps, weights + p * kLanes, call.output_step);
        }
        x += kParts * kLanes;
        weights += kParts * kLanes;
      }
      if constexpr (kParts > 1) {
        for (; left >= kLanes; left -= kLanes) {
          parts[0].Add(whole, x, steps, weights, call.output_step);
          x += kLanes;
          weights += kLanes;
        }
      }
      if (left > 0) parts[kParts - 1].Add(rest, x, steps, weights, call.output_step);
      column += call.column_step;
      column_weights += call.weight_column_step;
    }
    row += call.row_step;
    row_weights += call.weight_row_step;
  }
  TENON_UNROLL
  for (int p = 1; p < kParts; ++p) parts[0].Add(parts[p]);
  const int done = first * kOutputs;
  parts[0].Finish(call, call.residual == nullptr ? nullptr : call.residual + done, call.y + done);
}

/// Computes the pixels from `first` on, as many at a time as possible.
template <int kOutputs, int kPixels>
static void NarrowTiles(const NarrowCall& call, int first) {
  for (; first + kPixels <= call.pixels; first += kPixels) {
    NarrowTile<kOutputs, kPixels>(call, first);
  }
  if constexpr (kPixels > 1) {
    if (first < call.pixels) NarrowTiles<kOutputs, kPixels / 2>(call, first);
  }
}

static void RunNarrow(const NarrowCall& call) {
  // Twice as many registers hold twice as many sums.
  constexpr int kMore = kLanes == 16 ? 2 : 1;
  switch (call.outputs) {
    case 1:
      return NarrowTiles<1, 8>(call, 0);
    case 2:
      return NarrowTiles<2, 4 * kMore>(call, 0);
    case 3:
      return NarrowTiles<3, 4>(call, 0);
    case 4:
      return NarrowTiles<4, 2 * kMore>(call, 0);
    case 5:
      return NarrowTiles<5, 2>(call, 0);
    default:
      return NarrowTiles<6, 2>(call, 0);
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
