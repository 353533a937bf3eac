// Gives registers of 512, 256 and 128 bits the same names, for AVX-512 with VNNI. Only
// routines_avx512.cpp includes it.
#pragma once

#include <immintrin.h>

#include <cstdint>

#define TENON_LANES [[gnu::always_inline]] static inline
// Defines one operation on two registers for every width.
#define TENON_LANES_BINARY(Name, operation)                                           \
  TENON_LANES __m512i Name(__m512i x, __m512i y) { return _mm512_##operation(x, y); } \
  TENON_LANES __m256i Name(__m256i x, __m256i y) { return _mm256_##operation(x, y); } \
  TENON_LANES __m128i Name(__m128i x, __m128i y) { return _mm_##operation(x, y); }

namespace tenon::cpu::q8::avx512 {

TENON_LANES_BINARY(Low8, unpacklo_epi8)
TENON_LANES_BINARY(High8, unpackhi_epi8)
TENON_LANES_BINARY(Low16, unpacklo_epi16)
TENON_LANES_BINARY(High16, unpackhi_epi16)
TENON_LANES_BINARY(Pack32, packs_epi32)
TENON_LANES_BINARY(Pack16, packs_epi16)
TENON_LANES_BINARY(AddSaturated16, adds_epi16)
TENON_LANES_BINARY(Max8, max_epi8)
TENON_LANES_BINARY(Min8, min_epi8)
TENON_LANES_BINARY(Add32, add_epi32)
TENON_LANES_BINARY(Add64, add_epi64)
TENON_LANES_BINARY(ShiftLeft, sllv_epi32)
TENON_LANES_BINARY(ShiftRightSigned, srav_epi32)
TENON_LANES_BINARY(MultiplyEven, mul_epi32)

/// Takes the odd elements of each four, each of them twice.
constexpr _MM_PERM_ENUM kOddTwice = _MM_PERM_DDBB;

/// Gives what the compiler cannot tell from a register's type.
template <typename V>
struct Register;

// Sums of four products of bytes, u8 by i8, are added to each sum.
#define TENON_LANES_REGISTER(V, FloatsT, MaskT, prefix, bits)                                      \
  TENON_LANES V Dot(V sums, V x, V w) { return prefix##_dpbusd_epi32(sums, x, w); }                \
  TENON_LANES FloatsT ToFloats(V x) { return prefix##_cvtepi32_ps(x); }                            \
  TENON_LANES V ToIntegers(FloatsT x) { return prefix##_cvtps_epi32(x); }                          \
  TENON_LANES V OddOf(V x) { return prefix##_srli_epi64(x, 32); }                                  \
  /* Of the products of even and of odd elements. */                                               \
  TENON_LANES V UpperHalves(V even, V odd) {                                                       \
    return prefix##_mask_shuffle_epi32(                                                            \
        odd, static_cast<__mmask16>(0x5555 & ((1 << (bits / 32)) - 1)), even, kOddTwice);          \
  }                                                                                                \
  TENON_LANES V AddWhereNegative(V x, V sign, V y) {                                               \
    return prefix##_mask_add_epi32(x, prefix##_movepi32_mask(sign), x, y);                         \
  }                                                                                                \
  TENON_LANES void Store(void* p, V x) { prefix##_storeu_si##bits(static_cast<V*>(p), x); }        \
  TENON_LANES void StoreFirst(void* p, MaskT mask, V x) { prefix##_mask_storeu_epi8(p, mask, x); } \
  template <>                                                                                      \
  struct Register<V> {                                                                             \
    using Floats = FloatsT;                                                                        \
    using Mask = MaskT;                                                                            \
    static constexpr int kBytes = bits / 8;                                                        \
    TENON_LANES V Load(const void* p) {                                                            \
      return prefix##_loadu_si##bits(static_cast<const V*>(p));                                    \
    }                                                                                              \
    TENON_LANES V LoadFirst(MaskT mask, const void* p) {                                           \
      return prefix##_maskz_loadu_epi8(mask, p);                                                   \
    }                                                                                              \
    TENON_LANES Floats LoadFloats(const void* p) {                                                 \
      return prefix##_loadu_ps(static_cast<const float*>(p));                                      \
    }                                                                                              \
    TENON_LANES V Zeros() { return prefix##_setzero_si##bits(); }                                  \
    TENON_LANES V All8(int x) { return prefix##_set1_epi8(static_cast<char>(x)); }                 \
    TENON_LANES V All16(int x) { return prefix##_set1_epi16(static_cast<short>(x)); }              \
    TENON_LANES V All32(int x) { return prefix##_set1_epi32(x); }                                  \
    TENON_LANES V All64(int64_t x) { return V{} + static_cast<long long>(x); }                     \
  };

TENON_LANES_REGISTER(__m512i, __m512, __mmask64, _mm512, 512)
TENON_LANES_REGISTER(__m256i, __m256, __mmask32, _mm256, 256)
TENON_LANES_REGISTER(__m128i, __m128, __mmask16, _mm, 128)

/// Contains the parameters of FixedPointProduct in registers. `odd_multiplier` has each odd element
/// one place before its place in `multiplier`; `doubling` is one more than the shift to the left.
/// `half` is 2^(right - 1) and `away` is -1, but both are 0 where `right` is 0.
template <typename V>
struct ShiftedMultiplier {
  V multiplier;
  V odd_multiplier;
  V doubling;
  V half;
  V right;
  V away;
};

/// Returns x * multiplier * 2^(left - right - 31) with two roundings, as FixedPointMultiply of
/// requantize.hpp does. x shifted by `doubling` is at most 2^31 - 1 in size, so that the upper
/// halves of the products are the result of the first rounding.
template <typename V>
[[gnu::always_inline]] static inline V FixedPointProduct(V x, const ShiftedMultiplier<V>& factor) {
  const V doubled = ShiftLeft(x, factor.doubling);
  const V rounder = Register<V>::All64(int64_t{1} << 31);
  const V even = Add64(MultiplyEven(doubled, factor.multiplier), rounder);
  const V odd = Add64(MultiplyEven(OddOf(doubled), factor.odd_multiplier), rounder);
  const V high = UpperHalves(even, odd);
  return ShiftRightSigned(AddWhereNegative(Add32(high, factor.half), high, factor.away),
                          factor.right);
}

#undef TENON_LANES_BINARY
#undef TENON_LANES_REGISTER

}  // namespace tenon::cpu::q8::avx512
