// Computes functions of vectors of floats.
#pragma once

#include "backends/cpu/kernels/f32/simd/function_tables.hpp"
#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

using Integers = int32_t __attribute__((vector_size(kLanes * 4)));
using Floats = Vector<kLanes>;

#if TENON_F32_AVX512
using Exponents = Floats;
#else
using Exponents = Integers;
#endif

/// Contains x as exponent * log(2) + rest.
struct SplitExp {
  Exponents exponent;
  Floats rest;
};

/// Rounds to an integer what it is added to: 1.5 * 2^23.
constexpr float kRounder = 12582912.0F;

/// Returns x - whole * log(2), with log(2) in two parts.
[[gnu::always_inline]] static inline Floats RestOfExp(Floats x, Floats whole) {
  return (x - whole * 0.693359375F) + whole * 2.12194440e-4F;
}

/// Splits x by the reduction of portable/math.hpp.
[[gnu::always_inline]] static inline SplitExp SplitOf(Floats x) {
#if TENON_F32_AVX512
  constexpr int kNearest = 8;  // _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC
  const Floats whole = _mm512_roundscale_ps(x * 1.44269504F, kNearest);
  return {whole, RestOfExp(x, whole)};
#else
  const Floats shifted = x * 1.44269504F + kRounder;
  const Floats whole = shifted - kRounder;
  return {reinterpret_cast<Integers>(shifted) - reinterpret_cast<Integers>(kRounder - Floats{}),
          RestOfExp(x, whole)};
#endif
}

/// Returns (exp(r) - 1) / r of a rest of half of log(2) at most, by the polynomial of
/// portable/math.hpp.
[[gnu::always_inline]] static inline Floats ExpSlopeOfRest(Floats r) {
  Floats p = r * 1.381447306e-3F + 8.368780836e-3F;
  p = p * r + 4.166839272e-2F;
  p = p * r + 1.666651964e-1F;
  p = p * r + 4.999999404e-1F;
  return p * r + 1.0F;
}

[[gnu::always_inline]] static inline Floats ExpOfRest(Floats r) {
  return ExpSlopeOfRest(r) * r + 1.0F;
}

/// Returns 2^exponent for -126 <= exponent <= 127, and infinity for 128.
[[gnu::always_inline]] static inline Floats PowerOfTwo(Integers exponent) {
  return reinterpret_cast<Floats>((exponent + 127) << 23);
}

/// Returns values * 2^exponent for -126 <= exponent <= 127; for 128 it may be infinity already.
[[gnu::always_inline]] static inline Floats Scaled(Floats values, Exponents exponent) {
#if TENON_F32_AVX512
  return _mm512_scalef_ps(values, exponent);
#else
  return values * PowerOfTwo(exponent);
#endif
}

/// Is where ExpOfModerate gives infinity: 1 / (1 + exp(kInfiniteExp)) is 0, and not the smallest
/// number of a clamped argument, which times a large one would be large.
constexpr float kInfiniteExp = 89.0F;

/// Returns exp(x) of -87 <= x <= kInfiniteExp; infinity where it is 2^127.5 or more.
[[gnu::always_inline]] static inline Floats ExpOfModerate(Floats x) {
  const SplitExp split = SplitOf(x);
  return Scaled(ExpOfRest(split.rest), split.exponent);
}

[[gnu::always_inline]] static inline Floats Magnitude(Floats x) {
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(x) & 0x7FFFFFFF);
}

[[gnu::always_inline]] static inline Floats WithSignOf(Floats magnitude, Floats sign) {
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(magnitude) |
                                  (reinterpret_cast<Integers>(sign) & INT32_MIN));
}

/// Returns x raised to `least`; NaN stays NaN.
[[gnu::always_inline]] static inline Floats AtLeast(Floats x, float least) {
  return Raised<kLanes>(x, Floats{} + least);
}

[[gnu::always_inline]] static inline Floats AtMost(Floats x, float most) {
  return Lowered<kLanes>(x, Floats{} + most);
}

#if TENON_F32_AVX512
/// Returns the table's function of 0 <= m <= table.last: two registers have a coefficient of all
/// cells, from which each lane takes its own. NaN stays NaN.
template <int kRows>
[[gnu::always_inline]] static inline Floats TailByTable(const FunctionTable<kRows>& table,
                                                        Floats m) {
  const Floats shifted = m * table.cells_per_unit + kRounder;
  // The product is not rounded, whatever the compiler fuses: far from zero so much of its argument
  // is many units in the last place of the function.
  const Floats rest = _mm512_fmsub_ps(m, Floats{} + table.cells_per_unit, shifted - kRounder);
  const auto cells = reinterpret_cast<__m512i>(shifted);  // the lowest five bits are looked at
  const auto coefficients = [&](int row) {
    const float* of_cells = table.rows[row];
    return Floats(_mm512_permutex2var_ps(Load<16>(of_cells), cells, Load<16>(of_cells + 16)));
  };
  Floats p = coefficients(kRows - 1);
  TENON_UNROLL
  for (int row = kRows - 2; row >= 0; --row) p = p * rest + coefficients(row);
  return p;
}

/// Returns `near`, but far(x) where x is below what the table has. What a lane gets does not depend
/// on the others.
template <int kRows, typename Far>
[[gnu::always_inline]] static inline Floats OrFarBelow(const FunctionTable<kRows>& table, Floats x,
                                                       Floats near, const Far& far) {
  const __mmask16 is_far = _mm512_cmp_ps_mask(x, Floats{} - table.last, _CMP_LT_OQ);
  if (__builtin_expect(static_cast<long>(is_far != 0), 0L) == 0) return near;
  return _mm512_mask_mov_ps(near, is_far, far(x));
}

/// Returns x * f(x) of a function with f(-x) = 1 - f(x), of whose tail there is a table.
template <int kRows, typename Far>
[[gnu::always_inline]] static inline Floats GatedByTable(const FunctionTable<kRows>& table,
                                                         Floats x, const Far& far) {
  const Floats m = AtMost(Magnitude(x), table.last);
  return OrFarBelow(table, x, AtLeast(x, 0.0F) - m * TailByTable(table, m), far);
}
#endif

[[gnu::always_inline]] static inline Floats SigmoidByExp(Floats x) {
  const Bounds<kLanes> moderate(-kInfiniteExp, 87.0F);
  return 1.0F / (1.0F + ExpOfModerate(-moderate.Clamp(x)));
}

/// Returns 1 / (1 + exp(x)) of x >= 0; beyond 17.6 it may be that of 17.6.
[[gnu::always_inline]] static inline Floats LogisticTail(Floats x) {
#if TENON_F32_AVX512
  return TailByTable(kLogisticTail, AtMost(x, kLogisticTail.last));
#else
  return 1.0F / (ExpOfModerate(AtMost(x, 40.0F)) + 1.0F);
#endif
}

[[gnu::always_inline]] static inline Floats Sigmoid(Floats x) {
#if TENON_F32_AVX512
  const Floats tail = LogisticTail(Magnitude(x));
  return OrFarBelow(kLogisticTail, x, x < Floats{} ? tail : 1.0F - tail, SigmoidByExp);
#else
  return SigmoidByExp(x);
#endif
}

[[gnu::always_inline]] static inline Floats Tanh(Floats x) {
  const Floats magnitude = Magnitude(x);
  const Floats half = LogisticTail(magnitude + magnitude);
  const Floats far = 1.0F - (half + half);
  const Floats square = x * x;
  Floats p = square * -5.704989191e-3F + 2.063908987e-2F;
  p = p * square - 5.373971537e-2F;
  p = p * square + 1.333144158e-1F;
  p = p * square - 3.333328068e-1F;
  return magnitude > Floats{} + 0.625F ? WithSignOf(far, x) : x + x * square * p;
}

/// Returns erfc(m / sqrt(2)) exp(m^2 / 2) / 2 for 0 <= m <= 13.3: a rational function, found by
/// Lawson's iteration (C. L. Lawson, "Contributions to the theory of linear least maximum
/// approximations", 1961), which is off by 5e-9 at most. No coefficient is negative, so that no
/// digits cancel.
[[gnu::always_inline]] static inline Floats ScaledTail(Floats m) {
  Floats p = m * 4.020144283e-03F + 3.998388195e-02F;
  p = p * m + 1.813059268e-01F;
  p = p * m + 4.356852408e-01F;
  p = p * m + 0.5F;
  Floats q = m * 1.007686411e-02F + 1.002321104e-01F;
  q = q * m + 4.643781274e-01F;
  q = q * m + 1.194480831e+00F;
  q = q * m + 1.669255400e+00F;
  q = q * m + 1.0F;
  return p / q;
}

/// Returns exp(scale * z^2) of a power of two as scale, without the error that the square's
/// rounding would bring: that of a large z is many units in the last place of the result.
[[gnu::always_inline]] static inline Floats ExpOfSquare(Floats z, float scale) {
#if TENON_F32_INTRINSICS
  const Floats scaled = z * scale;
  Floats rounded = scaled * z;
  KeepInRegister(rounded);  // else it might be fused into what follows, and not be rounded
#if TENON_F32_AVX512
  const Floats tail = _mm512_fmsub_ps(scaled, z, rounded);
#else
  const Floats tail = _mm256_fmsub_ps(scaled, z, rounded);
#endif
#else
  // The leading 12 bits of z, whose square is exact.
  const Floats leading = reinterpret_cast<Floats>(reinterpret_cast<Integers>(z) & ~0xFFF);
  const Floats rounded = scale * (leading * leading);
  const Floats tail = scale * (z - leading) * (z + leading);
#endif
  const SplitExp split = SplitOf(rounded);
  return Scaled(ExpOfRest(split.rest + tail), split.exponent);
}

/// Returns erfc(z) / 2 of z >= 0; beyond 4.4 it may be that of 4.4.
[[gnu::always_inline]] static inline Floats HalfOfErfc(Floats z) {
#if TENON_F32_AVX512
  return TailByTable(kNormalTail, AtMost(z * 1.41421356F, kNormalTail.last));
#else
  const Floats moderate = AtMost(z, 9.0F);
  return ScaledTail(moderate * 1.41421356F) * ExpOfSquare(moderate, -1.0F);
#endif
}

[[gnu::always_inline]] static inline Floats Erf(Floats x) {
  const Floats z = Magnitude(x);
  const Floats half = HalfOfErfc(z);
  const Floats far = 1.0F - (half + half);
  const Floats square = x * x;
  Floats p = square * -6.535225548e-4F + 5.085128825e-3F;
  p = p * square - 2.682080492e-2F;
  p = p * square + 1.128311306e-1F;
  p = p * square - 3.761260211e-1F;
  p = p * square + 1.283791661e-1F;
  return z > Floats{} + 0.8F ? WithSignOf(far, x) : x + x * p;
}

/// Below -13 it is no smaller than there, about -1e-37, so that minus infinity needs no case of its
/// own.
[[gnu::always_inline]] static inline Floats GeluByExp(Floats x) {
  const Floats m = AtMost(Magnitude(x), 13.0F);
  return AtLeast(x, 0.0F) - m * (ScaledTail(m) * ExpOfSquare(m, -0.5F));
}

[[gnu::always_inline]] static inline Floats Gelu(Floats x) {
#if TENON_F32_AVX512
  return GatedByTable(kNormalTail, x, GeluByExp);
#else
  return GeluByExp(x);
#endif
}

/// Returns exp of any x: infinity above the largest number, and results below the smallest normal
/// one keep their absolute accuracy.
[[gnu::always_inline]] static inline Floats Exp(Floats x) {
  const Bounds<kLanes> range(-104.0F, 89.0F);
  const SplitExp split = SplitOf(range.Clamp(x));
#if TENON_F32_AVX512
  return Scaled(ExpOfRest(split.rest), split.exponent);
#else
  // In two factors, because 2^exponent alone may leave the range of normal numbers.
  const Integers half = split.exponent >> 1;
  return ExpOfRest(split.rest) * PowerOfTwo(half) * PowerOfTwo(split.exponent - half);
#endif
}

/// x < 0 ? slope (exp(x) - 1) : x. With exp(x) = s (1 + q) it is s q + (s - 1), without a 1 + q in
/// which a small q would lose its digits.
[[gnu::always_inline]] static inline Floats Elu(Floats x, float slope) {
  const SplitExp split = SplitOf(AtLeast(AtMost(x, 0.0F), -87.0F));
  const Floats q = ExpSlopeOfRest(split.rest) * split.rest;
  const Floats s = Scaled(Floats{} + 1.0F, split.exponent);
  return x < Floats{} ? slope * (s * q + (s - 1.0F)) : x;
}

/// Returns log of x / 2^`shift` of a normal number, by the polynomial of portable/math.hpp.
[[gnu::always_inline]] static inline Floats LogOfNormal(Floats x, Integers shift) {
  constexpr int32_t kSqrtHalf = 0x3F3504F3;
  using Words = uint32_t __attribute__((vector_size(kLanes * 4)));
  const Words bits = reinterpret_cast<Words>(x) - uint32_t{kSqrtHalf};
  const Integers exponent = (reinterpret_cast<Integers>(bits) >> 23) - shift;
  const Floats f =
      reinterpret_cast<Floats>(reinterpret_cast<Integers>(bits & 0x7FFFFFU) + kSqrtHalf) - 1.0F;
  const Floats e = __builtin_convertvector(exponent, Floats);
  Floats p = f * 6.746699661e-2F - 1.167560145e-1F;
  p = p * f + 1.188810393e-1F;
  p = p * f - 1.240559444e-1F;
  p = p * f + 1.421956271e-1F;
  p = p * f - 1.666799635e-1F;
  p = p * f + 2.000211775e-1F;
  p = p * f - 2.500000894e-1F;
  p = p * f + 3.333331347e-1F;
  const Floats square = f * f;
  const Floats low = (f * square * p - e * 2.12194440e-4F) - 0.5F * square;
  return (low + f) + e * 0.693359375F;
}

/// The logarithm of portable/math.hpp.
[[gnu::always_inline]] static inline Floats Log(Floats x) {
  constexpr float kLeast = 1.17549435e-38F;  // that is normal
  constexpr float kMost = 3.40282347e38F;
  constexpr float kInfinity = __builtin_inff();
  const Integers is_subnormal = x < Floats{} + kLeast;
  const Floats scaled = is_subnormal != 0 ? x * 8388608.0F : x;  // 2^23
  Floats result = LogOfNormal(scaled, is_subnormal & 23);
  result = x > Floats{} + kMost ? x : result;
  result = x == Floats{} ? Floats{} - kInfinity : result;
  return x >= Floats{} ? result : Floats{} + __builtin_nanf("");
}

/// log(1 + exp(x)), of whose two parts one is max(x, 0).
[[gnu::always_inline]] static inline Floats Softplus(Floats x) {
  const Floats t = ExpOfModerate(AtLeast(-Magnitude(x), -87.0F));
  const Floats sum = 1.0F + t;
  return AtLeast(x, 0.0F) + (Log(sum) + (t - (sum - 1.0F)) / sum);
}

/// x tanh(log(1 + e)) of e = exp(x), in which no term cancels.
[[gnu::always_inline]] static inline Floats Mish(Floats x) {
  const Floats lowest = Floats{} - 87.0F;
  const Floats e = ExpOfModerate(AtMost(Raised<kLanes>(x, lowest), 20.0F));
  const Floats n = e * (e + 2.0F);
  return x < lowest ? Floats{} : x * (n / (n + 2.0F));
}

/// x / (1 + exp(-x)). It is raised to where the exponential is infinite, so that minus infinity
/// needs no case of its own.
[[gnu::always_inline]] static inline Floats SiluByExp(Floats x) {
  const Floats raised = AtLeast(x, -kInfiniteExp);
  return raised / (1.0F + ExpOfModerate(-AtMost(raised, 87.0F)));
}

[[gnu::always_inline]] static inline Floats Silu(Floats x) {
#if TENON_F32_AVX512
  return GatedByTable(kLogisticTail, x, SiluByExp);
#else
  return SiluByExp(x);
#endif
}

/// Below -10.2 it is less than the smallest normal number.
[[gnu::always_inline]] static inline Floats GeluTanhByExp(Floats x) {
  const Floats raised = AtLeast(x, -10.2F);
  const Floats slope = raised * raised * (0.044715F * 1.59576912F) + 1.59576912F;
  const Bounds<kLanes> moderate(-kInfiniteExp, 87.0F);
  return raised / (1.0F + ExpOfModerate(-moderate.Clamp(raised * slope)));
}

[[gnu::always_inline]] static inline Floats GeluTanh(Floats x) {
#if TENON_F32_AVX512
  return GatedByTable(kGeluTanhTail, x, GeluTanhByExp);
#else
  return GeluTanhByExp(x);
#endif
}

[[gnu::always_inline]] static inline Floats HardSwish(Floats x) {
  const Bounds<kLanes> unit(0.0F, 1.0F);
  return x < Floats{} - 3.0F ? Floats{} : x * unit.Clamp(x * (1.0F / 6.0F) + 0.5F);
}

/// Is the largest argument of whose quarters of a turn the products in Sine are exact.
constexpr float kMostAngle = 8192.0F;

/// Returns true if a lane is larger than kMostAngle, or NaN.
[[gnu::always_inline]] static inline bool HasFarAngle(Floats x) {
#if TENON_F32_AVX512
  return _mm512_cmp_ps_mask(Magnitude(x), Floats{} + kMostAngle, _CMP_NLE_UQ) != 0;
#elif TENON_F32_INTRINSICS
  return _mm256_movemask_ps(_mm256_cmp_ps(Magnitude(x), Floats{} + kMostAngle, _CMP_NLE_UQ)) != 0;
#else
  const Integers near = Magnitude(x) <= Floats{} + kMostAngle;
  int32_t all = -1;
  for (int i = 0; i < kLanes; ++i) all &= near[i];
  return all == 0;
#endif
}

/// Puts sines (kQuarter 0) or cosines (1) by the C library in place of angles. Here and below, the
/// functions of <cmath> would be inline with external linkage.
template <int kQuarter>
[[gnu::noinline]] static void SinesOfLibrary(float* angles) {
  for (int i = 0; i < kLanes; ++i) {
    angles[i] = kQuarter == 0 ? __builtin_sinf(angles[i]) : __builtin_cosf(angles[i]);
  }
}

/// Returns sin(x), or with a quarter of a turn more cos(x), after Cody and Waite: quarters of a
/// turn in three parts of few bits, whose products with whole numbers are exact, and a rest. The
/// polynomials are those of S. L. Moshier's Cephes library, off by 1.1e-8 and 1.8e-10 at most.
template <int kQuarter>
[[gnu::always_inline]] static inline Floats Sine(Floats x) {
  if (__builtin_expect(static_cast<long>(HasFarAngle(x)), 0L) != 0) {
    float angles[kLanes];
    Store<kLanes>(angles, x);
    SinesOfLibrary<kQuarter>(angles);
    return Load<kLanes>(angles);
  }
  const Floats shifted = x * 0.636619772F + kRounder;
  const Floats whole = shifted - kRounder;
  Floats r = x - whole * 1.5703125F;
  r = r - whole * 4.8351287841796875e-4F;
  r = r - whole * 3.1385570764541626e-7F;
  r = r - whole * 6.0771006e-11F;
  const Integers quarter = reinterpret_cast<Integers>(shifted) + kQuarter;
  const Floats square = r * r;
  Floats sine = square * -1.9515295891e-4F + 8.3321608736e-3F;
  sine = sine * square - 1.6666654611e-1F;
  sine = sine * square * r + r;
  Floats cosine = square * 2.443315711809948e-5F - 1.388731625493765e-3F;
  cosine = cosine * square + 4.166664568298827e-2F;
  cosine = cosine * square * square + (1.0F - 0.5F * square);
  const Floats magnitude = (quarter & 1) != 0 ? cosine : sine;
  const Integers flips = (quarter & 2) << 30;
  return reinterpret_cast<Floats>(reinterpret_cast<Integers>(magnitude) ^ flips);
}

/// Rounds to whole numbers: down, up, or to the nearest, halves to even.
template <UnaryFunction kFunction>
[[gnu::always_inline]] static inline Floats Whole(Floats x) {
#if TENON_F32_INTRINSICS
  // _MM_FROUND_TO_NEG_INF, _TO_POS_INF and _TO_NEAREST_INT, each with _MM_FROUND_NO_EXC
  constexpr int kMode = kFunction == UnaryFunction::kFloor  ? 9
                        : kFunction == UnaryFunction::kCeil ? 10
                                                            : 8;
#if TENON_F32_AVX512
  return _mm512_roundscale_ps(x, kMode);
#else
  return _mm256_round_ps(x, kMode);
#endif
#else
  Floats y;
  for (int i = 0; i < kLanes; ++i) {
    y[i] = kFunction == UnaryFunction::kFloor  ? __builtin_floorf(x[i])
           : kFunction == UnaryFunction::kCeil ? __builtin_ceilf(x[i])
                                               : __builtin_nearbyintf(x[i]);
  }
  return y;
#endif
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
  if constexpr (kFunction == UnaryFunction::kLog) return Log(x);
  if constexpr (kFunction == UnaryFunction::kElu) return Elu(x, a);
  if constexpr (kFunction == UnaryFunction::kSelu) return b * Elu(x, a);
  if constexpr (kFunction == UnaryFunction::kSoftplus) return Softplus(x);
  if constexpr (kFunction == UnaryFunction::kMish) return Mish(x);
  if constexpr (kFunction == UnaryFunction::kSin) return Sine<0>(x);
  if constexpr (kFunction == UnaryFunction::kCos) return Sine<1>(x);
  if constexpr (kFunction == UnaryFunction::kFloor || kFunction == UnaryFunction::kCeil ||
                kFunction == UnaryFunction::kRound) {
    return Whole<kFunction>(x);
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
