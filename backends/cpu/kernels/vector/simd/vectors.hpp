// Vectors of floats as the compiler's own types, and how they are loaded, stored and clamped.
//
// TENON_VECTOR_ISA names the namespace, so that each instruction set has functions of its own, and
// TENON_VECTOR_LANES says how many floats a register holds.
#pragma once

#include "backends/cpu/kernels/vector/simd/routines.hpp"

#if !defined(TENON_VECTOR_ISA) || !defined(TENON_VECTOR_LANES)
#error "included by routines_*.cpp only"
#endif

#if defined(__clang__)
#define TENON_UNROLL _Pragma("clang loop unroll(full)")
#else
#define TENON_UNROLL _Pragma("GCC unroll 64")
#endif

namespace tenon::cpu::vector::TENON_VECTOR_ISA {

constexpr int kLanes = TENON_VECTOR_LANES;

template <int kCount>
struct VectorOf;
template <>
struct VectorOf<4> {
  using Type = float __attribute__((vector_size(16)));
  using Unaligned = float __attribute__((vector_size(16), aligned(4), may_alias));
};
template <>
struct VectorOf<8> {
  using Type = float __attribute__((vector_size(32)));
  using Unaligned = float __attribute__((vector_size(32), aligned(4), may_alias));
};
template <>
struct VectorOf<16> {
  using Type = float __attribute__((vector_size(64)));
  using Unaligned = float __attribute__((vector_size(64), aligned(4), may_alias));
};

template <int kCount>
using Vector = typename VectorOf<kCount>::Type;

template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Load(const float* from) {
  return *reinterpret_cast<const typename VectorOf<kCount>::Unaligned*>(from);
}

template <int kCount>
[[gnu::always_inline]] static inline void Store(float* to, Vector<kCount> values) {
  *reinterpret_cast<typename VectorOf<kCount>::Unaligned*>(to) = values;
}

/// The first `count` lanes; the others are 0.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> LoadFirst(const float* from, int count) {
  float lanes[kCount] = {};
  for (int i = 0; i < count; ++i) lanes[i] = from[i];
  return Load<kCount>(lanes);
}

template <int kCount>
[[gnu::always_inline]] static inline void StoreFirst(float* to, Vector<kCount> values, int count) {
  float lanes[kCount];
  Store<kCount>(lanes, values);
  for (int i = 0; i < count; ++i) to[i] = lanes[i];
}

/// min(max(values, low), high), in which NaN stays NaN.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> Clamp(Vector<kCount> values, float low,
                                                          float high) {
  const Vector<kCount> lows = low - Vector<kCount>{};
  const Vector<kCount> highs = high - Vector<kCount>{};
  const Vector<kCount> raised = values < lows ? lows : values;
  return raised > highs ? highs : raised;
}

}  // namespace tenon::cpu::vector::TENON_VECTOR_ISA
