// Pools one output position, with channels in lanes.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Calls `body(v, value)` for every tap and vector: `kVectors` whole vectors of channels, or the
/// first `count` lanes of one.
template <int kVectors, int kCount, bool kPartial, typename Body>
[[gnu::always_inline]] static inline void ForEachTap(const PoolCall& call, int channel, int count,
                                                     const Body& body) {
  const Lanes<kCount, kPartial> lanes = {count};
  const float* row = call.x + channel;
  for (int i = 0; i < call.rows; ++i, row += call.row_step) {
    const float* tap = row;
    for (int j = 0; j < call.columns; ++j, tap += call.column_step) {
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) body(v, lanes.Get(tap + v * kCount));
    }
  }
}

template <int kCount>
[[gnu::always_inline]] static inline bool HasNan(Vector<kCount> values) {
#if TENON_F32_AVX512
  if constexpr (kCount == 16) return _mm512_cmp_ps_mask(values, values, _CMP_UNORD_Q) != 0;
#endif
#if TENON_F32_INTRINSICS
  if constexpr (kCount == 8) {
    return _mm256_movemask_ps(_mm256_cmp_ps(values, values, _CMP_UNORD_Q)) != 0;
  }
  if constexpr (kCount == 4) return _mm_movemask_ps(_mm_cmpunord_ps(values, values)) != 0;
#endif
  float lanes[kCount];
  Store<kCount>(lanes, values);
  for (int step = kCount / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) lanes[i] += lanes[i + step];
  }
  return lanes[0] != lanes[0];
}

struct TakeLargest {
  template <int kVectors, int kCount, bool kPartial>
  [[gnu::always_inline]] static void Run(const PoolCall& call, int channel, int count) {
    using V = Vector<kCount>;
    V best[kVectors];
    V sums[kVectors];
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      best[v] = V{} - __builtin_inff();
      sums[v] = V{};
    }
    // An extra addition costs less than a second comparison. Where there is a NaN, the sum is NaN;
    // where the sum is NaN without one (infinities), the other way is right too.
    ForEachTap<kVectors, kCount, kPartial>(call, channel, count, [&](int v, V value) {
      best[v] = Raised<kCount>(best[v], value);
      sums[v] += value;
    });
    TENON_UNROLL
    for (int v = 1; v < kVectors; ++v) sums[0] += sums[v];
    if (HasNan<kCount>(sums[0])) {
      return NanWins<kVectors, kCount, kPartial>(call, channel, count);
    }
    const Lanes<kCount, kPartial> lanes = {count};
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) lanes.Put(call.y + channel + v * kCount, best[v]);
  }

 private:
  /// Takes the maximum: NaN is larger than every number, and then stays.
  template <int kVectors, int kCount, bool kPartial>
  [[gnu::noinline]] static void NanWins(const PoolCall& call, int channel, int count) {
    using V = Vector<kCount>;
    V best[kVectors];
    for (V& values : best) values = V{} - __builtin_inff();
    ForEachTap<kVectors, kCount, kPartial>(call, channel, count, [&](int v, V value) {
      const V larger = value > best[v] ? value : best[v];
      best[v] = value != value ? value : larger;
    });
    const Lanes<kCount, kPartial> lanes = {count};
    for (int v = 0; v < kVectors; ++v) lanes.Put(call.y + channel + v * kCount, best[v]);
  }
};

struct TakeAverage {
  template <int kVectors, int kCount, bool kPartial>
  [[gnu::always_inline]] static void Run(const PoolCall& call, int channel, int count) {
    using V = Vector<kCount>;
    V sums[kVectors];
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) sums[v] = V{};
    ForEachTap<kVectors, kCount, kPartial>(call, channel, count,
                                           [&](int v, V value) { sums[v] += value; });
    const Lanes<kCount, kPartial> lanes = {count};
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      lanes.Put(call.y + channel + v * kCount, sums[v] / call.divisor);
    }
  }
};

/// Takes whole vectors; the last one overlaps the one before, so that some channels are computed
/// twice.
template <typename Take, int kCount>
[[gnu::always_inline]] static inline void PoolWhole(const PoolCall& call, int channel) {
  for (; channel + kCount <= call.channels; channel += kCount) {
    Take::template Run<1, kCount, false>(call, channel, kCount);
  }
  if (channel < call.channels) {
    Take::template Run<1, kCount, false>(call, call.channels - kCount, kCount);
  }
}

template <typename Take>
static void RunPool(const PoolCall& call) {
  constexpr int kVectors = 4;  // sums in flight, to hide the latency of an addition
  constexpr int kFewest = 4;
  int channel = 0;
  for (; channel + kVectors * kLanes <= call.channels; channel += kVectors * kLanes) {
    Take::template Run<kVectors, kLanes, false>(call, channel, kLanes);
  }
  if (call.channels >= kLanes) return PoolWhole<Take, kLanes>(call, channel);
  if constexpr (kLanes > 8) {
    if (call.channels >= 8) return PoolWhole<Take, 8>(call, 0);
  }
  if (call.channels >= kFewest) return PoolWhole<Take, kFewest>(call, 0);
  Take::template Run<1, kFewest, true>(call, 0, call.channels);
}

static void RunMaxPool(const PoolCall& call) { RunPool<TakeLargest>(call); }

static void RunAveragePool(const PoolCall& call) { RunPool<TakeAverage>(call); }

}  // namespace tenon::cpu::f32::TENON_F32_ISA
