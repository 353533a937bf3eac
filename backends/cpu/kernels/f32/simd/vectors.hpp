// Defines vectors of floats as the compiler's own types, and loads, stores and clamps them.
//
// TENON_F32_ISA names the namespace, so that each instruction set has functions of its own, and
// TENON_VECTOR_LANES says how many floats a register contains.
#pragma once

#include <type_traits>

#include "backends/cpu/kernels/f32/simd/routines.hpp"

#if defined(__AVX512F__) && defined(__AVX512VL__) && TENON_VECTOR_LANES == 16
#define TENON_F32_AVX512 1
#else
#define TENON_F32_AVX512 0
#endif
#if defined(__AVX2__) && defined(__FMA__) && (TENON_VECTOR_LANES == 8 || TENON_F32_AVX512)
#include <immintrin.h>
#define TENON_F32_INTRINSICS 1
#else
#define TENON_F32_INTRINSICS 0
#endif

#if defined(__aarch64__) && TENON_VECTOR_LANES == 4
#include <arm_neon.h>
#define TENON_F32_NEON 1
#else
#define TENON_F32_NEON 0
#endif

#if !defined(TENON_F32_ISA) || !defined(TENON_VECTOR_LANES)
#error "included by routines_*.cpp only"
#endif

#if defined(__clang__)
#define TENON_UNROLL _Pragma("clang loop unroll(full)")
#define TENON_NO_UNROLL _Pragma("clang loop unroll(disable)")
#else
#define TENON_UNROLL _Pragma("GCC unroll 64")
#define TENON_NO_UNROLL _Pragma("GCC unroll 1")
#endif

namespace tenon::cpu::f32::TENON_F32_ISA {

constexpr int kLanes = TENON_VECTOR_LANES;

template <int kCount>
struct VectorOf;
template <>
struct VectorOf<4> {
  using Type = float __attribute__((vector_size(16)));
  using Unaligned = float __attribute__((vector_size(16), aligned(4)));
};
template <>
struct VectorOf<8> {
  using Type = float __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4)));
};
template <>
struct VectorOf<16> {
  using Type = float __attribute__((vector_size(64)));
  using Unaligned = float __attribute__((vector_size(64), aligned(4)));
};

template <int kCount>
using Vector = typename VectorOf<kCount>::Type;

template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Load(const float* from) {
#if defined(__clang__)
  // Which forgets that a type is not aligned once a template names it.
  Vector<kCount> values;
  __builtin_memcpy(&values, from, sizeof values);
  return values;
#else
  return *reinterpret_cast<const typename VectorOf<kCount>::Unaligned*>(from);
#endif
}

template <int kCount>
[[gnu::always_inline]] static inline void Store(float* to, Vector<kCount> values) {
#if defined(__clang__)
  __builtin_memcpy(to, &values, sizeof values);
#else
  *reinterpret_cast<typename VectorOf<kCount>::Unaligned*>(to) = values;
#endif
}

/// Keeps a loaded vector in its register: otherwise the compiler loads it again for every use, as
/// the memory operand of a multiply-add.
template <typename V>
[[gnu::always_inline]] static inline void KeepInRegister(V& values) {
#if defined(__x86_64__)
  asm("" : "+v"(values));
#elif defined(__aarch64__)
  asm("" : "+w"(values));
#else
  (void)values;
#endif
}

/// Returns an address that the compiler knows nothing of: otherwise it would keep one running
/// address for each of the many that are a few steps from it, more than there are registers.
template <typename T>
[[gnu::always_inline]] static inline T* OneAddress(T* address) {
  asm("" : "+r"(address));
  return address;
}

#if TENON_F32_AVX512
template <int kCount>
using MaskOf = std::conditional_t<(kCount > 8), __mmask16, __mmask8>;
#elif TENON_F32_INTRINSICS
/// Returns lanes of ones, and zeros from lane `count` on.
[[gnu::always_inline]] static inline __m256i FirstLanes(int count) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}
#endif

/// Returns the first `count` lanes; the others are `rest`.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> LoadFirst(const float* from, int count,
                                                              float rest = 0.0F) {
#if TENON_F32_AVX512
  const Vector<kCount> rests = rest - Vector<kCount>{};
  const auto first = static_cast<MaskOf<kCount>>((1U << count) - 1U);
  if constexpr (kCount == 16) return _mm512_mask_loadu_ps(rests, first, from);
  if constexpr (kCount == 8) return _mm256_mask_loadu_ps(rests, first, from);
  if constexpr (kCount == 4) return _mm_mask_loadu_ps(rests, first, from);
#elif TENON_F32_INTRINSICS
  if constexpr (kCount == 8) {
    const __m256i first = FirstLanes(count);
    const __m256 values = _mm256_maskload_ps(from, first);
    if (rest == 0.0F) return values;
    return _mm256_blendv_ps(_mm256_set1_ps(rest), values, _mm256_castsi256_ps(first));
  }
  if constexpr (kCount == 4) {
    const __m128i first = _mm256_castsi256_si128(FirstLanes(count));
    const __m128 values = _mm_maskload_ps(from, first);
    if (rest == 0.0F) return values;
    return _mm_blendv_ps(_mm_set1_ps(rest), values, _mm_castsi128_ps(first));
  }
#endif
  float lanes[kCount];
  for (float& lane : lanes) lane = rest;
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return Load<kCount>(lanes);
}

template <int kCount>
[[gnu::always_inline]] static inline void StoreFirst(float* to, Vector<kCount> values, int count) {
#if TENON_F32_AVX512
  const auto first = static_cast<MaskOf<kCount>>((1U << count) - 1U);
  if constexpr (kCount == 16) return _mm512_mask_storeu_ps(to, first, values);
  if constexpr (kCount == 8) return _mm256_mask_storeu_ps(to, first, values);
  if constexpr (kCount == 4) return _mm_mask_storeu_ps(to, first, values);
#endif
  float lanes[kCount];
  Store<kCount>(lanes, values);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
}

/// Loads whole vectors, or only the first lanes of one.
template <int kCount, bool kPartial>
struct Lanes {
  int count;
  [[gnu::always_inline]] Vector<kCount> Get(const float* from) const {
    if constexpr (kPartial) return LoadFirst<kCount>(from, count);
    return Load<kCount>(from);
  }
  [[gnu::always_inline]] void Put(float* to, Vector<kCount> values) const {
    if constexpr (kPartial) return StoreFirst<kCount>(to, values, count);
    Store<kCount>(to, values);
  }
};

/// Returns values < least ? least : values, in which NaN stays NaN: one instruction, where GCC
/// makes a comparison and a blend of it. Of zeros of both signs NEON takes +0.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Raised(Vector<kCount> values,
                                                           Vector<kCount> least) {
#if TENON_F32_INTRINSICS
  if constexpr (kCount == 4) return _mm_max_ps(least, values);
  if constexpr (kCount == 8) return _mm256_max_ps(least, values);
#endif
#if TENON_F32_AVX512
  if constexpr (kCount == 16) return _mm512_max_ps(least, values);
#endif
#if TENON_F32_NEON
  if constexpr (kCount == 4) return vmaxq_f32(values, least);
#endif
  return values < least ? least : values;
}

/// Returns values > most ? most : values.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Lowered(Vector<kCount> values,
                                                            Vector<kCount> most) {
#if TENON_F32_INTRINSICS
  if constexpr (kCount == 4) return _mm_min_ps(most, values);
  if constexpr (kCount == 8) return _mm256_min_ps(most, values);
#endif
#if TENON_F32_AVX512
  if constexpr (kCount == 16) return _mm512_min_ps(most, values);
#endif
#if TENON_F32_NEON
  if constexpr (kCount == 4) return vminq_f32(values, most);
#endif
  return values > most ? most : values;
}

/// Contains the bounds of a clamp in every lane. It is made once, since the compiler must assume
/// that stores change the bounds of a call.
template <int kCount>
struct Bounds {
  [[gnu::always_inline]] Bounds(float low, float high)
      : lows(low - Vector<kCount>{}), highs(high - Vector<kCount>{}) {}

  /// Returns min(max(values, low), high), in which NaN stays NaN.
  [[gnu::always_inline]] Vector<kCount> Clamp(Vector<kCount> values) const {
    return Lowered<kCount>(Raised<kCount>(values, lows), highs);
  }

  Vector<kCount> lows;
  Vector<kCount> highs;
};

/// Joins all lanes by `join`, those of the upper half to the lower, until one is left.
template <typename Join>
[[gnu::always_inline]] static inline float FoldLanes(Vector<kLanes> values, const Join& join) {
#if TENON_F32_INTRINSICS
#if TENON_F32_AVX512
  const Vector<8> eight =
      join(Vector<8>(_mm512_castps512_ps256(values)), Vector<8>(_mm512_extractf32x8_ps(values, 1)));
#else
  const Vector<8> eight = values;
#endif
  const Vector<4> four =
      join(Vector<4>(_mm256_castps256_ps128(eight)), Vector<4>(_mm256_extractf128_ps(eight, 1)));
  const Vector<4> two = join(four, Vector<4>(_mm_movehl_ps(four, four)));
  return join(two[0], two[1]);
#else
  float lanes[kLanes];
  Store<kLanes>(lanes, values);
  for (int step = kLanes / 2; step > 0; step /= 2) {
    for (int i = 0; i < step; ++i) lanes[i] = join(lanes[i], lanes[i + step]);
  }
  return lanes[0];
#endif
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
