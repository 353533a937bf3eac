// Computes convolutions of few outputs: a register contains neighbouring pixels of one output.
#pragma once

#include "backends/cpu/kernels/f32/simd/pack.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

// Sums of so many vectors of pixels, and of so many outputs, are in registers at once: 24 of 32, or
// 12 of 16.
constexpr int kPixelVectors = 3;
constexpr bool kHasManyRegisters = TENON_F32_AVX512 || TENON_F32_NEON;

/// Sums are [kMostPixelOutputs] rows of so many floats.
constexpr int kPixelSumStep = kPixelVectors * kLanes;
static_assert(kPixelSumStep <= kMostPixelRun);

/// Sums the products of kOutputs outputs, from `first` on, of the pixels that begin at x.
template <int kOutputs, int kVectors>
static void PixelSums(const PixelsCall& call, const float* x, int first, float* sums) {
  Vector<kLanes> own[kOutputs][kVectors];
  TENON_UNROLL
  for (int m = 0; m < kOutputs; ++m) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) own[m][v] = call.bias[first + m] - Vector<kLanes>{};
  }
  const float* weights = call.weights + first;
  const int32_t* offsets = call.offsets;
  const int64_t weight_step = call.width;
  for (int k = call.products; k > 0; --k) {
    const float* from = x + *offsets++;
    Vector<kLanes> pixels[kVectors];
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      pixels[v] = Load<kLanes>(from + v * kLanes);
      KeepInRegister(pixels[v]);
    }
    TENON_UNROLL
    for (int m = 0; m < kOutputs; ++m) {
      Vector<kLanes> weight = weights[m] - Vector<kLanes>{};
      if constexpr (kVectors > 1) KeepInRegister(weight);
      TENON_UNROLL
      for (int v = 0; v < kVectors; ++v) own[m][v] += pixels[v] * weight;
    }
    weights += weight_step;
  }
  TENON_UNROLL
  for (int m = 0; m < kOutputs; ++m) {
    TENON_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      Store<kLanes>(sums + (first + m) * kPixelSumStep + v * kLanes, own[m][v]);
    }
  }
}

/// Does so for `vectors` vectors of pixels, at most kMost.
template <int kOutputs, int kMost>
[[gnu::always_inline]] static inline void PixelSumsOf(const PixelsCall& call, const float* x,
                                                      int first, int vectors, float* sums) {
  if constexpr (kMost > 1) {
    if (vectors < kMost) {
      return PixelSumsOf<kOutputs, kMost - 1>(call, x, first, vectors, sums);
    }
  }
  PixelSums<kOutputs, kMost>(call, x, first, sums);
}

/// Does so for all outputs, as many at a time as registers hold.
static void AllPixelSums(const PixelsCall& call, const float* x, int vectors, float* sums) {
  int first = 0;
  if constexpr (kHasManyRegisters) {
    if (call.width == 8) return PixelSumsOf<8, kPixelVectors>(call, x, 0, vectors, sums);
    if (call.width == 6) return PixelSumsOf<6, kPixelVectors>(call, x, 0, vectors, sums);
  }
  for (; first + 4 <= call.width; first += 4) {
    PixelSumsOf<4, kPixelVectors>(call, x, first, vectors, sums);
  }
  if (first < call.width) PixelSumsOf<2, kPixelVectors>(call, x, first, vectors, sums);
}

/// Stores `count` outputs of a pixel, at most four.
[[gnu::always_inline]] static inline void StorePixel(const Bounds<4>& bounds, Vector<4> values,
                                                     const float* residual, float* y, int count) {
  if (residual != nullptr) {
    values += count == 4 ? Load<4>(residual) : LoadFirst<4>(residual, count);
  }
  values = bounds.Clamp(values);
  if (count == 4) {
    Store<4>(y, values);
  } else {
    StoreFirst<4>(y, values, count);
  }
}

/// Stores `count` pixels of a row whose channels are neighbours.
static void StoreChannels(const PixelsCall& call, const float* sums, int count,
                          const float* residual, float* y) {
  const Bounds<4> bounds(call.low, call.high);
  for (int m = 0; m < call.outputs; m += 4) {
    const int outputs = call.outputs - m < 4 ? call.outputs - m : 4;
    for (int p = 0; p < count; p += 4) {
      const float* from = sums + m * kPixelSumStep + p;
      Vector<4> rows[4];
      TENON_UNROLL
      for (int i = 0; i < 4; ++i) rows[i] = Load<4>(from + i * kPixelSumStep);
      const Vector<4> low[2] = {Interleave<4, false>(rows[0], rows[1]),
                                Interleave<4, false>(rows[2], rows[3])};
      const Vector<4> high[2] = {Interleave<4, true>(rows[0], rows[1]),
                                 Interleave<4, true>(rows[2], rows[3])};
      const Vector<4> pixels[4] = {
          JoinPairs<4, false>(low[0], low[1]), JoinPairs<4, true>(low[0], low[1]),
          JoinPairs<4, false>(high[0], high[1]), JoinPairs<4, true>(high[0], high[1])};
      const int stored = count - p < 4 ? count - p : 4;
      for (int i = 0; i < stored; ++i) {
        StorePixel(bounds, pixels[i],
                   residual == nullptr ? nullptr : residual + (p + i) * call.residual_pixel + m,
                   y + (p + i) * call.y_pixel + m, outputs);
      }
    }
  }
}

/// Stores `count` pixels of a row in any layout.
static void StoreApart(const PixelsCall& call, const float* sums, int count, const float* residual,
                       float* y) {
  for (int m = 0; m < call.outputs; ++m) {
    const float* from = sums + m * kPixelSumStep;
    float* to = y + m * call.y_channel;
    const float* more = residual == nullptr ? nullptr : residual + m * call.residual_channel;
    for (int p = 0; p < count; ++p) {
      float value = from[p];
      if (more != nullptr) value += more[p * call.residual_pixel];
      value = value < call.low ? call.low : value;
      to[p * call.y_pixel] = value > call.high ? call.high : value;
    }
  }
}

/// Stores `count` pixels, from position `begin` on: those of a row are followed by what the next
/// rows have in front of theirs.
static void StorePixels(const PixelsCall& call, int64_t begin, int count, const float* sums) {
  const bool is_channels_last =
      call.y_channel == 1 && (call.residual == nullptr || call.residual_channel == 1);
  int64_t row = begin / call.x_row;
  int64_t column = begin % call.x_row;
  while (count > 0) {
    const int64_t rest = call.columns - column;
    const int stored = rest < count ? static_cast<int>(rest) : count;
    if (stored > 0) {
      float* y = call.y + row * call.y_row + column * call.y_pixel;
      const float* residual = call.residual == nullptr ? nullptr
                                                       : call.residual + row * call.residual_row +
                                                             column * call.residual_pixel;
      if (is_channels_last) {
        StoreChannels(call, sums, stored, residual, y);
      } else {
        StoreApart(call, sums, stored, residual, y);
      }
    }
    const auto passed = static_cast<int>(call.x_row - column);
    sums += passed;
    count -= passed;
    column = 0;
    ++row;
  }
}

constexpr int PixelVectorsOf(int64_t pixels) {
  return static_cast<int>((pixels + kLanes - 1) / kLanes);
}

/// Computes pixels [begin, begin + count), counted over rows of x_row.
static void RunPixelsFrom(const PixelsCall& call, int64_t begin, int64_t count, float* sums) {
  constexpr int kMost = kPixelVectors;
  const int vectors = PixelVectorsOf(count);
  const int parts = (vectors + kMost - 1) / kMost;
  const int64_t end = begin + count;
  for (int part = 0; part < parts; ++part) {
    const int own = vectors / parts + (part < vectors % parts ? 1 : 0);
    AllPixelSums(call, call.x + begin, own, sums);
    const int64_t pixels =
        int64_t{own} * kLanes < end - begin ? int64_t{own} * kLanes : end - begin;
    StorePixels(call, begin, static_cast<int>(pixels), sums);
    begin += pixels;
  }
}

static void RunPixels(const PixelsCall& pixels) {
  const PixelsCall call = pixels;  // what is stored may be anything, `pixels` too
  // Four pixels at a time are stored of a row, of which the last may have fewer: what is read
  // behind these is not used.
  alignas(64) float sums[kMostPixelOutputs * kPixelSumStep + 4] = {};
  const int64_t joined = (call.rows - 1) * call.x_row + call.columns;
  if (PixelVectorsOf(joined) <= call.rows * PixelVectorsOf(call.columns)) {
    return RunPixelsFrom(call, 0, joined, sums);
  }
  for (int row = 0; row < call.rows; ++row) {
    RunPixelsFrom(call, row * call.x_row, call.columns, sums);
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
