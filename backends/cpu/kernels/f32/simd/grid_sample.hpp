// Samples images at points, each from the four pixels around it. Points are in lanes while these
// pixels and their weights are found; then channels are, where they lie side by side.
#pragma once

#include "backends/cpu/kernels/f32/simd/functions.hpp"
#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Contains the four pixels of each point of a block, in rows: where they are and what they count.
struct GridBlock {
  int32_t offsets[4][kGridBlock];
  float weights[4][kGridBlock];
};

/// Contains the two pixels along one axis.
struct AxisTaps {
  Integers offsets[2];
  Floats weights[2];
};

[[gnu::always_inline]] static inline Floats Floor(Floats x) {
  return Whole<UnaryFunction::kFloor>(x);
}

/// Returns `place` brought back at both ends of the image again and again.
[[gnu::always_inline]] static inline Floats Reflected(const GridSampleAxis& axis, Floats place) {
  if (axis.range <= 0.0F) return Floats{};
  const float period = 2.0F * axis.range;
  const Floats distance = Magnitude(place - axis.low);
  const Floats rest = Magnitude(distance - Floor(distance / period) * period);
  return Lowered<kLanes>(rest, period - rest) + axis.low;
}

/// Takes pixels at whole-numbered places; those outside the image are the nearest ones inside, with
/// no weight where they stand for 0.
template <GridPadding kPadding>
[[gnu::always_inline]] static inline void TakePixels(const GridSampleAxis& axis, int tap,
                                                     Floats place, Floats weight, AxisTaps& taps) {
  const Floats not_before = place > Floats{} ? place : Floats{};  // NaN too
  const Floats inside = Lowered<kLanes>(not_before, Floats{} + axis.last);
  taps.offsets[tap] = __builtin_convertvector(inside, Integers) * axis.step;
  taps.weights[tap] =
      kPadding == GridPadding::kZeros ? (inside == place ? weight : Floats{}) : weight;
}

/// See FindGridTaps in runtime/ops/grid_positions.hpp.
template <GridPadding kPadding>
[[gnu::always_inline]] static inline AxisTaps TapsOf(const GridSampleAxis& axis, Floats points) {
  Floats place = (points + 1.0F) * (0.5F * axis.range) + axis.low;
  if constexpr (kPadding == GridPadding::kReflection) place = Reflected(axis, place);
  if constexpr (kPadding != GridPadding::kZeros) {
    place = Bounds<kLanes>(0.0F, axis.last).Clamp(place);
  }
  const Floats below = Floor(place);
  const Floats fraction = place - below;
  AxisTaps taps;
  TakePixels<kPadding>(axis, 0, below, 1.0F - fraction, taps);
  TakePixels<kPadding>(axis, 1, below + 1.0F, fraction, taps);
  return taps;
}

template <GridPadding kPadding>
static void FindPixels(const GridSampleCall& call, GridBlock& block) {
  for (int i = 0; i < call.points; i += kLanes) {
    const AxisTaps rows = TapsOf<kPadding>(call.axes[0], Load<kLanes>(call.places[0] + i));
    const AxisTaps columns = TapsOf<kPadding>(call.axes[1], Load<kLanes>(call.places[1] + i));
    TENON_UNROLL
    for (int k = 0; k < 4; ++k) {
      const Integers offsets = rows.offsets[k / 2] + columns.offsets[k % 2];
      __builtin_memcpy(block.offsets[k] + i, &offsets, sizeof offsets);
      Store<kLanes>(block.weights[k] + i, rows.weights[k / 2] * columns.weights[k % 2]);
    }
  }
}

/// Computes channels of one point that lie side by side.
template <int kCount>
struct PointSampler {
  const float* pixels[4];
  Vector<kCount> weights[4];

  [[gnu::always_inline]] PointSampler(const float* x, const GridBlock& block, int point) {
    TENON_UNROLL
    for (int k = 0; k < 4; ++k) {
      pixels[k] = x + block.offsets[k][point];
      weights[k] = block.weights[k][point] - Vector<kCount>{};
    }
  }

  template <bool kPartial>
  [[gnu::always_inline]] Vector<kCount> At(int channel,
                                           const Lanes<kCount, kPartial>& lanes) const {
    Vector<kCount> sum = weights[0] * lanes.Get(pixels[0] + channel);
    TENON_UNROLL
    for (int k = 1; k < 4; ++k) sum += weights[k] * lanes.Get(pixels[k] + channel);
    return sum;
  }
};

/// Computes at least kCount channels of each point. The last vector overlaps the one before.
template <int kCount>
static void SampleChannels(const GridSampleCall& call, const GridBlock& block) {
  const Lanes<kCount, false> lanes = {kCount};
  for (int point = 0; point < call.points; ++point) {
    const PointSampler<kCount> sampler(call.x, block, point);
    float* y = call.y + call.y_points[point];
    int channel = 0;
    for (; channel + kCount <= call.channels; channel += kCount) {
      Store<kCount>(y + channel, sampler.At(channel, lanes));
    }
    if (channel < call.channels) {
      channel = call.channels - kCount;
      Store<kCount>(y + channel, sampler.At(channel, lanes));
    }
  }
}

/// Does so where the channels lie side by side in x only: kCount of all points are computed first.
template <int kCount>
static void SampleAndSpread(const GridSampleCall& call, const GridBlock& block) {
  const Lanes<kCount, false> lanes = {kCount};
  float values[kGridBlock][kCount];
  for (int first = 0; first < call.channels; first += kCount) {
    const int left = call.channels - first;
    const int channel = left < kCount ? call.channels - kCount : first;
    for (int point = 0; point < call.points; ++point) {
      const PointSampler<kCount> sampler(call.x, block, point);
      Store<kCount>(values[point], sampler.At(channel, lanes));
    }
    for (int k = 0; k < kCount; ++k) {
      float* y = call.y + (channel + k) * call.y_channel;
      for (int point = 0; point < call.points; ++point) y[call.y_points[point]] = values[point][k];
    }
  }
}

/// Computes kCount channels and more that lie side by side in x.
template <int kCount>
static void SampleDense(const GridSampleCall& call, const GridBlock& block) {
  if (call.y_channel == 1) return SampleChannels<kCount>(call, block);
  SampleAndSpread<kCount>(call, block);
}

#if TENON_F32_INTRINSICS
/// Computes two or three channels of each point. Where points follow each other, each writes over
/// the start of the next one, which is computed after it.
static void SampleFewChannels(const GridSampleCall& call, const GridBlock& block) {
  const Lanes<4, true> lanes = {call.channels};
  const int overwritten = call.y_step == call.channels ? call.points - 1 : 0;
  for (int point = 0; point < call.points; ++point) {
    const PointSampler<4> sampler(call.x, block, point);
    float* y = call.y + call.y_points[point];
    if (point < overwritten) {
      Store<4>(y, sampler.At(0, lanes));
    } else {
      lanes.Put(y, sampler.At(0, lanes));
    }
  }
}
#endif

[[gnu::always_inline]] static inline Floats Gather(const float* from, const int32_t* offsets) {
#if TENON_F32_AVX512
  return _mm512_i32gather_ps(_mm512_loadu_si512(offsets), from, 4);
#elif TENON_F32_INTRINSICS
  return _mm256_i32gather_ps(from, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(offsets)),
                             4);
#else
  Floats values;
  for (int i = 0; i < kLanes; ++i) values[i] = from[offsets[i]];
  return values;
#endif
}

/// Computes channel after channel, with points in lanes.
static void SamplePoints(const GridSampleCall& call, const GridBlock& block) {
  for (int channel = 0; channel < call.channels; ++channel) {
    const float* x = call.x + channel * call.x_channel;
    float* y = call.y + channel * call.y_channel;
    for (int i = 0; i < call.points; i += kLanes) {
      Floats sum = Load<kLanes>(block.weights[0] + i) * Gather(x, block.offsets[0] + i);
      TENON_UNROLL
      for (int k = 1; k < 4; ++k) {
        sum += Load<kLanes>(block.weights[k] + i) * Gather(x, block.offsets[k] + i);
      }
      const int left = call.points - i;
      const int count = left < kLanes ? left : kLanes;
      if (call.y_step != 1) {
        for (int lane = 0; lane < count; ++lane) y[call.y_points[i + lane]] = sum[lane];
      } else if (count == kLanes) {
        Store<kLanes>(y + i, sum);
      } else {
        StoreFirst<kLanes>(y + i, sum, count);
      }
    }
  }
}

static void RunGridSample(const GridSampleCall& call) {
  constexpr int kFew = 4;
  GridBlock block;
  switch (call.padding) {
    case GridPadding::kZeros:
      FindPixels<GridPadding::kZeros>(call, block);
      break;
    case GridPadding::kBorder:
      FindPixels<GridPadding::kBorder>(call, block);
      break;
    case GridPadding::kReflection:
      FindPixels<GridPadding::kReflection>(call, block);
      break;
  }
  if (call.channels == 1 || call.x_channel != 1) return SamplePoints(call, block);
  if (call.channels >= kLanes) return SampleDense<kLanes>(call, block);
  if constexpr (kLanes > 8) {
    if (call.channels >= 8) return SampleDense<8>(call, block);
  }
  if (call.channels >= kFew) return SampleDense<kFew>(call, block);
#if TENON_F32_INTRINSICS
  if (call.y_channel == 1) return SampleFewChannels(call, block);
#endif
  SamplePoints(call, block);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
