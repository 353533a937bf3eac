// The AVX2 routines multiply 16-bit pairs, 16 channels at a time.
#define TENON_Q8_ISA avx2
#define TENON_BYTES_WIDTH 32

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kBlock = 16;
constexpr int kHalf = 8;

struct Sums {
  __m256i low;   ///< channels 0 to 3 and 8 to 11
  __m256i high;  ///< the others
};

[[gnu::always_inline]] inline __m256i Load(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}

/// Loads the bytes of 16 channels, of which `channels` exist.
[[gnu::always_inline]] inline __m128i LoadBytes(const uint8_t* from, int channels) {
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

struct Block {
  const DepthwiseCall& call;
  __m128i flip;

  [[gnu::always_inline]] inline __m256i LoadTap(const DepthwiseTap& tap, int64_t first) const {
    const int64_t column = first + tap.column;
    const bool inside = column >= 0 && column < call.columns;
    const uint8_t* from = inside ? tap.row + column * tap.step : call.padding;
    return _mm256_cvtepu8_epi16(_mm_xor_si128(LoadBytes(from, call.channels), flip));
  }

  /// As requantize.hpp says; `at` counts registers.
  [[gnu::always_inline]] inline __m256i Rounded(__m256i sum, int at) const {
    if (!call.fixed_point) {
      const __m256 factor = _mm256_loadu_ps(static_cast<const float*>(call.multiplier) + at * 8);
      return _mm256_cvtps_epi32(_mm256_mul_ps(_mm256_cvtepi32_ps(sum), factor));
    }
    const __m256i multiplier = Load(static_cast<const int32_t*>(call.multiplier) + at * 8);
    const __m256i right = Load(call.right + at * 8);
    // With x twice as large, the upper halves of the products are what is wanted.
    const __m256i doubled = _mm256_sllv_epi32(sum, Load(call.doubling + at * 8));
    const __m256i rounder = _mm256_set1_epi64x(int64_t{1} << 31);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(doubled, multiplier), rounder);
    const __m256i odd = _mm256_add_epi64(
        _mm256_mul_epi32(_mm256_srli_epi64(doubled, 32), _mm256_srli_epi64(multiplier, 32)),
        rounder);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
    const __m256i biased = _mm256_add_epi32(high, Load(call.half + at * 8));
    const __m256i away = _mm256_and_si256(_mm256_srai_epi32(high, 31), Load(call.away + at * 8));
    return _mm256_srav_epi32(_mm256_add_epi32(biased, away), right);
  }

  [[gnu::always_inline]] inline void ApplyEpilogue(const Sums& sums, uint8_t* y) const {
    const ByteOutput& output = call.output;
    const __m256i words =
        _mm256_adds_epi16(_mm256_packs_epi32(Rounded(sums.low, 0), Rounded(sums.high, 1)),
                          _mm256_set1_epi16(static_cast<short>(output.zero_point)));
    __m128i bytes =
        _mm_packs_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1));
    bytes = _mm_max_epi8(bytes, _mm_set1_epi8(static_cast<char>(output.min)));
    bytes = _mm_min_epi8(bytes, _mm_set1_epi8(static_cast<char>(output.max)));
    bytes = _mm_xor_si128(bytes, _mm_set1_epi8(static_cast<char>(output.flip)));
    if (call.channels >= kBlock) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(y), bytes);
      return;
    }
    alignas(16) uint8_t stored[kBlock];
    _mm_store_si128(reinterpret_cast<__m128i*>(stored), bytes);
    if (call.channels >= kHalf) {
      std::memcpy(y, stored, kHalf);
      std::memcpy(y + call.channels - kHalf, stored + call.channels - kHalf, kHalf);
      return;
    }
    for (int i = 0; i < call.channels; ++i) y[i] = stored[i];
  }
};

void RunDepthwise(const DepthwiseCall& call) {
  const Block block = {call, _mm_set1_epi8(static_cast<char>(call.x_flip))};
  for (int pixel = 0; pixel < call.pixels; ++pixel) {
    const int64_t column = call.first + pixel * call.stride;
    Sums sums = {Load(call.bias), Load(call.bias + 8)};
    const DepthwiseTap* tap = call.taps;
    const auto* weights = static_cast<const int16_t*>(call.weights);
    for (int group = 0; group < call.groups; ++group, tap += 2, weights += 2 * kBlock) {
      const __m256i a = block.LoadTap(tap[0], column);
      const __m256i b = block.LoadTap(tap[1], column);
      const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), Load(weights));
      const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), Load(weights + kBlock));
      sums.low = _mm256_add_epi32(sums.low, low);
      sums.high = _mm256_add_epi32(sums.high, high);
    }
    block.ApplyEpilogue(sums, call.y + pixel * call.y_step);
  }
}

/// Where all 16 channels exist, the compiler knows it, and a tap is one load.
template <bool kWhole>
[[gnu::always_inline]] inline void RunWindowOf(const DepthwiseCall& call) {
  const Block block = {call, _mm_set1_epi8(static_cast<char>(call.x_flip))};
  const int channels = kWhole ? kBlock : call.channels;
  const auto load = [&](const uint8_t* from) {
    return _mm256_cvtepu8_epi16(_mm_xor_si128(LoadBytes(from, channels), block.flip));
  };
  Sums sums = {Load(call.bias), Load(call.bias + 8)};
  const uint8_t* from = call.window;
  const auto* weights = static_cast<const int16_t*>(call.weights);
  const auto add = [&](__m256i a, __m256i b) {
    const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi16(a, b), Load(weights));
    const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi16(a, b), Load(weights + kBlock));
    sums.low = _mm256_add_epi32(sums.low, low);
    sums.high = _mm256_add_epi32(sums.high, high);
    weights += 2 * kBlock;
  };
  for (int tap = 0; tap + 2 <= call.window_taps; tap += 2, from += 2 * call.window_step) {
    add(load(from), load(from + call.window_step));
  }
  if (call.window_taps % 2 != 0) add(load(from), _mm256_setzero_si256());
  block.ApplyEpilogue(sums, call.y);
}

void RunDepthwiseWindow(const DepthwiseCall& call) {
  call.channels >= kBlock ? RunWindowOf<true>(call) : RunWindowOf<false>(call);
}

}  // namespace

const ByteRoutines kAvx2ByteRoutines = {
    "avx2",
    {/*vectors=*/2, /*group=*/2, /*is_byte=*/false, /*is_column=*/false, /*widest=*/16},
    RunDepthwise,
    RunDepthwiseWindow,
    avx2::RunLookup,
    avx2::RunBinary,
    avx2::RunQuantize,
    avx2::RunDequantize,
    avx2::RunLayerNorm,
    avx2::RunMaxPool,
    avx2::RunSumPool,
    avx2::RunInterleave3,
};

}  // namespace tenon::cpu::q8
