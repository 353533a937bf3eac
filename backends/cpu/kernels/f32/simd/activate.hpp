// Applies activations that are no clamp to floats that were just stored.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

using Integers = int32_t __attribute__((vector_size(kLanes * 4)));
using Floats = Vector<kLanes>;

struct ReducedExp {
  Integers exponent;
  Floats mantissa;
};

/// Returns exp(x + tail) as mantissa * 2^exponent for a small tail, by the reduction and the
/// polynomial of portable/math.hpp.
[[gnu::always_inline]] static inline ReducedExp ReduceExp(Floats x, Floats tail) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  const Floats shifted = x * 1.44269504F + kRounder;
  const Floats whole = shifted - kRounder;
  const Floats r = (x - whole * 0.693359375F) + whole * 2.12194440e-4F + tail;
  Floats p = r * 1.381447306e-3F + 8.368780836e-3F;
  p = p * r + 4.166839272e-2F;
  p = p * r + 1.666651964e-1F;
  p = p * r + 4.999999404e-1F;
  return {reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(kRounder - Floats{}),
          r * r * p + r + 1.0F};
}

/// Returns 2^exponent for -126 <= exponent <= 127.
[[gnu::always_inline]] static inline Floats PowerOfTwo(Integers exponent) {
  return reinterpret_cast<Floats>((exponent + 127) << 23);
}

/// Returns exp(x + tail) of |x| <= 87.
[[gnu::always_inline]] static inline Floats ExpOfModerate(Floats x, Floats tail = Floats{}) {
  const ReducedExp reduced = ReduceExp(x, tail);
  return reduced.mantissa * PowerOfTwo(reduced.exponent);
}

[[gnu::always_inline]] static inline Floats Sigmoid(Floats x) {
  const Bounds<kLanes> moderate(-87.0F, 87.0F);
  return 1.0F / (1.0F + ExpOfModerate(-moderate.Clamp(x)));
}

[[gnu::always_inline]] static inline Floats Magnitude(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(x) & 0x7FFFFFFF);
}

[[gnu::always_inline]] static inline Floats WithSignOf(Floats magnitude, Floats sign) {
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(magnitude) |
                                  (reinterpret_cast<Integers>(sign) & INT32_MIN));
}

[[gnu::always_inline]] static inline Floats AtMost(Floats x, float most) {
  const Floats bound = Floats{} + most;
  return x > bound ? bound : x;
}

[[gnu::always_inline]] static inline Floats Tanh(Floats x) {
  const Floats magnitude = AtMost(Magnitude(x), 20.0F);
  const Floats far = 1.0F - 2.0F / (ExpOfModerate(magnitude + magnitude) + 1.0F);
  const Floats square = x * x;
  Floats p = square * -5.704989191e-3F + 2.063908987e-2F;
  p = p * square - 5.373971537e-2F;
  p = p * square + 1.333144158e-1F;
  p = p * square - 3.333328068e-1F;
  return magnitude > Floats{} + 0.625F ? WithSignOf(far, x) : x + x * square * p;
}

/// Returns erfc(z) exp(z^2) for z >= 0 as t exp(p): see portable/math.hpp.
struct ErfcFactor {
  Floats t;
  Floats p;
};
[[gnu::always_inline]] static inline ErfcFactor ErfcFactorOf(Floats z) {
  const Floats t = 2.0F / (z + 2.0F);
  Floats p = t * 1.443865895e-1F - 6.780869365e-1F;
  p = p * t + 1.150911093e+0F;
  p = p * t - 6.895028353e-1F;
  p = p * t - 8.487426490e-2F;
  p = p * t + 3.086873563e-3F;
  p = p * t + 3.423094004e-2F;
  p = p * t + 3.866589665e-1F;
  p = p * t + 9.986383319e-1F;
  p = p * t - 1.265448689e+0F;
  return {t, p};
}

/// Returns erfc(z) for z >= 0, where `high + tail` is -z^2; 0 where that is below the smallest
/// normal number.
[[gnu::always_inline]] static inline Floats ErfcFromSquare(Floats z, Floats high, Floats tail) {
  const ErfcFactor factor = ErfcFactorOf(z);
  const Floats sum = high + factor.p;
  const Floats lost = factor.p - (sum - high);
  const Floats lowest = Floats{} - 87.0F;
  const Floats exp = ExpOfModerate(sum < lowest ? lowest : sum, tail + lost);
  return sum < lowest ? Floats{} : factor.t * exp;
}

/// The leading 12 bits of x: their square is exact.
[[gnu::always_inline]] static inline Floats LeadingBits(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(x) & ~0xFFF);
}

[[gnu::always_inline]] static inline Floats Erf(Floats x) {
  const Floats z = AtMost(Magnitude(x), 9.0F);
  const Floats leading = LeadingBits(z);
  const Floats tail = (leading - z) * (leading + z);
  const Floats far = 1.0F - ErfcFromSquare(z, -(leading * leading), tail);
  const Floats square = x * x;
  Floats p = square * -6.535225548e-4F + 5.085128825e-3F;
  p = p * square - 2.682080492e-2F;
  p = p * square + 1.128311306e-1F;
  p = p * square - 3.761260211e-1F;
  p = p * square + 1.283791661e-1F;
  return z > Floats{} + 0.8F ? WithSignOf(far, x) : x + x * p;
}

[[gnu::always_inline]] static inline Floats Gelu(Floats x) {
  const Floats magnitude = AtMost(Magnitude(x), 14.5F);
  const Floats leading = LeadingBits(magnitude);
  const Floats tail = 0.5F * (leading - magnitude) * (leading + magnitude);
  const Floats half =
      0.5F * ErfcFromSquare(magnitude * 0.707106781F, -0.5F * (leading * leading), tail);
  const Floats probability = x < Floats{} ? half : 1.0F - half;
  // At minus infinity it is 0, not infinity times 0.
  return x < Floats{} - 14.5F ? Floats{} : x * probability;
}

/// Returns exp of any x: infinity above the largest number, and results below the smallest normal
/// one keep their absolute accuracy.
[[gnu::always_inline]] static inline Floats Exp(Floats x) {
  const Bounds<kLanes> range(-104.0F, 89.0F);
  const ReducedExp reduced = ReduceExp(range.Clamp(x), Floats{});
  // In two factors, because 2^exponent alone may leave the range of normal numbers.
  const Integers half = reduced.exponent >> 1;
  return reduced.mantissa * PowerOfTwo(half) * PowerOfTwo(reduced.exponent - half);
}

/// x tanh(log(1 + e)) of e = exp(x), in which no term cancels.
[[gnu::always_inline]] static inline Floats Mish(Floats x) {
  const Floats lowest = Floats{} - 87.0F;
  const Floats e = ExpOfModerate(AtMost(x < lowest ? lowest : x, 20.0F));
  const Floats n = e * (e + 2.0F);
  return x < lowest ? Floats{} : x * (n / (n + 2.0F));
}

/// x / (1 + exp(-x)). At minus infinity it is 0, not infinity times 0.
[[gnu::always_inline]] static inline Floats Silu(Floats x) {
  return x < Floats{} - 87.0F ? Floats{} : x * Sigmoid(x);
}

[[gnu::always_inline]] static inline Floats GeluTanh(Floats x) {
  // Below, it is less than the smallest normal number.
  const Floats gate = Sigmoid(x * 1.59576912F * (x * x * 0.044715F + 1.0F));
  return x < Floats{} - 10.2F ? Floats{} : x * gate;
}

[[gnu::always_inline]] static inline Floats HardSwish(Floats x) {
  const Bounds<kLanes> unit(0.0F, 1.0F);
  return x < Floats{} - 3.0F ? Floats{} : x * unit.Clamp(x * (1.0F / 6.0F) + 0.5F);
}

template <UnaryFunction kFunction>
[[gnu::always_inline]] static inline Floats Activated(Floats x, float a, float b) {
  if constexpr (kFunction == UnaryFunction::kLeakyRelu) return x < Floats{} ? x * a : x;
  if constexpr (kFunction == UnaryFunction::kHardSigmoid) {
    return Bounds<kLanes>(0.0F, 1.0F).Clamp(x * a + b);
  }
  if constexpr (kFunction == UnaryFunction::kHardSwish) return HardSwish(x);
  if constexpr (kFunction == UnaryFunction::kSigmoid) return Sigmoid(x);
  if constexpr (kFunction == UnaryFunction::kSilu) return Silu(x);
  if constexpr (kFunction == UnaryFunction::kTanh) return Tanh(x);
  if constexpr (kFunction == UnaryFunction::kErf) return Erf(x);
  if constexpr (kFunction == UnaryFunction::kGelu) return Gelu(x);
  if constexpr (kFunction == UnaryFunction::kGeluTanh) return GeluTanh(x);
  if constexpr (kFunction == UnaryFunction::kExp) return Exp(x);
  if constexpr (kFunction == UnaryFunction::kMish) return Mish(x);
}

template <UnaryFunction kFunction>
static void ActivateAll(const ActivateCall& call) {
  int i = 0;
  for (; i + kLanes <= call.count; i += kLanes) {
    Store<kLanes>(call.y + i, Activated<kFunction>(Load<kLanes>(call.x + i), call.a, call.b));
  }
  if (i < call.count) {
    const Floats last = LoadFirst<kLanes>(call.x + i, call.count - i);
    StoreFirst<kLanes>(call.y + i, Activated<kFunction>(last, call.a, call.b), call.count - i);
  }
}

static void RunActivate(const ActivateCall& call) {
  switch (call.function) {
#define TENON_VECTOR_FUNCTION(Kind) \
  case UnaryFunction::k##Kind:      \
    return ActivateAll<UnaryFunction::k##Kind>(call);
#include "backends/cpu/caps/vector_functions.inc"
    default:
      return;  // the caller asks for no other
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
