// Elementwise kernels on bytes as plain loops, which the compiler turns into the instruction set's
// vectors. They give the bits of requantize.hpp, whose functions they repeat for the reason that
// byte_routines.hpp gives.
//
// TENON_Q8_ISA names the namespace, so that each instruction set has functions of its own.
#pragma once

#include "backends/cpu/kernels/q8/byte_routines.hpp"

#if !defined(TENON_Q8_ISA)
#error "included by routines_*.cpp only"
#endif

#if defined(__clang__)
#define TENON_BYTES_LOOP _Pragma("clang loop vectorize(assume_safety)")
#else
#define TENON_BYTES_LOOP _Pragma("GCC ivdep")
#endif

namespace tenon::cpu::q8::TENON_Q8_ISA {

/// Is a ByteOutput for values that are rounded halves to even: its bounds before the zero point.
struct EvenOutput {
  float least;
  float most;
  float zero_point;
  uint8_t flip;
};

static inline EvenOutput EvenOutputOf(const ByteOutput& output) {
  return {static_cast<float>(output.min - output.zero_point),
          static_cast<float>(output.max - output.zero_point), static_cast<float>(output.zero_point),
          output.flip};
}

/// Rounds x, halves to even, and adds the zero point: the result is the lowest bits. NaN gives the
/// zero point. Bounds and rounding may change places, since bounds are whole numbers.
[[gnu::always_inline]] static inline uint32_t EvenBits(float x, float least, float most,
                                                       float zero_point) {
  constexpr float kRounder = 12582912.0F;  // 1.5 * 2^23: sums with it have no fractional bits
  const float number = x == x ? x : 0.0F;
  const float above = number > least ? number : least;
  const float shifted = (above < most ? above : most) + kRounder + zero_point;
  uint32_t bits = 0;
  __builtin_memcpy(&bits, &shifted, sizeof(bits));
  return bits;
}

/// Makes the output's byte.
[[gnu::always_inline]] static inline uint8_t ToByteEven(const EvenOutput& output, float x) {
  const uint32_t bits = EvenBits(x, output.least, output.most, output.zero_point);
  return static_cast<uint8_t>(static_cast<uint8_t>(bits) ^ output.flip);
}

/// Rounds x to a whole number, halves away from zero; of sizes from 2^23 on only that they are
/// large is kept, and NaN stays. There is no condition in it that the compiler takes for a branch.
[[gnu::always_inline]] static inline float WholeAway(float x) {
  constexpr float kRounder = 8388608.0F;  // 2^23: sums with it have no fractional bits
  const float size = __builtin_fabsf(x);
  const float even = (size + kRounder) - kRounder;
  const float whole = even + (size - even == 0.5F ? 1.0F : 0.0F);
  return __builtin_copysignf(whole, x);
}

[[gnu::always_inline]] static inline int32_t Scaled(const FixedPointFactor& factor, int32_t x) {
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(x) << factor.left);
  const int64_t product = int64_t{shifted} * factor.multiplier + (int64_t{1} << 30);
  // Of the shifted bits only the lower half is kept, so that no sign needs to come after them.
  const auto high = static_cast<int32_t>(static_cast<uint64_t>(product) >> 31);
  const uint32_t half = (uint32_t{1} << factor.right) >> 1;
  const uint32_t size = high < 0 ? 0U - static_cast<uint32_t>(high) : static_cast<uint32_t>(high);
  const auto rounded = static_cast<int32_t>((size + half) >> factor.right);
  return high < 0 ? static_cast<int32_t>(0U - static_cast<uint32_t>(rounded)) : rounded;
}

/// Makes the output's byte; `rounded` must be within 2^31 - 2^8 of zero, or saturate in any case.
[[gnu::always_inline]] static inline uint8_t ToByte(const ByteOutput& output, int32_t rounded) {
  constexpr int32_t kFar = 1024;
  const int32_t near_low = rounded > -kFar ? rounded : -kFar;
  int32_t y = (near_low < kFar ? near_low : kFar) + output.zero_point;
  y = y > output.min ? y : output.min;
  y = y < output.max ? y : output.max;
  return static_cast<uint8_t>(static_cast<uint8_t>(y) ^ output.flip);
}

[[gnu::always_inline]] static inline int32_t ValueOf(uint8_t byte, uint8_t flip) {
  return static_cast<int8_t>(static_cast<uint8_t>(byte ^ flip));
}

/// Computes z = make_byte(function(x - zero point, y - zero point)).
template <typename Function, typename MakeByte>
[[gnu::always_inline]] static inline void MapBytes(const BinaryCall& call, const Function& function,
                                                   const MakeByte& make_byte) {
  const uint8_t* x = call.x;
  const uint8_t* y = call.y;
  uint8_t* z = call.z;
  const uint8_t x_flip = call.x_flip;
  const uint8_t y_flip = call.y_flip;
  const int32_t x_zero = call.x_zero_point;
  const int32_t y_zero = call.y_zero_point;
  const int count = call.count;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    z[i] = make_byte(function(ValueOf(x[i], x_flip) - x_zero, ValueOf(y[i], y_flip) - y_zero));
  }
}

template <ByteFunction kFunction>
static void BinaryOfFloats(const BinaryCall& call) {
  const float x_scale = call.x_scale;
  const float y_scale = call.y_scale;
  const float z_scale = call.z_scale;
  const EvenOutput output = EvenOutputOf(call.output);
  MapBytes(
      call,
      [=](int32_t x, int32_t y) {
        const float left = static_cast<float>(x) * x_scale;
        const float right = static_cast<float>(y) * y_scale;
        if constexpr (kFunction == ByteFunction::kAdd) return (left + right) / z_scale;
        if constexpr (kFunction == ByteFunction::kSubtract) return (left - right) / z_scale;
        return left * right / z_scale;
      },
      [=](float value) { return ToByteEven(output, value); });
}

template <ByteFunction kFunction>
static void BinaryInFixedPoint(const BinaryCall& call) {
  const FixedPointFactor x_factor = call.x_factor;
  const FixedPointFactor y_factor = call.y_factor;
  const FixedPointFactor z_factor = call.z_factor;
  const int32_t left_shift = call.left_shift;
  const ByteOutput output = call.output;
  MapBytes(
      call,
      [=](int32_t x, int32_t y) {
        if constexpr (kFunction == ByteFunction::kMultiply) return Scaled(z_factor, x * y);
        const auto left = static_cast<uint32_t>(Scaled(x_factor, x * (1 << left_shift)));
        const auto right = static_cast<uint32_t>(Scaled(y_factor, y * (1 << left_shift)));
        const uint32_t sum = kFunction == ByteFunction::kAdd ? left + right : left - right;
        return Scaled(z_factor, static_cast<int32_t>(sum));
      },
      [=](int32_t rounded) { return ToByte(output, rounded); });
}

template <ByteFunction kFunction>
static void BinaryOf(const BinaryCall& call) {
  call.fixed_point ? BinaryInFixedPoint<kFunction>(call) : BinaryOfFloats<kFunction>(call);
}

static void RunBinary(const BinaryCall& call) {
  switch (call.function) {
    case ByteFunction::kAdd:
      return BinaryOf<ByteFunction::kAdd>(call);
    case ByteFunction::kSubtract:
      return BinaryOf<ByteFunction::kSubtract>(call);
    case ByteFunction::kMultiply:
      return BinaryOf<ByteFunction::kMultiply>(call);
  }
}

/// Returns 2^exponent, which must be of a normal number.
[[gnu::always_inline]] static inline double PowerOfTwo(int exponent) {
  constexpr int kBias = 1023;
  constexpr int kMantissaBits = 52;
  const uint64_t bits = static_cast<uint64_t>(kBias + exponent) << kMantissaBits;
  double power = 0;
  __builtin_memcpy(&power, &bits, sizeof power);
  return power;
}

/// Returns the largest product of `factor` and numbers of at most `most`; less than 0 where such a
/// number, shifted and doubled, leaves 32 bits.
[[gnu::always_inline]] static inline double MostAfter(double most, const FixedPointFactor& factor,
                                                      int32_t left_shift) {
  const double doubled = most * PowerOfTwo(factor.left + left_shift + 1);
  if (most < 0.0 || doubled >= 2147483648.0) return -1.0;
  return doubled * PowerOfTwo(-1 - factor.right) + 1.0;
}

/// Returns whether a call in fixed point keeps within 32 bits, doubled, on the way.
[[gnu::always_inline]] static inline bool IsTameFixedPoint(const BinaryCall& call) {
  constexpr double kMost = 255.0;
  if (call.function == ByteFunction::kMultiply) {
    return MostAfter(kMost * kMost, call.z_factor, 0) >= 0.0;
  }
  const double x = MostAfter(kMost, call.x_factor, call.left_shift);
  const double y = MostAfter(kMost, call.y_factor, call.left_shift);
  return x >= 0.0 && y >= 0.0 && MostAfter(x + y, call.z_factor, 0) >= 0.0;
}

template <typename Call, typename Function>
[[gnu::always_inline]] static inline void MapFloats(const Call& call, const Function& function) {
  const float* x = call.x;
  auto* const y = call.y;
  const int count = call.count;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) y[i] = function(x[i]);
}

[[maybe_unused]] static void RunQuantize(const QuantizeCall& call) {
  const float scale = call.scale;
  const float inverse = call.inverse;
  const EvenOutput output = EvenOutputOf(call.output);
  if (call.half_away) {
    return MapFloats(call, [=](float x) { return ToByteEven(output, WholeAway(x / scale)); });
  }
  if (inverse == 0.0F) {
    return MapFloats(call, [=](float x) { return ToByteEven(output, x / scale); });
  }
  MapFloats(call, [=](float x) { return ToByteEven(output, x * inverse); });
}

/// Computes float(x - zero point) * scale, where x xor the flip is `Signed`.
template <typename Signed, typename Call>
[[gnu::always_inline]] static inline void DequantizeAll(const Call& call) {
  const auto* const x = call.x;
  float* y = call.y;
  const auto flip = call.flip;
  const int32_t zero_point = call.zero_point;
  const float scale = call.scale;
  const int count = call.count;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<Signed>(x[i] ^ flip);
    y[i] = static_cast<float>(value - zero_point) * scale;
  }
}

[[maybe_unused]] static void RunDequantize(const DequantizeCall& call) {
  DequantizeAll<int8_t>(call);
}

/// Rounds as ToByteEven does, where the sum's lower half is the result, or halves away from zero.
[[maybe_unused]] static void RunQuantizeWords(const QuantizeWordsCall& call) {
  const float scale = call.scale;
  const auto least = static_cast<float>(call.min - call.zero_point);
  const auto most = static_cast<float>(call.max - call.zero_point);
  const auto zero_point = static_cast<float>(call.zero_point);
  if (call.half_away) {
    return MapFloats(call, [=](float x) {
      return static_cast<uint16_t>(EvenBits(WholeAway(x / scale), least, most, zero_point));
    });
  }
  MapFloats(call, [=](float x) {
    return static_cast<uint16_t>(EvenBits(x / scale, least, most, zero_point));
  });
}

[[maybe_unused]] static void RunDequantizeWords(const DequantizeWordsCall& call) {
  DequantizeAll<int16_t>(call);
}

[[maybe_unused]] static void RunLookup(const LookupCall& call) {
  for (int i = 0; i < call.count; ++i) {
    call.y[i] = call.table[static_cast<uint8_t>(call.x[i] ^ call.flip)];
  }
}

[[maybe_unused]] static void RunInterleave3(const uint8_t* const* planes, uint8_t* y, int count) {
  const uint8_t* a = planes[0];
  const uint8_t* b = planes[1];
  const uint8_t* c = planes[2];
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    y[3 * i] = a[i];
    y[3 * i + 1] = b[i];
    y[3 * i + 2] = c[i];
  }
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
