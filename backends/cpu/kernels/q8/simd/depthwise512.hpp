// Quantized depthwise convolution by dot products of four bytes. The bytes of four taps are
// interleaved by channel, so that each 32-bit sum belongs to one channel.
#pragma once

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/lanes512.hpp"

namespace tenon::cpu::q8::avx512 {

/// Contains the sums or taps of a block of as many channels as V has bytes. It is no array, because
/// the compiler would keep an array in memory.
template <typename V>
struct Sums {
  V a;
  V b;
  V c;
  V d;
};

/// Contains what all pixels of one block of one call share.
template <typename V, bool kPartial, bool kFixedPoint>
struct DepthwiseBlock {
  using R = Register<V>;
  using Mask = typename R::Mask;

  const DepthwiseCall& call;
  Mask mask;
  V flip;
  const uint8_t* weights;

  [[gnu::always_inline]] explicit DepthwiseBlock(const DepthwiseCall& the_call)
      : call(the_call),
        mask(static_cast<Mask>(call.channels >= R::kBytes ? ~uint64_t{0}
                                                          : (uint64_t{1} << call.channels) - 1)),
        flip(R::All8(call.x_flip)),
        weights(static_cast<const uint8_t*>(call.weights)) {}

  [[gnu::always_inline]] V Load(const uint8_t* from) const {
    if constexpr (kPartial) return R::LoadFirst(mask, from) ^ flip;
    return R::Load(from) ^ flip;
  }

  [[gnu::always_inline]] V LoadTap(const DepthwiseTap& tap, int64_t column) const {
    const bool inside = column >= 0 && column < call.columns;
    return Load(inside ? tap.row + column * tap.step : call.padding);
  }

  [[gnu::always_inline]] static Sums<V> Interleave(V a, V b, V c, V d) {
    const V low_ab = Low8(a, b);
    const V high_ab = High8(a, b);
    const V low_cd = Low8(c, d);
    const V high_cd = High8(c, d);
    return {Low16(low_ab, low_cd), High16(low_ab, low_cd), Low16(high_ab, high_cd),
            High16(high_ab, high_cd)};
  }

  /// Loads one column of a 3x3 window.
  [[gnu::always_inline]] Sums<V> LoadColumn(int64_t column) const {
    return Interleave(LoadTap(call.taps[0], column), LoadTap(call.taps[1], column),
                      LoadTap(call.taps[2], column), R::Zeros());
  }

  [[gnu::always_inline]] Sums<V> Bias() const {
    constexpr int kStep = R::kBytes / 4;
    return {R::Load(call.bias), R::Load(call.bias + kStep), R::Load(call.bias + 2 * kStep),
            R::Load(call.bias + 3 * kStep)};
  }

  [[gnu::always_inline]] Sums<V> Add(Sums<V> sums, const Sums<V>& x, int group) const {
    const uint8_t* w = weights + group * 4 * R::kBytes;
    return {Dot(sums.a, x.a, R::Load(w)), Dot(sums.b, x.b, R::Load(w + R::kBytes)),
            Dot(sums.c, x.c, R::Load(w + 2 * R::kBytes)),
            Dot(sums.d, x.d, R::Load(w + 3 * R::kBytes))};
  }

  [[gnu::always_inline]] V Rounded(V sum, int i) const {
    const int at = i * (R::kBytes / 4);
    if constexpr (kFixedPoint) {
      const auto* multiplier = static_cast<const int32_t*>(call.multiplier) + at;
      return FixedPointProduct<V>(
          sum, {R::Load(multiplier), OddOf(R::Load(multiplier)), R::Load(call.doubling + at),
                R::Load(call.half + at), R::Load(call.right + at), R::Load(call.away + at)});
    } else {
      const auto multiplier = R::LoadFloats(static_cast<const float*>(call.multiplier) + at);
      return ToIntegers(ToFloats(sum) * multiplier);
    }
  }

  [[gnu::always_inline]] V Requantized(const Sums<V>& sums) const {
    const ByteOutput& output = call.output;
    const V zero_point = R::All16(output.zero_point);
    const V low = Pack32(Rounded(sums.a, 0), Rounded(sums.b, 1));
    const V high = Pack32(Rounded(sums.c, 2), Rounded(sums.d, 3));
    const V y = Pack16(AddSaturated16(low, zero_point), AddSaturated16(high, zero_point));
    return Min8(Max8(y, R::All8(output.min)), R::All8(output.max)) ^ R::All8(output.flip);
  }

  [[gnu::always_inline]] void StorePixel(V y, int pixel) const {
    uint8_t* to = call.y + pixel * call.y_step;
    if constexpr (kPartial) {
      StoreFirst(to, mask, y);
    } else {
      Store(to, y);
    }
  }

  // Pixels are computed in pairs, so that weights and float factors are loaded once for two.
  // Fixed-point factors do not fit into the registers, so that the stores in between force a second
  // load. The second pixel of the last pair may be one too many.
  [[gnu::always_inline]] void ApplyEpilogue(const Sums<V>& sums, const Sums<V>& next,
                                            int pixel) const {
    const V y = Requantized(sums);
    if constexpr (kFixedPoint) StorePixel(y, pixel);
    const bool is_pair = pixel + 1 < call.pixels;
    if (is_pair) StorePixel(Requantized(next), pixel + 1);
    if constexpr (!kFixedPoint) StorePixel(y, pixel);
  }

  /// Computes 3x3 windows: every column is interleaved once for the three windows that contain it.
  [[gnu::always_inline]] void RunStride1() const {
    const Sums<V> first = LoadColumn(call.first);
    const Sums<V> second = LoadColumn(call.first + 1);
    Sums<V> older = Add(Add(Bias(), first, 0), second, 1);
    Sums<V> newer = Add(Bias(), second, 0);
    for (int pixel = 0; pixel < call.pixels; pixel += 2) {
      const Sums<V> column = LoadColumn(call.first + pixel + 2);
      const Sums<V> next = LoadColumn(call.first + pixel + 3);
      const Sums<V> done = Add(older, column, 2);
      const Sums<V> next_done = Add(Add(newer, column, 1), next, 2);
      older = Add(Add(Bias(), column, 0), next, 1);
      newer = Add(Bias(), next, 0);
      ApplyEpilogue(done, next_done, pixel);
    }
  }

  [[gnu::always_inline]] void RunStride2() const {
    Sums<V> sums = Add(Bias(), LoadColumn(call.first), 0);
    for (int pixel = 0; pixel < call.pixels; pixel += 2) {
      const int64_t column = call.first + int64_t{2} * pixel;
      const Sums<V> shared = LoadColumn(column + 2);
      const Sums<V> last = LoadColumn(column + 4);
      const Sums<V> done = Add(Add(sums, LoadColumn(column + 1), 1), shared, 2);
      const Sums<V> next = Add(Add(Bias(), shared, 0), LoadColumn(column + 3), 1);
      sums = Add(Bias(), last, 0);
      ApplyEpilogue(done, Add(next, last, 2), pixel);
    }
  }

  [[gnu::always_inline]] Sums<V> LoadGroup(const DepthwiseTap* tap, int64_t column) const {
    return Interleave(
        LoadTap(tap[0], column + tap[0].column), LoadTap(tap[1], column + tap[1].column),
        LoadTap(tap[2], column + tap[2].column), LoadTap(tap[3], column + tap[3].column));
  }

  [[gnu::always_inline]] void RunTaps() const {
    for (int pixel = 0; pixel < call.pixels; pixel += 2) {
      const int64_t column = call.first + pixel * call.stride;
      Sums<V> sums = Bias();
      Sums<V> next = sums;
      const DepthwiseTap* tap = call.taps;
      for (int group = 0; group < call.groups; ++group, tap += 4) {
        sums = Add(sums, LoadGroup(tap, column), group);
        next = Add(next, LoadGroup(tap, column + call.stride), group);
      }
      ApplyEpilogue(sums, next, pixel);
    }
  }
};

template <typename V, bool kPartial, bool kFixedPoint>
static void DepthwiseOf(const DepthwiseCall& call) {
  const DepthwiseBlock<V, kPartial, kFixedPoint> block(call);
  if (!call.is_column) return block.RunTaps();
  if (call.stride == 1) return block.RunStride1();
  block.RunStride2();
}

template <typename V>
static void DepthwiseOfWidth(const DepthwiseCall& call) {
  const bool partial = call.channels < Register<V>::kBytes;
  if (call.fixed_point) {
    return partial ? DepthwiseOf<V, true, true>(call) : DepthwiseOf<V, false, true>(call);
  }
  partial ? DepthwiseOf<V, true, false>(call) : DepthwiseOf<V, false, false>(call);
}

static void RunDepthwise(const DepthwiseCall& call) {
  if (call.block == 64) return DepthwiseOfWidth<__m512i>(call);
  if (call.block == 32) return DepthwiseOfWidth<__m256i>(call);
  DepthwiseOfWidth<__m128i>(call);
}

}  // namespace tenon::cpu::q8::avx512
