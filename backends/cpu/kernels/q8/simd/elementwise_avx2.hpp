// Sums and products of bytes in fixed point, 32 at a time. Calls whose values might leave 32 bits
// on the way use elementwise.hpp.
#pragma once

#include <immintrin.h>

#include <cstring>

#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::avx2 {

constexpr int kBytesAtOnce = 32;

/// Contains a FixedPointFactor in registers. `doubling` is one more than the shift to the left;
/// `half` is 2^(right - 1) and `away` is -1, but both are 0 where `right` is 0.
struct WideFactor {
  __m256i multiplier;
  __m256i doubling;
  __m256i half;
  __m256i away;
  __m256i right;
};

[[gnu::always_inline]] static inline WideFactor WideFactorOf(const FixedPointFactor& factor,
                                                             int32_t left_shift) {
  return {_mm256_set1_epi32(factor.multiplier), _mm256_set1_epi32(factor.left + left_shift + 1),
          _mm256_set1_epi32(factor.right == 0 ? 0 : 1 << (factor.right - 1)),
          _mm256_set1_epi32(factor.right == 0 ? 0 : -1), _mm256_set1_epi32(factor.right)};
}

/// Returns x * multiplier * 2^(left - right - 31) with two roundings, as FixedPointMultiply of
/// requantize.hpp does. x shifted by `doubling` is at most 2^31 - 1 in size, so that the upper
/// halves of the products are the result of the first rounding.
[[gnu::always_inline]] static inline __m256i FixedPointProduct(__m256i x,
                                                               const WideFactor& factor) {
  const __m256i doubled = _mm256_sllv_epi32(x, factor.doubling);
  const __m256i rounder = _mm256_set1_epi64x(int64_t{1} << 31);
  const __m256i even = _mm256_add_epi64(_mm256_mul_epi32(doubled, factor.multiplier), rounder);
  const __m256i odd = _mm256_add_epi64(
      _mm256_mul_epi32(_mm256_srli_epi64(doubled, 32), factor.multiplier), rounder);
  const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xAA);
  const __m256i less = _mm256_and_si256(_mm256_srai_epi32(high, 31), factor.away);
  const __m256i biased = _mm256_add_epi32(_mm256_add_epi32(high, factor.half), less);
  return _mm256_srav_epi32(biased, factor.right);
}

/// Widens bytes to 8 integers each, in the order in which Narrowed32 takes them.
struct Widened32 {
  __m256i flip;
  __m256i zero_point;

  Widened32(uint8_t flip_to_i8, int32_t zero)
      : flip(_mm256_set1_epi8(static_cast<char>(flip_to_i8))),
        zero_point(_mm256_set1_epi32(zero)) {}

  [[gnu::always_inline]] void Of(const uint8_t* from, __m256i* to) const {
    const __m256i zeros = _mm256_setzero_si256();
    const __m256i bytes =
        _mm256_xor_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)), flip);
    const __m256i low = _mm256_unpacklo_epi8(zeros, bytes);
    const __m256i high = _mm256_unpackhi_epi8(zeros, bytes);
    const auto widen = [&](__m256i x) {
      return _mm256_sub_epi32(_mm256_srai_epi32(x, 24), zero_point);
    };
    to[0] = widen(_mm256_unpacklo_epi16(zeros, low));
    to[1] = widen(_mm256_unpackhi_epi16(zeros, low));
    to[2] = widen(_mm256_unpacklo_epi16(zeros, high));
    to[3] = widen(_mm256_unpackhi_epi16(zeros, high));
  }
};

/// Makes the output's bytes from rounded results.
struct Narrowed32 {
  __m256i zero_point;
  __m256i least;
  __m256i most;
  __m256i flip;

  explicit Narrowed32(const ByteOutput& output)
      : zero_point(_mm256_set1_epi16(static_cast<short>(output.zero_point))),
        least(_mm256_set1_epi8(static_cast<char>(output.min))),
        most(_mm256_set1_epi8(static_cast<char>(output.max))),
        flip(_mm256_set1_epi8(static_cast<char>(output.flip))) {}

  [[gnu::always_inline]] void Store(const __m256i* x, uint8_t* to) const {
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero_point);
    const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero_point);
    const __m256i bytes =
        _mm256_min_epi8(_mm256_max_epi8(_mm256_packs_epi16(low, high), least), most);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(bytes, flip));
  }
};

/// Computes z = function(x, y) of integers less their zero points; the function returns rounded
/// ones.
template <typename Function>
[[gnu::always_inline]] static inline void MapThirtyTwo(const BinaryCall& call,
                                                       const Function& function) {
  const Widened32 widened_x(call.x_flip, call.x_zero_point);
  const Widened32 widened_y(call.y_flip, call.y_zero_point);
  const Narrowed32 narrowed(call.output);
  const auto run = [&](const uint8_t* x, const uint8_t* y, uint8_t* z) {
    __m256i left[4];
    __m256i right[4];
    widened_x.Of(x, left);
    widened_y.Of(y, right);
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) left[i] = function(left[i], right[i]);
    narrowed.Store(left, z);
  };
  int i = 0;
  for (; i + kBytesAtOnce <= call.count; i += kBytesAtOnce) {
    run(call.x + i, call.y + i, call.z + i);
  }
  const auto left = static_cast<size_t>(call.count - i);
  if (left == 0) return;
  uint8_t x[kBytesAtOnce] = {};
  uint8_t y[kBytesAtOnce] = {};
  std::memcpy(x, call.x + i, left);
  std::memcpy(y, call.y + i, left);
  run(x, y, x);
  std::memcpy(call.z + i, x, left);
}

template <ByteFunction kFunction>
static void WideFixedPoint(const BinaryCall& call) {
  const WideFactor z_factor = WideFactorOf(call.z_factor, 0);
  if constexpr (kFunction == ByteFunction::kMultiply) {
    return MapThirtyTwo(call, [&](__m256i x, __m256i y) {
      return FixedPointProduct(_mm256_mullo_epi32(x, y), z_factor);
    });
  }
  const WideFactor x_factor = WideFactorOf(call.x_factor, call.left_shift);
  const WideFactor y_factor = WideFactorOf(call.y_factor, call.left_shift);
  MapThirtyTwo(call, [&](__m256i x, __m256i y) {
    const __m256i left = FixedPointProduct(x, x_factor);
    const __m256i right = FixedPointProduct(y, y_factor);
    constexpr bool kAdds = kFunction == ByteFunction::kAdd;
    return FixedPointProduct(kAdds ? _mm256_add_epi32(left, right) : _mm256_sub_epi32(left, right),
                             z_factor);
  });
}

static void RunWideBinary(const BinaryCall& call) {
  if (!call.fixed_point || call.count < 8 || !IsTameFixedPoint(call)) return RunBinary(call);
  switch (call.function) {
    case ByteFunction::kAdd:
      return WideFixedPoint<ByteFunction::kAdd>(call);
    case ByteFunction::kSubtract:
      return WideFixedPoint<ByteFunction::kSubtract>(call);
    case ByteFunction::kMultiply:
      return WideFixedPoint<ByteFunction::kMultiply>(call);
  }
}

}  // namespace tenon::cpu::q8::avx2
