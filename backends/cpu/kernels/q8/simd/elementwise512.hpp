// Adds and multiplies bytes, and makes bytes of floats, 64 at a time. Calls whose values might
// leave the range of a conversion use elementwise.hpp.
#pragma once

#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/lanes512.hpp"

namespace tenon::cpu::q8::avx512 {

/// Contains 64 elements as 32-bit integers (or floats), in the order in which Narrowed takes them.
template <typename V>
struct Quarters {
  V a;
  V b;
  V c;
  V d;
};

using WideIntegers = Quarters<__m512i>;
using WideFloats = Quarters<__m512>;

/// Returns bytes of i8 less `zero_point`.
[[gnu::always_inline]] static inline WideIntegers Widened(__m512i bytes, __m512i zero_point) {
  const __m512i zeros = _mm512_setzero_si512();
  const __m512i low = Low8(zeros, bytes);
  const __m512i high = High8(zeros, bytes);
  const auto widen = [&](__m512i x) {
    return _mm512_sub_epi32(_mm512_srai_epi32(x, 24), zero_point);
  };
  return {widen(Low16(zeros, low)), widen(High16(zeros, low)), widen(Low16(zeros, high)),
          widen(High16(zeros, high))};
}

/// Makes the output's bytes from rounded results.
struct Narrow {
  __m512i zero_point;
  __m512i least;
  __m512i most;
  __m512i flip;

  [[gnu::always_inline]] explicit Narrow(const ByteOutput& output)
      : zero_point(_mm512_set1_epi16(static_cast<short>(output.zero_point))),
        least(_mm512_set1_epi8(static_cast<char>(output.min))),
        most(_mm512_set1_epi8(static_cast<char>(output.max))),
        flip(_mm512_set1_epi8(static_cast<char>(output.flip))) {}

  [[gnu::always_inline]] __m512i Of(const WideIntegers& x) const {
    const __m512i low = AddSaturated16(Pack32(x.a, x.b), zero_point);
    const __m512i high = AddSaturated16(Pack32(x.c, x.d), zero_point);
    return Min8(Max8(Pack16(low, high), least), most) ^ flip;
  }

  [[gnu::always_inline]] __m128i Of(__m512i x) const {
    const __m256i words =
        AddSaturated16(_mm512_cvtsepi32_epi16(x), _mm512_castsi512_si256(zero_point));
    const __m128i bytes = Max8(_mm256_cvtsepi16_epi8(words), _mm512_castsi512_si128(least));
    return Min8(bytes, _mm512_castsi512_si128(most)) ^ _mm512_castsi512_si128(flip);
  }
};

template <typename X, typename Function>
[[gnu::always_inline]] static inline auto Each(const X& x, const Function& f) {
  return Quarters<decltype(f(x.a))>{f(x.a), f(x.b), f(x.c), f(x.d)};
}

template <typename X, typename Function>
[[gnu::always_inline]] static inline auto Each(const X& x, const X& y, const Function& f) {
  return Quarters<decltype(f(x.a, y.a))>{f(x.a, y.a), f(x.b, y.b), f(x.c, y.c), f(x.d, y.d)};
}

/// Loads up to 16 bytes, i8 but for `flip`, as integers less `zero_point`.
[[gnu::always_inline]] static inline __m512i LoadSixteen(__mmask16 present, const uint8_t* from,
                                                         __m128i flip, __m512i zero_point) {
  const __m128i bytes = _mm_maskz_loadu_epi8(present, from) ^ flip;
  return _mm512_sub_epi32(_mm512_cvtepi8_epi32(bytes), zero_point);
}

/// Computes z = function(x, y); the function takes integers less their zero points, 16 of each, and
/// returns rounded ones.
template <typename Function>
[[gnu::always_inline]] static inline void MapSixtyFour(const BinaryCall& call,
                                                       const Function& function) {
  using R = Register<__m512i>;
  constexpr int kFew = 32;  // more take as long as 64
  const __m512i x_flip = R::All8(call.x_flip);
  const __m512i y_flip = R::All8(call.y_flip);
  const __m512i x_zero = R::All32(call.x_zero_point);
  const __m512i y_zero = R::All32(call.y_zero_point);
  const Narrow narrow(call.output);
  int i = 0;
  for (; i + 64 <= call.count; i += 64) {
    const WideIntegers x = Widened(R::Load(call.x + i) ^ x_flip, x_zero);
    const WideIntegers y = Widened(R::Load(call.y + i) ^ y_flip, y_zero);
    Store(call.z + i, narrow.Of(Each(x, y, function)));
  }
  const int left = call.count - i;
  if (left > kFew) {
    const __mmask64 rest = (__mmask64{1} << left) - 1;
    const WideIntegers x = Widened(R::LoadFirst(rest, call.x + i) ^ x_flip, x_zero);
    const WideIntegers y = Widened(R::LoadFirst(rest, call.y + i) ^ y_flip, y_zero);
    return StoreFirst(call.z + i, rest, narrow.Of(Each(x, y, function)));
  }
  for (; i < call.count; i += 16) {
    const int count = call.count - i < 16 ? call.count - i : 16;
    const auto present = static_cast<__mmask16>((1U << count) - 1);
    const __m512i z =
        function(LoadSixteen(present, call.x + i, _mm512_castsi512_si128(x_flip), x_zero),
                 LoadSixteen(present, call.y + i, _mm512_castsi512_si128(y_flip), y_zero));
    StoreFirst(call.z + i, present, narrow.Of(z));
  }
}

/// Returns whether all results are far inside the integers of a conversion and no NaN arises on the
/// way.
[[gnu::always_inline]] static inline bool AreTameFloats(const BinaryCall& call) {
  const float x = 255.0F * __builtin_fabsf(call.x_scale);
  const float y = 255.0F * __builtin_fabsf(call.y_scale);
  const float most = call.function == ByteFunction::kMultiply ? x * y : x + y;
  return most / __builtin_fabsf(call.z_scale) < 1048576.0F;  // false for NaN
}

template <bool kAdd>
static void SumOfFloats(const BinaryCall& call) {
  const __m512 x_scale = _mm512_set1_ps(call.x_scale);
  const __m512 y_scale = _mm512_set1_ps(call.y_scale);
  const __m512 z_scale = _mm512_set1_ps(call.z_scale);
  MapSixtyFour(call, [&](__m512i left, __m512i right) {
    const __m512 scaled_left = ToFloats(left) * x_scale;
    const __m512 scaled_right = ToFloats(right) * y_scale;
    const __m512 sum = kAdd ? scaled_left + scaled_right : scaled_left - scaled_right;
    return ToIntegers(sum / z_scale);
  });
}

using Factor = ShiftedMultiplier<__m512i>;

/// Returns `factor` with a further shift to the left.
[[gnu::always_inline]] static inline Factor MakeFactor(const FixedPointFactor& factor,
                                                       int32_t left_shift) {
  const __m512i multiplier = _mm512_set1_epi32(factor.multiplier);
  return {multiplier,
          multiplier,
          _mm512_set1_epi32(factor.left + left_shift + 1),
          _mm512_set1_epi32(factor.right == 0 ? 0 : 1 << (factor.right - 1)),
          _mm512_set1_epi32(factor.right),
          _mm512_set1_epi32(factor.right == 0 ? 0 : -1)};
}

template <bool kAdd>
static void SumInFixedPoint(const BinaryCall& call) {
  const Factor x_factor = MakeFactor(call.x_factor, call.left_shift);
  const Factor y_factor = MakeFactor(call.y_factor, call.left_shift);
  const Factor z_factor = MakeFactor(call.z_factor, 0);
  MapSixtyFour(call, [&](__m512i left, __m512i right) {
    const __m512i scaled_left = FixedPointProduct(left, x_factor);
    const __m512i scaled_right = FixedPointProduct(right, y_factor);
    const __m512i sum =
        kAdd ? Add32(scaled_left, scaled_right) : _mm512_sub_epi32(scaled_left, scaled_right);
    return FixedPointProduct(sum, z_factor);
  });
}

static void ProductOfFloats(const BinaryCall& call) {
  const __m512 x_scale = _mm512_set1_ps(call.x_scale);
  const __m512 y_scale = _mm512_set1_ps(call.y_scale);
  const __m512 z_scale = _mm512_set1_ps(call.z_scale);
  MapSixtyFour(call, [&](__m512i left, __m512i right) {
    return ToIntegers((ToFloats(left) * x_scale) * (ToFloats(right) * y_scale) / z_scale);
  });
}

static void ProductInFixedPoint(const BinaryCall& call) {
  const Factor z_factor = MakeFactor(call.z_factor, 0);
  MapSixtyFour(call, [&](__m512i left, __m512i right) {
    return FixedPointProduct(_mm512_mullo_epi32(left, right), z_factor);
  });
}

static void RunBinary512(const BinaryCall& call) {
  const bool add = call.function == ByteFunction::kAdd;
  const bool tame = call.fixed_point ? IsTameFixedPoint(call) : AreTameFloats(call);
  if (!tame) return RunBinary(call);
  if (call.function == ByteFunction::kMultiply) {
    return call.fixed_point ? ProductInFixedPoint(call) : ProductOfFloats(call);
  }
  if (call.fixed_point) return add ? SumInFixedPoint<true>(call) : SumInFixedPoint<false>(call);
  add ? SumOfFloats<true>(call) : SumOfFloats<false>(call);
}

/// Rounds the quotients of 16 floats: NaN gives 0, and values below the integers saturate by
/// themselves.
[[gnu::always_inline]] static inline __m512i RoundedQuotient(__m512 quotient) {
  const __mmask16 numbers = _mm512_cmp_ps_mask(quotient, quotient, _CMP_ORD_Q);
  const __m512 bounded = _mm512_maskz_min_ps(numbers, quotient, _mm512_set1_ps(1048576.0F));
  return ToIntegers(bounded);
}

template <typename Quotient>
[[gnu::always_inline]] static inline void QuantizeAll(const QuantizeCall& call,
                                                      const Quotient& quotient) {
  const Narrow narrow(call.output);
  int i = 0;
  for (; i + 64 <= call.count; i += 64) {
    // This is Widened's order: each register contains every fourth quarter of the 128-bit lanes.
    const __m512 a = _mm512_loadu_ps(call.x + i);
    const __m512 b = _mm512_loadu_ps(call.x + i + 16);
    const __m512 c = _mm512_loadu_ps(call.x + i + 32);
    const __m512 d = _mm512_loadu_ps(call.x + i + 48);
    const WideIntegers rounded =
        Each(WideFloats{a, b, c, d}, [&](__m512 x) { return RoundedQuotient(quotient(x)); });
    // Groups of 4 bytes are ordered by quarters: 0 4 8 12 of each register come first.
    const __m512i order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    Store(call.y + i, _mm512_permutexvar_epi32(order, narrow.Of(rounded)));
  }
  if (i == call.count) return;
  QuantizeCall rest = call;
  rest.x += i;
  rest.y += i;
  rest.count -= i;
  RunQuantize(rest);
}

[[maybe_unused]] static void RunQuantize512(const QuantizeCall& call) {
  if (call.half_away || call.count < 64) return RunQuantize(call);
  if (call.inverse != 0.0F) {
    const __m512 inverse = _mm512_set1_ps(call.inverse);
    return QuantizeAll(call, [&](__m512 x) { return x * inverse; });
  }
  const __m512 scale = _mm512_set1_ps(call.scale);
  QuantizeAll(call, [&](__m512 x) { return x / scale; });
}

}  // namespace tenon::cpu::q8::avx512
