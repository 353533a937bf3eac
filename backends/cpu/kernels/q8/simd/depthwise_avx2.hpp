// Quantized depthwise convolution by AVX2, which multiplies 16-bit pairs, 16 channels at a time.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/byte_routines.hpp"

namespace tenon::cpu::q8::avx2 {

static constexpr int kBlock = 16;
static constexpr int kHalf = 8;

struct PixelSums {
  __m256i low;   ///< channels 0 to 3 and 8 to 11
  __m256i high;  ///< the others
};

/// What the two halves of a register are for.
enum class Halves {
  kChannels,  ///< channels of one pixel
  kPixels,    ///< two pixels by 8 channels: constants of the first 8 serve both
};

[[gnu::always_inline]] static inline __m256i Load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

/// Loads the constants of a register.
template <Halves kHalves>
[[gnu::always_inline]] static inline __m256i LoadConstants(const void* from) {
  if constexpr (kHalves == Halves::kChannels) return Load(from);
  return _mm256_broadcastsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(from)));
}

/// Loads the bytes of 16 channels, of which `channels` exist.
[[gnu::always_inline]] static inline __m128i LoadBytes(const uint8_t* from, int channels) {
  if (channels >= kBlock) return _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  if (channels >= kHalf) {  // two that overlap, less what they have in common
    const __m128i begin = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
    const __m128i end = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from + channels - kHalf));
    const __m128i common = _mm_cvtsi32_si128(8 * (kBlock - channels));
    return _mm_unpacklo_epi64(begin, _mm_srl_epi64(end, common));
  }
  alignas(16) uint8_t bytes[kBlock] = {};
  for (int i = 0; i < channels; ++i) bytes[i] = from[i];
  return _mm_load_si128(reinterpret_cast<const __m128i*>(bytes));
}

/// Contains what is the same for all pixels of a call, in every lane: stores of bytes might change
/// the call, for all that the compiler knows.
struct Block {
  explicit Block(const DepthwiseCall& of)
      : call(of),
        flip(_mm_set1_epi8(static_cast<char>(of.x_flip))),
        zero_point(_mm256_set1_epi16(static_cast<short>(of.output.zero_point))),
        min(_mm_set1_epi8(static_cast<char>(of.output.min))),
        max(_mm_set1_epi8(static_cast<char>(of.output.max))),
        y_flip(_mm_set1_epi8(static_cast<char>(of.output.flip))),
        is_whole(of.channels + of.common >= kBlock) {}

  const DepthwiseCall& call;
  const __m128i flip;
  const __m256i zero_point;
  const __m128i min;
  const __m128i max;
  const __m128i y_flip;
  const bool is_whole;  ///< all 16 channels exist, stored or not

  /// Loads the bytes of a tap; kWhole: all 16 channels exist.
  template <bool kWhole>
  [[gnu::always_inline]] inline __m256i LoadTap(const uint8_t* from) const {
    return _mm256_cvtepu8_epi16(
        _mm_xor_si128(LoadBytes(from, kWhole ? kBlock : call.channels), flip));
  }

  /// As requantize.hpp says; `at` counts registers.
  template <Halves kHalves>
  [[gnu::always_inline]] inline __m256i Rounded(__m256i sum, int at) const {
    const __m256i multiplier =
        LoadConstants<kHalves>(static_cast<const int32_t*>(call.multiplier) + at * 8);
    if (!call.fixed_point) {
      const __m256 factor = _mm256_castsi256_ps(multiplier);
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), factor));
    }
    const __m256i right = LoadConstants<kHalves>(call.right + at * 8);
    // With x twice as large, the upper halves of the products are what is wanted.
    const __m256i doubled = _mm256_sllv_epi32(sum, LoadConstants<kHalves>(call.doubling + at * 8));
    const __m256i rounder = _mm256_set1_epi64x(int64_t{1} << 31);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(doubled, multiplier), rounder);
    const __m256i odd = _mm256_add_epi64(
        _mm256_mul_epi32(_mm256_srli_epi64(doubled, 32), _mm256_srli_epi64(multiplier, 32)),
        rounder);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i biased = _mm256_add_epi32(high, LoadConstants<kHalves>(call.half + at * 8));
    const __m256i away =
        _mm256_and_si256(_mm256_srai_epi32(high, 31), LoadConstants<kHalves>(call.away + at * 8));
    return _mm256_srav_epi32(_mm256_add_epi32(biased, away), right);
  }

  /// Returns the outputs of one pixel, or of two.
  template <Halves kHalves>
  [[gnu::always_inline]] inline __m128i Outputs(const PixelSums& sums) const {
    const __m256i words = _mm256_adds_epi16(
        _mm256_packs_epi32(Rounded<kHalves>(sums.low, 0), Rounded<kHalves>(sums.high, 1)),
        zero_point);
    const __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    return _mm_xor_si128(_mm_min_epi8(_mm_max_epi8(bytes, min), max), y_flip);
  }

  /// Returns the outputs of two pixels.
  [[gnu::always_inline]] inline __m256i OutputsOfTwo(const PixelSums& first,
                                                     const PixelSums& second) const {
    constexpr Halves kChannels = Halves::kChannels;
    const __m256i a =
        _mm256_packs_epi32(Rounded<kChannels>(first.low, 0), Rounded<kChannels>(first.high, 1));
    const __m256i b =
        _mm256_packs_epi32(Rounded<kChannels>(second.low, 0), Rounded<kChannels>(second.high, 1));
    const __m256i bytes = _mm256_permute4x64_epi64(
        _mm256_packs_epi16(_mm256_adds_epi16(a, zero_point), _mm256_adds_epi16(b, zero_point)),
        0xD8);
    const __m256i bounded = _mm256_min_epi8(_mm256_max_epi8(bytes, _mm256_set_m128i(min, min)),
                                            _mm256_set_m128i(max, max));
    return _mm256_xor_si256(bounded, _mm256_set_m128i(y_flip, y_flip));
  }

  /// Stores the bytes of a pixel that exist and are not the block's before. `y` is of the first.
  [[gnu::always_inline]] inline void Store(__m128i bytes, uint8_t* y) const {
    if (call.channels >= kBlock) return _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
    alignas(16) uint8_t stored[kBlock];
    _mm_store_si128(reinterpret_cast<__m128i*>(stored), bytes);
    const uint8_t* from = stored + call.common;
    y += call.common;
    if (call.channels >= kHalf) {
      std::memcpy(y, from, kHalf);
      std::memcpy(y + call.channels - kHalf, from + call.channels - kHalf, kHalf);
      return;
    }
    for (int i = 0; i < call.channels; ++i) y[i] = from[i];
  }

  [[gnu::always_inline]] inline void ApplyEpilogue(const PixelSums& sums, uint8_t* y) const {
    Store(Outputs<Halves::kChannels>(sums), y);
  }
};

/// Adds the products of two taps.
template <Halves kHalves = Halves::kChannels>
[[gnu::always_inline]] static inline void AddPair(__m256i a, __m256i b, const int16_t* weights,
                                                  PixelSums& sums) {
  const __m256i low =
      _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), LoadConstants<kHalves>(weights));
  const __m256i high =
      _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), LoadConstants<kHalves>(weights + kBlock));
  sums.low = _mm256_add_epi32(sums.low, low);
  sums.high = _mm256_add_epi32(sums.high, high);
}

/// Computes a pixel whose window may leave the input.
template <bool kWhole>
static void RunPixel(const Block& block, int pixel) {
  const DepthwiseCall& call = block.call;
  const int64_t column = call.first + pixel * call.stride;
  PixelSums sums = {Load(call.bias), Load(call.bias + 8)};
  const DepthwiseTap* tap = call.taps;
  const auto* weights = static_cast<const int16_t*>(call.weights);
  const auto load = [&](const DepthwiseTap& of) {
    const int64_t at = column + of.column;
    const bool inside = static_cast<uint64_t>(at) < static_cast<uint64_t>(call.columns);
    return block.LoadTap<kWhole>(inside ? of.row + at * of.step : call.padding);
  };
  for (int group = 0; group < call.groups; ++group, tap += 2, weights += 2 * kBlock) {
    AddPair(load(tap[0]), load(tap[1]), weights, sums);
  }
  block.ApplyEpilogue(sums, call.y + pixel * call.y_step);
}

/// Computes pixels whose windows have all columns in the input, of a block of 16 channels.
template <int kPixels>
static void RunInside(const Block& block, int pixel) {
  const DepthwiseCall& call = block.call;
  const int64_t column = call.first + pixel * call.stride;
  PixelSums sums[kPixels];
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) sums[i] = {Load(call.bias), Load(call.bias + 8)};
  const DepthwiseTap* tap = call.taps;
  const auto* weights = static_cast<const int16_t*>(call.weights);
  for (int group = 0; group < call.groups; ++group, tap += 2, weights += 2 * kBlock) {
    const uint8_t* a = tap[0].row + (column + tap[0].column) * tap[0].step;
    const uint8_t* b = tap[1].row + (column + tap[1].column) * tap[1].step;
    const int64_t a_step = call.stride * tap[0].step;
    const int64_t b_step = call.stride * tap[1].step;
#pragma GCC unroll 4
    for (int i = 0; i < kPixels; ++i) {
      AddPair(block.LoadTap<true>(a + i * a_step), block.LoadTap<true>(b + i * b_step), weights,
              sums[i]);
    }
  }
#pragma GCC unroll 4
  for (int i = 0; i < kPixels; ++i) {
    block.ApplyEpilogue(sums[i], call.y + (pixel + i) * call.y_step);
  }
}

/// Computes two pixels whose windows have all columns in the input, of a block of 8 channels.
static void RunTwo(const Block& block, int pixel) {
  constexpr Halves kBoth = Halves::kPixels;
  const DepthwiseCall& call = block.call;
  const int64_t column = call.first + pixel * call.stride;
  PixelSums sums = {LoadConstants<kBoth>(call.bias), LoadConstants<kBoth>(call.bias + 8)};
  const DepthwiseTap* tap = call.taps;
  const auto* weights = static_cast<const int16_t*>(call.weights);
  const auto load = [&](const DepthwiseTap& of) {
    const uint8_t* from = of.row + (column + of.column) * of.step;
    const uint8_t* next = from + call.stride * of.step;
    const __m128i bytes =
        _mm_unpacklo_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from)),
                           _mm_loadl_epi64(reinterpret_cast<const __m128i*>(next)));
    return _mm256_cvtepu8_epi16(_mm_xor_si128(bytes, block.flip));
  };
  for (int group = 0; group < call.groups; ++group, tap += 2, weights += 2 * kBlock) {
    AddPair<kBoth>(load(tap[0]), load(tap[1]), weights, sums);
  }
  const __m128i outputs = block.Outputs<kBoth>(sums);
  uint8_t* y = call.y + pixel * call.y_step;
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y), outputs);
  _mm_storel_epi64(reinterpret_cast<__m128i*>(y + call.y_step), _mm_srli_si128(outputs, 8));
}

constexpr int kMostPixels = 4;
constexpr void (*kRunInside[kMostPixels])(const Block&, int) = {RunInside<1>, RunInside<2>,
                                                                RunInside<3>, RunInside<4>};

/// Which pixels have windows with all columns in the input.
struct InsidePixels {
  int first = 0;
  int end = 0;
};

static InsidePixels FindInside(const DepthwiseCall& call) {
  int64_t least = 0;
  int64_t most = 0;
  for (int i = 0; i < 2 * call.groups; ++i) {
    least = call.taps[i].column < least ? call.taps[i].column : least;
    most = call.taps[i].column > most ? call.taps[i].column : most;
  }
  InsidePixels inside = {0, call.pixels};
  const auto column = [&](int pixel) { return call.first + pixel * call.stride; };
  while (inside.first < call.pixels && column(inside.first) + least < 0) ++inside.first;
  while (inside.end > inside.first && column(inside.end - 1) + most >= call.columns) --inside.end;
  return inside;
}

/// Computes four pixels whose groups of taps are two rows of a column: what is loaded and
/// interleaved of a column serves all windows that contain it. kEdge: columns may lie outside the
/// input. Stores pixels `skip` to `end` of the four.
template <int kColumns, int kStride, bool kEdge>
static void RunColumns(const Block& block, int pixel, int skip, int end) {
  constexpr int kPixels = 4;
  constexpr int kAll = (kPixels - 1) * kStride + kColumns;
  const DepthwiseCall& call = block.call;
  const int64_t left = call.first + int64_t{pixel} * kStride;
  PixelSums sums[kPixels];
#pragma GCC unroll 4
  for (PixelSums& pixel_sums : sums) pixel_sums = {Load(call.bias), Load(call.bias + 8)};
  const auto* weights = static_cast<const int16_t*>(call.weights);
  const DepthwiseTap* tap = call.taps;
  for (int group = 0; group < call.groups; group += kColumns, tap += 2 * kColumns) {
    const uint8_t* a = tap[0].row + left * tap[0].step;
    const uint8_t* b = tap[1].row + left * tap[1].step;
#pragma GCC unroll 16
    for (int column = 0; column < kAll; ++column) {
      const bool inside =
          !kEdge || static_cast<uint64_t>(left + column) < static_cast<uint64_t>(call.columns);
      const __m256i x = block.LoadTap<true>(inside ? a + column * tap[0].step : call.padding);
      const __m256i next = block.LoadTap<true>(inside ? b + column * tap[1].step : call.padding);
      const __m256i low = _mm256_unpacklo_epi16(x, next);
      const __m256i high = _mm256_unpackhi_epi16(x, next);
#pragma GCC unroll 4
      for (int i = 0; i < kPixels; ++i) {
        const int of_window = column - i * kStride;
        if (of_window < 0 || of_window >= kColumns) continue;
        const int16_t* w = weights + of_window * 2 * kBlock;
        sums[i].low = _mm256_add_epi32(sums[i].low, _mm256_madd_epi16(low, Load(w)));
        sums[i].high = _mm256_add_epi32(sums[i].high, _mm256_madd_epi16(high, Load(w + kBlock)));
        // Else the compiler makes all products first, for which registers do not suffice.
        asm("" : "+x"(sums[i].low), "+x"(sums[i].high));
      }
    }
    weights += kColumns * 2 * kBlock;
  }
  uint8_t* y = call.y + int64_t{pixel} * call.y_step;
#pragma GCC unroll 2
  for (int i = 0; i < kPixels; i += 2, y += 2 * call.y_step) {
    const __m256i bytes = block.OutputsOfTwo(sums[i], sums[i + 1]);
    if (i >= skip && i < end) block.Store(_mm256_castsi256_si128(bytes), y);
    if (i + 1 >= skip && i + 1 < end) {
      block.Store(_mm256_extracti128_si256(bytes, 1), y + call.y_step);
    }
  }
}

/// All pixels in fours, of which the last may overlap the one before it, and one that is left.
template <int kColumns, int kStride>
static void RunAllColumns(const Block& block) {
  constexpr int kPixels = 4;
  constexpr int kAll = (kPixels - 1) * kStride + kColumns;
  const DepthwiseCall& call = block.call;
  for (int done = 0; done < call.pixels; done += kPixels) {
    if (done + 1 == call.pixels) return RunPixel<true>(block, done);
    const int last = call.pixels > kPixels ? call.pixels - kPixels : 0;
    const int pixel = done < last ? done : last;
    const int64_t left = call.first + int64_t{pixel} * kStride;
    const int end = call.pixels - pixel;
    const bool inside = left >= 0 && left + kAll <= call.columns;
    (inside ? RunColumns<kColumns, kStride, false>
            : RunColumns<kColumns, kStride, true>)(block, pixel, done - pixel, end);
  }
}

static void RunDepthwise(const DepthwiseCall& call) {
  const Block block(call);
  if (call.columns_of_window != 0 && block.is_whole) {
    constexpr void (*kRun[3][2])(const Block&) = {{RunAllColumns<3, 1>, RunAllColumns<3, 2>},
                                                  {RunAllColumns<5, 1>, RunAllColumns<5, 2>},
                                                  {RunAllColumns<7, 1>, RunAllColumns<7, 2>}};
    return kRun[call.columns_of_window / 2 - 1][call.stride - 1](block);
  }
  const InsidePixels inside = FindInside(call);
  const auto run_pixel = block.is_whole ? RunPixel<true> : RunPixel<false>;
  for (int pixel = 0; pixel < inside.first; ++pixel) run_pixel(block, pixel);
  int pixel = inside.first;
  if (block.is_whole) {
    while (pixel < inside.end) {
      const int left = inside.end - pixel;
      const int count = left < kMostPixels ? left : kMostPixels;
      kRunInside[count - 1](block, pixel);
      pixel += count;
    }
  } else if (call.channels == kHalf) {
    for (; pixel + 2 <= inside.end; pixel += 2) RunTwo(block, pixel);
  }
  for (; pixel < call.pixels; ++pixel) run_pixel(block, pixel);
}

/// Where all 16 channels exist, the compiler knows it, and a tap is one load.
template <bool kWhole>
[[gnu::always_inline]] static inline void RunWindowOf(const DepthwiseCall& call) {
  const Block block(call);
  const auto load = [&](const uint8_t* from) { return block.LoadTap<kWhole>(from); };
  PixelSums sums = {Load(call.bias), Load(call.bias + 8)};
  const uint8_t* from = call.window;
  const auto* weights = static_cast<const int16_t*>(call.weights);
  for (int tap = 0; tap + 2 <= call.window_taps; tap += 2, weights += 2 * kBlock) {
    AddPair(load(from), load(from + call.window_step), weights, sums);
    from += 2 * call.window_step;
  }
  if (call.window_taps % 2 != 0) AddPair(load(from), _mm256_setzero_si256(), weights, sums);
  block.ApplyEpilogue(sums, call.y);
}

static void RunDepthwiseWindow(const DepthwiseCall& call) {
  call.channels + call.common >= kBlock ? RunWindowOf<true>(call) : RunWindowOf<false>(call);
}

}  // namespace tenon::cpu::q8::avx2
