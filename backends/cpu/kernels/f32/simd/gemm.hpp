// Computes the register tile of convolutions and matrix products: a few pixels by a group of
// channels stay in registers during the loops over taps and input channels.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"
#include "backends/cpu/kernels/load_later.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Contains a group of channels as whole registers and, for a remaining half, one of half size.
template <int kWidth>
struct GroupShape {
  static constexpr int kWhole = kWidth / kLanes;
  static constexpr int kHalf = kWidth % kLanes != 0 ? 1 : 0;
  static constexpr int kHalfLanes = kLanes > 4 ? kLanes / 2 : 4;
};

/// Contains the accumulators of one tile.
template <int kWidth, int kPixels>
struct Accumulators {
  using Shape = GroupShape<kWidth>;
  Vector<kLanes> whole[kPixels][Shape::kWhole > 0 ? Shape::kWhole : 1];
  Vector<Shape::kHalfLanes> half[kPixels];

  [[gnu::always_inline]] void Start(const float* bias) {
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) whole[i][v] = Load<kLanes>(bias + v * kLanes);
      if constexpr (Shape::kHalf != 0) {
        half[i] = Load<Shape::kHalfLanes>(bias + Shape::kWhole * kLanes);
      }
    }
  }

  [[gnu::always_inline]] void StartAtZero() {
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) whole[i][v] = Vector<kLanes>{};
      half[i] = Vector<Shape::kHalfLanes>{};
    }
  }

  /// Adds x[i][k] * weights for every pixel.
  [[gnu::always_inline]] void Add(const float* const* x, int64_t k, const float* weights) {
    Vector<kLanes> w[Shape::kWhole > 0 ? Shape::kWhole : 1];
    Vector<Shape::kHalfLanes> w_half = {};
    TENON_UNROLL
    for (int v = 0; v < Shape::kWhole; ++v) w[v] = Load<kLanes>(weights + v * kLanes);
    if constexpr (Shape::kHalf != 0) {
      w_half = Load<Shape::kHalfLanes>(weights + Shape::kWhole * kLanes);
    }
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      const float value = x[i][k];
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) whole[i][v] += w[v] * value;
      if constexpr (Shape::kHalf != 0) half[i] += w_half * value;
    }
  }

  /// Adds x[i] * weights for every pixel, as Add, where x[i] is the lane kLane of a register, and
  /// moves the weights on.
  template <int kLane>
  [[gnu::always_inline]] void AddLane(const Vector<kLanes>* x, const float*& weights,
                                      int64_t step) {
    Vector<kLanes> w[Shape::kWhole];
    TENON_UNROLL
    for (int v = 0; v < Shape::kWhole; ++v) w[v] = Load<kLanes>(weights + v * kLanes);
    weights += step;
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) whole[i][v] += w[v] * x[i][kLane];
      if (i == kPixels / 2) LoadLater(weights, whole[i][0]);
    }
  }

  [[gnu::always_inline]] void Add(const Accumulators& other) {
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) whole[i][v] += other.whole[i][v];
      if constexpr (Shape::kHalf != 0) half[i] += other.half[i];
    }
  }

  [[gnu::always_inline]] void Epilogue(const TileCall& call, const float* residual, float* y) {
    if (residual != nullptr) AddResidual(residual, call.residual_step);
    const Bounds<kLanes> bounds(call.low, call.high);
    const Bounds<Shape::kHalfLanes> half_bounds(call.low, call.high);
    const int64_t step = call.y_step;
    y = OneAddress(y);
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) {
        Store<kLanes>(y + v * kLanes, bounds.Clamp(whole[i][v]));
      }
      if constexpr (Shape::kHalf != 0) {
        Store<Shape::kHalfLanes>(y + Shape::kWhole * kLanes, half_bounds.Clamp(half[i]));
      }
      y += step;
    }
  }

 private:
  [[gnu::always_inline]] void AddResidual(const float* residual, int64_t step) {
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      TENON_UNROLL
      for (int v = 0; v < Shape::kWhole; ++v) {
        whole[i][v] += Load<kLanes>(residual + i * step + v * kLanes);
      }
      if constexpr (Shape::kHalf != 0) {
        half[i] += Load<Shape::kHalfLanes>(residual + i * step + Shape::kWhole * kLanes);
      }
    }
  }
};

/// Asks for the lines of a tile's outputs, `step` floats apart.
template <int kWidth, int kPixels>
[[gnu::always_inline]] static inline void PrefetchOutputs(const float* lines, int64_t step) {
  constexpr int kLineFloats = 16;
  lines = OneAddress(lines);
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    TENON_UNROLL
    for (int v = 0; v < kWidth; v += kLineFloats) __builtin_prefetch(lines + v, 1);
    lines += step;
  }
}

/// Is the largest number of pixels whose sums are in parts.
constexpr int kFewPixels = 3;

enum class TileMode { kPlain, kOffsets, kInOrder };

/// Says where one repeat of a call reads and writes.
struct TilePlace {
  int64_t x;  ///< floats from the call's rows
  const float* weights;
  const float* bias;
  const float* residual;
  float* y;
  const float* ahead;
};

/// Says whether registers of x are loaded whole and multiplied lane by lane: one load instead of as
/// many as there are lanes.
constexpr bool kByLane = TENON_F32_NEON != 0;

/// Adds the products of kLanes input channels from k on, of which channel j goes to the sums of
/// part j % kParts, and moves the weights on.
template <int kWidth, int kPixels, int kParts>
[[gnu::always_inline]] static inline void AddLanes(Accumulators<kWidth, kPixels>* sums,
                                                   const float* const* x, int64_t k,
                                                   const float*& weights, int64_t step) {
  static_assert(!kByLane || kLanes == 4);
  Vector<kLanes> values[kPixels];
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) values[i] = Load<kLanes>(x[i] + k);
  sums[0].template AddLane<0>(values, weights, step);
  sums[1 % kParts].template AddLane<1>(values, weights, step);
  sums[2 % kParts].template AddLane<2>(values, weights, step);
  sums[3 % kParts].template AddLane<3>(values, weights, step);
}

/// Computes one repeat, and moves `place.ahead` on.
template <int kWidth, int kPixels, TileMode kMode>
[[gnu::always_inline]] static inline void ComputeTile(const TileCall& call, TilePlace& place) {
  constexpr bool kOffsets = kMode == TileMode::kOffsets;
  // A few pixels have too few sums in flight to hide the latency of a multiply-add: they sum in
  // parts.
  constexpr int kFewParts = kPixels == 1 ? 4 : 2;
  constexpr int kMostSums = 64;  // of one pixel: more would need more registers than there are
  constexpr bool kInParts = kMode != TileMode::kInOrder && kPixels <= kFewPixels &&
                            (kPixels * kWidth <= kMostSums || kLanes > 8);
  constexpr int kParts = kInParts ? kFewParts : 1;
  constexpr bool kLoadsWhole = kByLane && !kOffsets;
  Accumulators<kWidth, kPixels> sums[kParts];
  sums[0].Start(place.bias);
  TENON_UNROLL
  for (int p = 1; p < kParts; ++p) sums[p].StartAtZero();
  const float* weights = place.weights;
  const int64_t step = call.weight_step;
  const float* const* rows = call.rows;
  for (int64_t tap = 0; tap < call.taps; ++tap) {
    const float* x[kPixels];
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) x[i] = rows[i] + place.x;
    rows += kPixels;
    int64_t k = 0;
    if constexpr (kParts == 1) {
      while (call.ahead_lines > 0 && k + kAheadDepth <= call.depth) {
        for (int line = call.ahead_lines; line > 0; --line) {
          __builtin_prefetch(place.ahead, 0, 2);
          place.ahead += call.ahead_step;
        }
        const int64_t end = k + kAheadDepth;
        if constexpr (kLoadsWhole) {
          TENON_NO_UNROLL
          for (; k < end; k += kLanes) {
            AddLanes<kWidth, kPixels, kParts>(sums, x, k, weights, step);
          }
        } else {
          // Unrolled, it would need more registers than there are.
          TENON_NO_UNROLL
          for (; k < end; ++k) {
            sums[0].Add(x, kOffsets ? call.offsets[k] : k, weights);
            weights += step;
          }
        }
      }
    }
    if constexpr (kLoadsWhole) {
      TENON_NO_UNROLL
      for (int64_t left = (call.depth - k) / kLanes; left > 0; --left, k += kLanes) {
        AddLanes<kWidth, kPixels, kParts>(sums, x, k, weights, step);
      }
    }
    for (; k + kParts <= call.depth; k += kParts) {
      TENON_UNROLL
      for (int p = 0; p < kParts; ++p) {
        sums[p].Add(x, kOffsets ? call.offsets[k + p] : k + p, weights + p * step);
      }
      weights += kParts * step;
    }
    if constexpr (kParts > 1) {
      for (; k < call.depth; ++k) {
        sums[0].Add(x, kOffsets ? call.offsets[k] : k, weights);
        weights += step;
      }
    }
  }
  TENON_UNROLL
  for (int p = 1; p < kParts; ++p) sums[0].Add(sums[p]);
  sums[0].Epilogue(call, place.residual, place.y);
}

/// Stores leave for the cache one after the other, and each that misses would wait for memory
/// alone: so each repeat asks for the outputs, and the residual, of the next.
template <int kWidth, int kPixels, TileMode kMode>
static void Tile(const TileCall& call) {
  TilePlace place = {call.x_first, call.weights, call.bias, call.residual, call.y, call.ahead};
  if (call.outputs_far) {
    PrefetchOutputs<kWidth, kPixels>(place.y, call.y_step);
    if (place.residual != nullptr) {
      PrefetchOutputs<kWidth, kPixels>(place.residual, call.residual_step);
    }
  }
  for (int left = call.repeats; left > 0; --left) {
    if (call.outputs_far && left > 1) {
      PrefetchOutputs<kWidth, kPixels>(place.y + call.y_next, call.y_step);
      if (place.residual != nullptr) {
        PrefetchOutputs<kWidth, kPixels>(place.residual + call.residual_next, call.residual_step);
      }
    }
    if (call.ahead_next != 0) place.ahead = place.weights + call.ahead_next;
    ComputeTile<kWidth, kPixels, kMode>(call, place);
    place.x += call.x_next;
    place.weights += call.weights_next;
    place.bias += call.bias_next;
    place.y += call.y_next;
    if (place.residual != nullptr) place.residual += call.residual_next;
  }
}

constexpr int kTilePixels = TENON_F32_TILE.pixels;
constexpr int kTileWidth = TENON_F32_TILE.width;
#ifdef TENON_F32_WIDE_TILE
constexpr cpu::f32::Tile kWideTile = TENON_F32_WIDE_TILE;
#else
constexpr cpu::f32::Tile kWideTile = {};
#endif

using TileFunction = void (*)(const TileCall&);

template <int kWidth, TileMode kMode, int... kIndices>
struct TileRow {
  static constexpr TileFunction kFunctions[] = {Tile<kWidth, kIndices + 1, kMode>...};
};

template <int kWidth, TileMode kMode, int kCount, int... kIndices>
struct MakeTileRow : MakeTileRow<kWidth, kMode, kCount - 1, kCount - 1, kIndices...> {};
template <int kWidth, TileMode kMode, int... kIndices>
struct MakeTileRow<kWidth, kMode, 0, kIndices...> {
  using Type = TileRow<kWidth, kMode, kIndices...>;
};

template <int kWidth>
static void TileOfWidth(const TileCall& call) {
  constexpr int kMost = kWidth > kTileWidth ? kWideTile.pixels : kTilePixels;
  const int index = call.pixels - 1;
  if (call.offsets != nullptr) {
    return MakeTileRow<kWidth, TileMode::kOffsets, kMost>::Type::kFunctions[index](call);
  }
  if (call.in_order && call.pixels <= kFewPixels) {
    return MakeTileRow<kWidth, TileMode::kInOrder, kFewPixels>::Type::kFunctions[index](call);
  }
  MakeTileRow<kWidth, TileMode::kPlain, kMost>::Type::kFunctions[index](call);
}

static void RunWholeTile(const TileCall& call) {
  if (call.width == 8) return TileOfWidth<8>(call);
  if (call.width == 16) return TileOfWidth<16>(call);
  if constexpr (kTileWidth >= 24) {
    if (call.width == 24) return TileOfWidth<24>(call);
    TileOfWidth<32>(call);
  } else if constexpr (kWideTile.width > 0) {
    TileOfWidth<kWideTile.width>(call);
  }
}

/// Finishes up to kCount of one pixel's channels, `count` that are left.
template <int kCount>
[[gnu::always_inline]] static inline void FinishLanes(const TileCall& call, const float* sums,
                                                      const float* residual, float* y, int count) {
  const Lanes<kCount, true> lanes = {count < kCount ? count : kCount};
  Vector<kCount> values = Load<kCount>(sums);
  if (residual != nullptr) values += lanes.Get(residual);
  lanes.Put(y, Bounds<kCount>(call.low, call.high).Clamp(values));
}

/// Finishes the sums of one pixel's channels: under masks, or four at a time and then one by one.
[[gnu::always_inline]] static inline void FinishPixel(const TileCall& call, const float* sums,
                                                      const float* residual, float* y) {
  int c = 0;
#if TENON_F32_AVX512
  // As many as were stored at once: other loads would wait until those stores are in the cache.
  for (; c < call.channels && c + kLanes <= call.width; c += kLanes) {
    FinishLanes<kLanes>(call, sums + c, residual == nullptr ? nullptr : residual + c, y + c,
                        call.channels - c);
  }
  if (c < call.channels) {
    FinishLanes<kLanes / 2>(call, sums + c, residual == nullptr ? nullptr : residual + c, y + c,
                            call.channels - c);
  }
#else
  constexpr int kFour = 4;
  const Bounds<kFour> bounds(call.low, call.high);
  for (; c + kFour <= call.channels; c += kFour) {
    Vector<kFour> four = Load<kFour>(sums + c);
    if (residual != nullptr) four += Load<kFour>(residual + c);
    Store<kFour>(y + c, bounds.Clamp(four));
  }
  for (; c < call.channels; ++c) {
    const float sum = residual == nullptr ? sums[c] : sums[c] + residual[c];
    const float raised = sum < call.low ? call.low : sum;
    y[c] = raised > call.high ? call.high : raised;
  }
#endif
}

/// A group with fewer channels than lanes goes through a buffer, so that tiles store whole vectors.
/// Its weights and bias are the same for all repeats.
static void RunTile(const TileCall& call) {
  if (call.channels == call.width) return RunWholeTile(call);
  alignas(64) float buffer[kTilePixels * kMostWidth];
  TileCall whole = call;
  whole.repeats = 1;
  whole.residual = nullptr;
  whole.y = buffer;
  whole.y_step = call.width;
  whole.low = -__builtin_inff();
  whole.high = __builtin_inff();
  whole.outputs_far = false;
  float* y = call.y;
  const float* residual = call.residual;
  for (int repeat = 0; repeat < call.repeats; ++repeat) {
    RunWholeTile(whole);
    for (int i = 0; i < call.pixels; ++i) {
      FinishPixel(call, buffer + i * call.width,
                  residual == nullptr ? nullptr : residual + i * call.residual_step,
                  y + i * call.y_step);
    }
    whole.x_first += call.x_next;
    y += call.y_next;
    if (residual != nullptr) residual += call.residual_next;
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
