// What the AVX2 GEMM makes of sums: rounding, and stores of as many outputs as there are channels.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/gemm_routines.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kLanes = 8;
constexpr int kBlock = 16;  // channels

/// Contains what turns rounded products into bytes, in every lane.
struct ByteBounds {
  explicit ByteBounds(const GemmEpilogue& epilogue)
      : zero_point(_mm256_set1_epi16(static_cast<int16_t>(epilogue.zero_point))),
        min(_mm256_set1_epi8(static_cast<int8_t>(epilogue.min))),
        max(_mm256_set1_epi8(static_cast<int8_t>(epilogue.max))),
        flip(_mm256_set1_epi32(static_cast<int32_t>(epilogue.flip))) {}

  /// Packs rounded products: 16 of one pixel, which are the lower half, and 16 of another.
  [[gnu::always_inline]] __m256i Pack(__m256i a, __m256i b, __m256i c, __m256i d) const {
    const __m256i first = _mm256_adds_epi16(_mm256_packs_epi32(a, b), zero_point);
    const __m256i second = _mm256_adds_epi16(_mm256_packs_epi32(c, d), zero_point);
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i bytes = _mm256_permutevar8x32_epi32(_mm256_packs_epi16(first, second), order);
    return _mm256_xor_si256(_mm256_min_epi8(_mm256_max_epi8(bytes, min), max), flip);
  }

  __m256i zero_point;
  __m256i min;
  __m256i max;
  __m256i flip;
};

[[gnu::always_inline]] inline __m256i HalfEven(const GemmGroup& group, int p, __m256i sums) {
  return _mm256_cvtps_epi32(
      _mm256_mul_ps(_mm256_cvtepi32_ps(sums), _mm256_load_ps(group.factor + p)));
}

/// As for AVX-512: what a factor a little too large and one a little too small agree on is exact.
[[gnu::always_inline]] inline __m256i FixedPoint(const GemmGroup& group, int p, __m256i sums,
                                                 __m256i& unlike) {
  const __m256 value = _mm256_cvtepi32_ps(sums);
  const __m256i sign = _mm256_and_si256(sums, _mm256_set1_epi32(INT32_MIN));
  const __m256 reach = _mm256_or_ps(_mm256_castsi256_ps(sign), _mm256_load_ps(group.offset + p));
  const __m256i high =
      _mm256_cvtps_epi32(_mm256_fmadd_ps(value, _mm256_load_ps(group.factor + p), reach));
  const __m256i low =
      _mm256_cvtps_epi32(_mm256_fmadd_ps(value, _mm256_load_ps(group.factor_below + p), reach));
  unlike = _mm256_or_si256(unlike, _mm256_xor_si256(high, low));
  return high;
}

/// Stores the first `count` of 16 bytes.
[[gnu::always_inline]] inline void StoreSome(__m128i bytes, int count, uint8_t* to) {
  if (count >= kBlock) return _mm_storeu_si128(reinterpret_cast<__m128i*>(to), bytes);
  if (count >= 8) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(to), bytes);
    to += 8;
    count -= 8;
    bytes = _mm_srli_si128(bytes, 8);
  }
  uint64_t left = static_cast<uint64_t>(_mm_cvtsi128_si64(bytes));
  if (count >= 4) {
    const auto four = static_cast<uint32_t>(left);
    std::memcpy(to, &four, sizeof four);
    to += 4;
    count -= 4;
    left >>= 32;
  }
  for (; count > 0; --count, left >>= 8) *to++ = static_cast<uint8_t>(left);
}

/// Stores the first `count` of 8 words.
[[gnu::always_inline]] inline void StoreSomeWords(__m256i words, int count, uint8_t* to) {
  if (count >= kLanes) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words);
  const __m256i order = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  _mm256_maskstore_epi32(reinterpret_cast<int*>(to),
                         _mm256_cmpgt_epi32(_mm256_set1_epi32(count), order), words);
}

}  // namespace
}  // namespace tenon::cpu::q8
