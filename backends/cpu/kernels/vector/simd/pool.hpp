// Pooling of one output position, channels in lanes.
#pragma once

#include "backends/cpu/kernels/vector/simd/vectors.hpp"

namespace tenon::cpu::vector::TENON_VECTOR_ISA {

struct TakeLargest {
  template <typename V>
  [[gnu::always_inline]] static V Start() {
    return V{} - __builtin_inff();
  }
  /// NaN wins over every number, and then stays.
  template <typename V>
  [[gnu::always_inline]] static V Add(V best, V value) {
    const V larger = value > best ? value : best;
    return value != value ? value : larger;
  }
  template <typename V>
  [[gnu::always_inline]] static V Finish(V best, float) {
    return best;
  }
};

struct TakeAverage {
  template <typename V>
  [[gnu::always_inline]] static V Start() {
    return V{};
  }
  template <typename V>
  [[gnu::always_inline]] static V Add(V sum, V value) {
    return sum + value;
  }
  template <typename V>
  [[gnu::always_inline]] static V Finish(V sum, float divisor) {
    return sum / divisor;
  }
};

/// `kVectors` whole vectors of channels, or the first `count` lanes of one.
template <typename Take, int kVectors, int kCount, bool kPartial>
[[gnu::always_inline]] static inline void PoolLanes(const PoolCall& call, int channel, int count) {
  using V = Vector<kCount>;
  V results[kVectors];
  TENON_UNROLL
  for (int v = 0; v < kVectors; ++v) results[v] = Take::template Start<V>();
  const float* row = call.x + channel;
  for (int i = 0; i < call.rows; ++i, row += call.row_step) {
    const float* tap = row;
    for (int j = 0; j < call.columns; ++j, tap += call.column_step) {
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        V value;
        if constexpr (kPartial) {
          value = LoadFirst<kCount>(tap, count);
        } else {
          value = Load<kCount>(tap + v * kCount);
        }
        results[v] = Take::template Add<V>(results[v], value);
      }
    }
  }
  float* y = call.y + channel;
  TENON_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    const V result = Take::template Finish<V>(results[v], call.divisor);
    if constexpr (kPartial) {
      StoreFirst<kCount>(y, result, count);
    } else {
      Store<kCount>(y + v * kCount, result);
    }
  }
}

/// Whole vectors; the last one overlaps the one before, which computes some channels twice.
template <typename Take, int kCount>
[[gnu::always_inline]] static inline void PoolWhole(const PoolCall& call, int channel) {
  for (; channel + kCount <= call.channels; channel += kCount) {
    PoolLanes<Take, 1, kCount, false>(call, channel, kCount);
  }
  if (channel < call.channels) {
    PoolLanes<Take, 1, kCount, false>(call, call.channels - kCount, kCount);
  }
}

template <typename Take>
static void RunPool(const PoolCall& call) {
  constexpr int kVectors = 4;  // sums in flight, to hide the latency of an addition
  constexpr int kFewest = 4;
  int channel = 0;
  for (; channel + kVectors * kLanes <= call.channels; channel += kVectors * kLanes) {
    PoolLanes<Take, kVectors, kLanes, false>(call, channel, kLanes);
  }
  if (call.channels >= kLanes) return PoolWhole<Take, kLanes>(call, channel);
  if constexpr (kLanes > 8) {
    if (call.channels >= 8) return PoolWhole<Take, 8>(call, 0);
  }
  if (call.channels >= kFewest) return PoolWhole<Take, kFewest>(call, 0);
  PoolLanes<Take, 1, kFewest, true>(call, 0, call.channels);
}

static void RunMaxPool(const PoolCall& call) { RunPool<TakeLargest>(call); }

static void RunAveragePool(const PoolCall& call) { RunPool<TakeAverage>(call); }

}  // namespace tenon::cpu::vector::TENON_VECTOR_ISA
