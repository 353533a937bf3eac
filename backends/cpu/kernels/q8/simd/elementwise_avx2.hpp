// Sums and products of bytes in fixed point, 32 at a time. Calls whose values might leave 32 bits
// on the way use elementwise.hpp.
//
// Most results are made in floats: where what is a little more and what is a little less than the
// true value round to the same number, the roundings of fixed point give it too. Of 32 bytes among
// which one does not, all are made in fixed point.
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

  /// Of results in the order of the bytes.
  [[gnu::always_inline]] void StoreInOrder(const __m256i* x, uint8_t* to) const {
    const __m256i order = _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7);
    const __m256i low = _mm256_adds_epi16(_mm256_packs_epi32(x[0], x[1]), zero_point);
    const __m256i high = _mm256_adds_epi16(_mm256_packs_epi32(x[2], x[3]), zero_point);
    const __m256i packed = _mm256_packs_epi16(low, high);
    const __m256i bytes =
        _mm256_min_epi8(_mm256_max_epi8(_mm256_permutevar8x32_epi32(packed, order), least), most);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm256_xor_si256(bytes, flip));
  }
};

/// Computes z = function(x, y) of integers less their zero points; the function returns rounded
/// ones. What `near` can tell of 32 bytes is not computed so.
template <typename Near, typename Function>
[[gnu::always_inline]] static inline void MapThirtyTwo(const BinaryCall& call, const Near& near,
                                                       const Function& function) {
  const Widened32 widened_x(call.x_flip, call.x_zero_point);
  const Widened32 widened_y(call.y_flip, call.y_zero_point);
  const Narrowed32 narrowed(call.output);
  const auto run = [&](const uint8_t* x, const uint8_t* y, uint8_t* z) {
    if (near(x, y, z)) return;
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

/// Says between which floats a call's results lie before they are rounded, whatever the roundings
/// of floats and of fixed point on the way: x * x_factor + y * y_factor + least or most, of bytes
/// as i8, or (x + x_offset) * (y + y_offset) * x_factor or y_factor, and `reach` further from zero.
struct NearBinary {
  float x_factor;
  float y_factor;
  float least;
  float most;
  float x_offset;
  float y_offset;
  float reach;
};

static inline double ValueOfFactor(const FixedPointFactor& factor, int32_t left_shift) {
  return static_cast<double>(factor.multiplier) / 2147483648.0 *
         static_cast<double>(uint64_t{1} << (factor.left + left_shift)) /
         static_cast<double>(uint64_t{1} << factor.right);
}

/// Of a rounding of floats, over their size.
constexpr double kFloatRounding = 1.0 / 16777216.0;

/// Returns how far the rounding of a product reaches that comes before that of a shift to the
/// right.
static inline double FirstRounding(const FixedPointFactor& factor) {
  return factor.right == 0 ? 0.0 : 0.5 / static_cast<double>(uint64_t{1} << factor.right);
}

static inline NearBinary NearProduct(const BinaryCall& call) {
  constexpr double kApart = 5.0 * kFloatRounding;
  const double z = ValueOfFactor(call.z_factor, 0);
  NearBinary near = {};
  near.x_factor = static_cast<float>(z * (1.0 + kApart));
  near.y_factor = static_cast<float>(z * (1.0 - kApart));
  near.x_offset = static_cast<float>(-call.x_zero_point);
  near.y_offset = static_cast<float>(-call.y_zero_point);
  // Halves of the first rounding go away from zero but for those next to it, where it is no matter.
  near.reach = static_cast<float>(FirstRounding(call.z_factor));
  return near;
}

static inline NearBinary NearSum(const BinaryCall& call) {
  const double z = ValueOfFactor(call.z_factor, 0);
  const double x = ValueOfFactor(call.x_factor, call.left_shift) * z;
  const double y = ValueOfFactor(call.y_factor, call.left_shift) * z *
                   (call.function == ByteFunction::kAdd ? 1.0 : -1.0);
  const double offset = -(x * call.x_zero_point + y * call.y_zero_point);
  const double most = 128.0 * (x + (y < 0.0 ? -y : y)) + (offset < 0.0 ? -offset : offset);
  // Each operand is rounded twice on its way to the common scale, by less than 1 there.
  const double apart = 2.0 * z + FirstRounding(call.z_factor) + (most + 1.0) * 8.0 * kFloatRounding;
  NearBinary near = {};
  near.x_factor = static_cast<float>(x);
  near.y_factor = static_cast<float>(y);
  near.least = static_cast<float>(offset - apart);
  near.most = static_cast<float>(offset + apart);
  return near;
}

/// Returns whether floats tell most results.
static inline bool AreNear(const BinaryCall& call, const NearBinary& near) {
  constexpr float kMostApart = 1.0F / 128.0F;
  constexpr float kMostProduct = 65536.0F;
  if (call.function == ByteFunction::kMultiply) return near.x_factor <= 1.0F;
  return near.most - near.least <= kMostApart && near.most < kMostProduct &&
         near.least > -kMostProduct;
}

/// Makes 8 floats of bytes.
[[gnu::always_inline]] static inline __m256 EightFloats(const uint8_t* from, __m128i flip) {
  const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_xor_si128(bytes, flip)));
}

/// Computes 32 outputs at a time.
template <ByteFunction kFunction>
class NearRoutine {
 public:
  NearRoutine(const BinaryCall& call, const NearBinary& near)
      : x_flip_(_mm_set1_epi8(static_cast<char>(call.x_flip))),
        y_flip_(_mm_set1_epi8(static_cast<char>(call.y_flip))),
        x_factor_(_mm256_set1_ps(near.x_factor)),
        y_factor_(_mm256_set1_ps(near.y_factor)),
        least_(_mm256_set1_ps(near.least)),
        most_(_mm256_set1_ps(near.most)),
        x_offset_(_mm256_set1_ps(near.x_offset)),
        y_offset_(_mm256_set1_ps(near.y_offset)),
        reach_(_mm256_set1_ps(near.reach)),
        narrowed_(call.output) {}

  /// Returns false, and stores nothing, where some outputs may differ from those of fixed point. z
  /// may be x or y.
  [[gnu::always_inline]] bool Run(const uint8_t* x, const uint8_t* y, uint8_t* z) const {
    __m256i rounded[4];
    __m256i unlike = _mm256_setzero_si256();
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      const __m256 left = EightFloats(x + 8 * i, x_flip_);
      const __m256 right = EightFloats(y + 8 * i, y_flip_);
      const __m256i low = Round(left, right, &rounded[i]);
      unlike = _mm256_or_si256(unlike, _mm256_xor_si256(rounded[i], low));
    }
    if (_mm256_testz_si256(unlike, unlike) == 0) return false;
    narrowed_.StoreInOrder(rounded, z);
    return true;
  }

 private:
  /// Rounds both floats that a result lies between.
  [[gnu::always_inline]] __m256i Round(__m256 x, __m256 y, __m256i* other) const {
    if constexpr (kFunction == ByteFunction::kMultiply) {
      const __m256 product =
          _mm256_mul_ps(_mm256_add_ps(x, x_offset_), _mm256_add_ps(y, y_offset_));
      const __m256 sign = _mm256_and_ps(product, _mm256_set1_ps(-0.0F));
      const __m256 reach = _mm256_or_ps(sign, reach_);
      *other = _mm256_cvtps_epi32(_mm256_fmadd_ps(product, x_factor_, reach));
      return _mm256_cvtps_epi32(_mm256_fmadd_ps(product, y_factor_, reach));
    }
    *other =
        _mm256_cvtps_epi32(_mm256_fmadd_ps(x, x_factor_, _mm256_fmadd_ps(y, y_factor_, most_)));
    return _mm256_cvtps_epi32(_mm256_fmadd_ps(x, x_factor_, _mm256_fmadd_ps(y, y_factor_, least_)));
  }

  __m128i x_flip_;
  __m128i y_flip_;
  __m256 x_factor_;
  __m256 y_factor_;
  __m256 least_;
  __m256 most_;
  __m256 x_offset_;
  __m256 y_offset_;
  __m256 reach_;
  Narrowed32 narrowed_;
};

template <ByteFunction kFunction, typename Near>
static void WideFixedPoint(const BinaryCall& call, const Near& near) {
  const WideFactor z_factor = WideFactorOf(call.z_factor, 0);
  if constexpr (kFunction == ByteFunction::kMultiply) {
    return MapThirtyTwo(call, near, [&](__m256i x, __m256i y) {
      return FixedPointProduct(_mm256_mullo_epi32(x, y), z_factor);
    });
  }
  const WideFactor x_factor = WideFactorOf(call.x_factor, call.left_shift);
  const WideFactor y_factor = WideFactorOf(call.y_factor, call.left_shift);
  MapThirtyTwo(call, near, [&](__m256i x, __m256i y) {
    const __m256i left = FixedPointProduct(x, x_factor);
    const __m256i right = FixedPointProduct(y, y_factor);
    constexpr bool kAdds = kFunction == ByteFunction::kAdd;
    return FixedPointProduct(kAdds ? _mm256_add_epi32(left, right) : _mm256_sub_epi32(left, right),
                             z_factor);
  });
}

template <ByteFunction kFunction>
static void WideBinary(const BinaryCall& call) {
  const auto none = [](const uint8_t*, const uint8_t*, uint8_t*) { return false; };
  // Fewer are made sooner than it is known how near floats come.
  constexpr int kFewBytes = 64;
  if (call.count <= kFewBytes) return WideFixedPoint<kFunction>(call, none);
  const NearBinary near = kFunction == ByteFunction::kMultiply ? NearProduct(call) : NearSum(call);
  if (!AreNear(call, near)) return WideFixedPoint<kFunction>(call, none);
  const NearRoutine<kFunction> routine(call, near);
  WideFixedPoint<kFunction>(
      call, [&](const uint8_t* x, const uint8_t* y, uint8_t* z) { return routine.Run(x, y, z); });
}

static void RunWideBinary(const BinaryCall& call) {
  if (!call.fixed_point || call.count < 8 || !IsTameFixedPoint(call)) return RunBinary(call);
  switch (call.function) {
    case ByteFunction::kAdd:
      return WideBinary<ByteFunction::kAdd>(call);
    case ByteFunction::kSubtract:
      return WideBinary<ByteFunction::kSubtract>(call);
    case ByteFunction::kMultiply:
      return WideBinary<ByteFunction::kMultiply>(call);
  }
}

}  // namespace tenon::cpu::q8::avx2
