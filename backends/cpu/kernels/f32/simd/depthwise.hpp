// Computes a few adjacent pixels of one output row of a depthwise convolution, with channels in
// lanes.
#pragma once

#include <utility>

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Returns the vector whose lanes are channel `kChannel` of their groups of `kGroup` lanes.
template <int kCount, int kGroup, int kChannel, int... kIndex>
[[gnu::always_inline]] static inline Vector<kCount> SpreadChannel(
    Vector<kCount> x, std::integer_sequence<int, kIndex...>) {
  return __builtin_shufflevector(x, x, (kIndex / kGroup * kGroup + kChannel)...);
}

/// Calls `use` with each channel of a group, and what SpreadChannel returns for it.
template <int kCount, int kGroup, int kChannel = 0, typename Use>
[[gnu::always_inline]] static inline void ForEachChannel(Vector<kCount> x, const Use& use) {
  if constexpr (kGroup == 1) {
    use(0, x);
  } else if constexpr (kChannel < kGroup) {
    use(kChannel,
        SpreadChannel<kCount, kGroup, kChannel>(x, std::make_integer_sequence<int, kCount>()));
    ForEachChannel<kCount, kGroup, kChannel + 1>(x, use);
  }
}

/// Adds the products of one row of a square kernel without dilation: every input column is loaded
/// once for all its pixels. `get` returns the vector of a column.
template <int kKernel, int kStride, int kGroup, int kPixels, int kCount, typename Get>
[[gnu::always_inline]] static inline void SumRow(const float* weights, int64_t tap_step,
                                                 const Get& get, Vector<kCount>* sums) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  Vector<kCount> w[kKernel * kGroup];
  TENON_UNROLL
  for (int k = 0; k < kKernel * kGroup; ++k) w[k] = Load<kCount>(weights + k * tap_step);
  TENON_UNROLL
  for (int column = 0; column < kColumns; ++column) {
    Vector<kCount> x = get(column);
    KeepInRegister(x);
    const auto add = [&](int channel, Vector<kCount> spread) __attribute__((always_inline)) {
      TENON_UNROLL
      for (int i = 0; i < kPixels; ++i) {
        const int k = column - i * kStride;
        if (k >= 0 && k < kKernel) sums[i] += spread * w[k * kGroup + channel];
      }
    };
    ForEachChannel<kCount, kGroup>(x, add);
  }
}

/// Computes `kVectors` vectors of channels, of which the first begins at `channel`: one alone has
/// too few sums in flight to hide the latency of a multiply-add. The columns lie anywhere, as at an
/// image's border: too few of them for unrolled rows to be worth their size.
template <int kKernel, int kStride, int kGroup, int kPixels, int kCount, int kVectors,
          typename LanesT>
[[gnu::always_inline]] static inline void SumColumns(const DepthwiseCall& call, int channel,
                                                     const float* const* weights, LanesT lanes,
                                                     Vector<kCount> (*sums)[kPixels]) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  const int64_t tap_step = call.tap_step;
  const float* const* columns = call.rows;
  int64_t tap = 0;
  TENON_NO_UNROLL
  for (int h = 0; h < kKernel; ++h) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto get = [&](int column) __attribute__((always_inline)) {
        return lanes.Get(columns[column] + channel + v * kCount);
      };
      SumRow<kKernel, kStride, kGroup, kPixels, kCount>(OneAddress(weights[v] + tap), tap_step, get,
                                                        sums[v]);
    }
    columns += kColumns;
    tap += kKernel * kGroup * tap_step;
  }
}

/// Does the same where columns have a constant distance. `x` is floats from the call's rows.
template <int kKernel, int kStride, int kGroup, int kPixels, int kCount, int kVectors,
          typename LanesT>
[[gnu::always_inline]] static inline void SumEven(const DepthwiseCall& call, int64_t x,
                                                  const float* const* weights, LanesT lanes,
                                                  Vector<kCount> (*sums)[kPixels]) {
  const int64_t x_step = call.x_step;
  const int64_t tap_step = call.tap_step;
  const float* const* row = call.rows + call.first_row;
  int64_t tap = call.first_row * kKernel * kGroup * tap_step;
  TENON_NO_UNROLL
  for (int left = call.end_row - call.first_row; left > 0; --left) {
    const float* from = OneAddress(*row++ + x);
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto get = [&](int column) __attribute__((always_inline)) {
        return lanes.Get(from + column * x_step + v * kCount);
      };
      SumRow<kKernel, kStride, kGroup, kPixels, kCount>(OneAddress(weights[v] + tap), tap_step, get,
                                                        sums[v]);
    }
    tap += kKernel * kGroup * tap_step;
  }
}

/// `get` returns the vector of a pixel.
template <int kGroup, int kPixels, int kCount, typename Get>
[[gnu::always_inline]] static inline void SumTaps(const DepthwiseCall& call, const float* weights,
                                                  const Get& get, Vector<kCount>* sums) {
  for (int tap = 0; tap < call.taps; ++tap) {
    Vector<kCount> w[kGroup];
    TENON_UNROLL
    for (int k = 0; k < kGroup; ++k) w[k] = Load<kCount>(weights + k * call.tap_step);
    weights += kGroup * call.tap_step;
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      const auto add = [&](int channel, Vector<kCount> spread) __attribute__((always_inline)) {
        sums[i] += spread * w[channel];
      };
      ForEachChannel<kCount, kGroup>(get(call.rows[tap * kPixels + i]), add);
    }
  }
}

template <int kCount, int... kIndex>
[[gnu::always_inline]] static inline Vector<kCount> LoadPairs(
    const float* from, std::integer_sequence<int, kIndex...>) {
  if constexpr (kCount == 4) {
    return Vector<kCount>{from[kIndex / 2]...};
  } else {
    const Vector<kCount / 2> half = Load<kCount / 2>(from);
    return __builtin_shufflevector(half, half, (kIndex / 2)...);
  }
}

/// Lanes of outputs that read one channel after the other, each several times.
template <int kCount>
struct SpreadLanes {
  SpreadLanes(int channel, int multiplier, int count)
      : first(channel / multiplier), read((channel + count - 1) / multiplier - first + 1) {
    for (int i = 0; i < count; ++i) from[i] = (channel + i) / multiplier - first;
  }

  [[gnu::always_inline]] Vector<kCount> Get(const float* pixel) const {
#if TENON_F32_AVX512
    if constexpr (kCount == 16) {
      return _mm512_permutexvar_ps(_mm512_load_si512(from), LoadFirst<16>(pixel + first, read));
    }
#endif
#if TENON_F32_INTRINSICS
    if constexpr (kCount == 8) {
      const auto* lanes = reinterpret_cast<const __m256i*>(from);
      return _mm256_permutevar8x32_ps(LoadFirst<8>(pixel + first, read), _mm256_load_si256(lanes));
    }
#endif
    float lanes[kCount];
    TENON_UNROLL
    for (int i = 0; i < kCount; ++i) lanes[i] = pixel[first + from[i]];
    return Load<kCount>(lanes);
  }

  int first;
  int read;  ///< channels
  alignas(64) int from[kCount] = {};
};

/// The same where each channel has several outputs, which follow each other.
template <int kPixels, int kCount, bool kPartial>
[[gnu::always_inline]] static inline void SumRepeatedTaps(const DepthwiseCall& call, int channel,
                                                          const float* weights, int count,
                                                          Vector<kCount>* sums) {
  if (call.multiplier == 2 && !kPartial) {
    const auto get = [&](const float* pixel) __attribute__((always_inline)) {
      return LoadPairs<kCount>(pixel + channel / 2, std::make_integer_sequence<int, kCount>());
    };
    return SumTaps<1, kPixels, kCount>(call, weights, get, sums);
  }
  const SpreadLanes<kCount> lanes(channel, call.multiplier, count);
  const auto get = [&](const float* pixel) __attribute__((always_inline)) {
    return lanes.Get(pixel);
  };
  SumTaps<1, kPixels, kCount>(call, weights, get, sums);
}

/// kRepeatedTaps: of channels with several outputs each.
enum class DepthwiseInput { kColumns, kEven, kTaps, kRepeatedTaps };

/// Says where one repeat of a call reads and writes: floats from the first.
struct DepthwisePlace {
  int64_t x;
  int64_t residual;
  int64_t y;
};

/// Computes `kVectors` vectors of channels.
template <DepthwiseInput kInput, int kKernel, int kStride, int kGroup, int kPixels, int kCount,
          int kVectors, bool kPartial>
[[gnu::always_inline]] static inline void DepthwiseLanes(const DepthwiseCall& call,
                                                         const DepthwisePlace& place, int channel,
                                                         int count) {
  const Lanes<kCount, kPartial> lanes = {count};
  const float* weights[kVectors];
  Vector<kCount> sums[kVectors][kPixels];
  // Several vectors are in one block, or a block each.
  static_assert(kVectors == 1 || kChannelBlock % (kVectors * kCount) == 0 ||
                kCount == kChannelBlock);
  weights[0] = call.weights + channel / kChannelBlock * call.block_step + channel % kChannelBlock;
  TENON_UNROLL
  for (int v = 0; v < kVectors; ++v) {
    if (v > 0)
      weights[v] = weights[0] + (kCount < kChannelBlock ? v * kCount : v * call.block_step);
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) sums[v][i] = Load<kCount>(call.bias + channel + v * kCount);
  }
  if constexpr (kInput == DepthwiseInput::kTaps) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      const auto get = [&](const float* pixel) __attribute__((always_inline)) {
        return lanes.Get(pixel + channel + v * kCount);
      };
      SumTaps<kGroup, kPixels, kCount>(call, weights[v], get, sums[v]);
    }
  } else if constexpr (kInput == DepthwiseInput::kRepeatedTaps) {
    static_assert(kVectors == 1);
    SumRepeatedTaps<kPixels, kCount, kPartial>(call, channel, weights[0], count, sums[0]);
  } else if constexpr (kInput == DepthwiseInput::kEven) {
    SumEven<kKernel, kStride, kGroup, kPixels, kCount, kVectors>(call, place.x + channel, weights,
                                                                 lanes, sums);
  } else {
    SumColumns<kKernel, kStride, kGroup, kPixels, kCount, kVectors>(call, channel, weights, lanes,
                                                                    sums);
  }
  if (call.residual != nullptr) {
    const float* residual = OneAddress(call.residual + place.residual + channel);
    const int64_t step = call.residual_step;
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        sums[v][i] += lanes.Get(residual + i * step + v * kCount);
      }
    }
  }
  const Bounds<kCount> bounds(call.low, call.high);
  float* y = OneAddress(call.y + place.y + channel);
  const int64_t step = call.y_step;
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      lanes.Put(y + i * step + v * kCount, bounds.Clamp(sums[v][i]));
    }
  }
}

template <DepthwiseInput kInput, int kKernel, int kStride, int kGroup, int kPixels>
static void Depthwise(const DepthwiseCall& call) {
  constexpr int kHalfLanes = kLanes > 8 ? 8 : 4;
  // Borders of groups are not worth the size.
  constexpr bool kTakesTwo =
      kInput == DepthwiseInput::kEven || (kInput == DepthwiseInput::kColumns && kGroup == 1);
  constexpr int kVectors = kTakesTwo ? 2 : 1;
  DepthwisePlace place = {0, 0, 0};
  for (int left = call.repeats; left > 0; --left) {
    int channel = 0;
    for (; channel + kVectors * kLanes <= call.channels; channel += kVectors * kLanes) {
      DepthwiseLanes<kInput, kKernel, kStride, kGroup, kPixels, kLanes, kVectors, false>(
          call, place, channel, kLanes);
    }
    if constexpr (kVectors > 1) {
      if (channel + kLanes <= call.channels) {
        DepthwiseLanes<kInput, kKernel, kStride, kGroup, kPixels, kLanes, 1, false>(
            call, place, channel, kLanes);
        channel += kLanes;
      }
    }
    if constexpr (kLanes > kHalfLanes) {
      if (channel + kHalfLanes <= call.channels) {
        DepthwiseLanes<kInput, kKernel, kStride, kGroup, kPixels, kHalfLanes, 1, false>(
            call, place, channel, kHalfLanes);
        channel += kHalfLanes;
      }
    }
    for (; channel < call.channels; channel += 4) {
      const int rest = call.channels - channel;
      DepthwiseLanes<kInput, kKernel, kStride, kGroup, kPixels, 4, 1, true>(call, place, channel,
                                                                            rest < 4 ? rest : 4);
    }
    place.x += kPixels * kStride * call.x_step;
    place.residual += kPixels * call.residual_step;
    place.y += kPixels * call.y_step;
  }
}

template <DepthwiseInput kInput, int kKernel, int kStride, int kGroup>
static void DepthwiseOfPixels(const DepthwiseCall& call) {
  switch (call.pixels) {
    case 1:
      return Depthwise<kInput, kKernel, kStride, kGroup, 1>(call);
    case 2:
      return Depthwise<kInput, kKernel, kStride, kGroup, 2>(call);
    case 3:
      return Depthwise<kInput, kKernel, kStride, kGroup, 3>(call);
    default:
      return Depthwise<kInput, kKernel, kStride, kGroup, 4>(call);
  }
}

template <int kKernel, int kStride, int kGroup = 1>
static void CompactDepthwise(const DepthwiseCall& call) {
  if (call.x_step == 0) {
    return DepthwiseOfPixels<DepthwiseInput::kColumns, kKernel, kStride, kGroup>(call);
  }
  DepthwiseOfPixels<DepthwiseInput::kEven, kKernel, kStride, kGroup>(call);
}

/// Computes groups of several channels.
template <int kGroup>
static void RunGroups(const DepthwiseCall& call) {
  if (call.compact_kernel == 3) return CompactDepthwise<3, 1, kGroup>(call);
  DepthwiseOfPixels<DepthwiseInput::kTaps, 0, 1, kGroup>(call);
}

static void RunDepthwise(const DepthwiseCall& call) {
  if (call.group == 2) return RunGroups<2>(call);
  if (call.group == 4) return RunGroups<4>(call);
  if (call.compact_kernel == 2) return CompactDepthwise<2, 1>(call);
  if (call.compact_kernel == 3) {
    if (call.compact_stride == 1) return CompactDepthwise<3, 1>(call);
    return CompactDepthwise<3, 2>(call);
  }
  if (call.compact_kernel == 5) {
    if (call.compact_stride == 1) return CompactDepthwise<5, 1>(call);
    return CompactDepthwise<5, 2>(call);
  }
  if (call.compact_kernel == 7) return CompactDepthwise<7, 1>(call);
  if (call.multiplier > 1) return DepthwiseOfPixels<DepthwiseInput::kRepeatedTaps, 0, 1, 1>(call);
  DepthwiseOfPixels<DepthwiseInput::kTaps, 0, 1, 1>(call);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
