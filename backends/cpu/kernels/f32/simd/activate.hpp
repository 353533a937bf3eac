// Applies activations that are no clamp to floats that were just stored.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

using Integers = int32_t __attribute__((vector_size(kLanes * 4)));
using Floats = Vector<kLanes>;

/// Returns exp of |x| <= 88, by the reduction and the polynomial of portable/math.hpp.
[[gnu::always_inline]] static inline Floats ExpOfModerate(Floats x) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = x * 1.44269504F + kRounder;
  const Floats whole = shifted - kRounder;
  const Floats r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
  Floats p = r * 1.381447306e-3F + 8.368780836e-3F;
  p = p * r + 4.166839272e-2F;
  p = p * r + 1.666651964e-1F;
  p = p * r + 4.999999404e-1F;
  const Floats mantissa = r * r * p + r + 1.0F;
  const Integers exponent =
      reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(kRounder - Floats{});
  return mantissa * reinterpret_cast<Floats>((exponent + 127) << 23);
}

[[gnu::always_inline]] static inline Floats Sigmoid(Floats x) {
  const Bounds<kLanes> moderate(-87.0F, 87.0F);
  return 1.0F / (1.0F + ExpOfModerate(-moderate.Clamp(x)));
}

template <VectorActivation kFunction>
[[gnu::always_inline]] static inline Floats Activated(Floats x, float a, float b) {
  const Floats zeros = {};
  const Bounds<kLanes> unit(0.0F, 1.0F);
  if constexpr (kFunction == VectorActivation::kLeakyRelu) return x < zeros ? x * a : x;
  if constexpr (kFunction == VectorActivation::kHardSigmoid) return unit.Clamp(x * a + b);
  if constexpr (kFunction == VectorActivation::kSigmoid) return Sigmoid(x);
  // At minus infinity the next two are 0, not infinity times 0.
  if constexpr (kFunction == VectorActivation::kHardSwish) {
    return x < zeros - 3.0F ? zeros : x * unit.Clamp(x * (1.0F / 6.0F) + 0.5F);
  }
  return x < zeros - 87.0F ? zeros : x * Sigmoid(x);
}

template <VectorActivation kFunction>
static void ActivateAll(float a, float b, float* values, int count) {
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    Store<kLanes>(values + i, Activated<kFunction>(Load<kLanes>(values + i), a, b));
  }
  if (i < count) {
    const Floats last = Activated<kFunction>(LoadFirst<kLanes>(values + i, count - i), a, b);
    StoreFirst<kLanes>(values + i, last, count - i);
  }
}

static void RunActivate(VectorActivation function, float a, float b, float* values, int count) {
  switch (function) {
    case VectorActivation::kLeakyRelu:
      return ActivateAll<VectorActivation::kLeakyRelu>(a, b, values, count);
    case VectorActivation::kHardSwish:
      return ActivateAll<VectorActivation::kHardSwish>(a, b, values, count);
    case VectorActivation::kHardSigmoid:
      return ActivateAll<VectorActivation::kHardSigmoid>(a, b, values, count);
    case VectorActivation::kSigmoid:
      return ActivateAll<VectorActivation::kSigmoid>(a, b, values, count);
    case VectorActivation::kSilu:
      return ActivateAll<VectorActivation::kSilu>(a, b, values, count);
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
