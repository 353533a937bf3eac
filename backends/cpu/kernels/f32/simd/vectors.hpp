// Defines vectors of floats as the compiler's own types, and loads, stores and clamps them.
//
// TENON_F32_ISA names the namespace, so that each instruction set has functions of its own, and
// TENON_VECTOR_LANES says how many floats a register contains.
#pragma once

#include "backends/cpu/kernels/f32/simd/routines.hpp"

#if defined(__AVX2__) && defined(__FMA__) && TENON_VECTOR_LANES == 8
#include <immintrin.h>
#define TENON_F32_INTRINSICS 1
#else
#define TENON_F32_INTRINSICS 0
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

/// Returns the first `count` lanes; the others are `rest`.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> LoadFirst(const float* from, int count,
                                                              float rest = 0.0F) {
  float lanes[kCount];
  for (float& lane : lanes) lane = rest;
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return Load<kCount>(lanes);
}

template <int kCount>
[[gnu::always_inline]] static inline void StoreFirst(float* to, Vector<kCount> values, int count) {
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
/// makes a comparison and a blend of it if `least` is a constant.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Raised(Vector<kCount> values,
                                                           Vector<kCount> least) {
#if TENON_F32_INTRINSICS
  if constexpr (kCount == kLanes) return _mm256_max_ps(least, values);
#endif
  return values < least ? least : values;
}

/// Returns values > most ? most : values.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Lowered(Vector<kCount> values,
                                                            Vector<kCount> most) {
#if TENON_F32_INTRINSICS
  if constexpr (kCount == kLanes) return _mm256_min_ps(most, values);
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

}  // namespace tenon::cpu::f32::TENON_F32_ISA
