// Makes bytes of sums, as QuantizedOutput says, for two outputs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::dsp {

/// Contains the factors of an op's outputs: one for each, or (step 0) one for all.
struct Rescale {
  QuantizedOutput output;
  const int32_t* bias = nullptr;        ///< null: 0
  const float* scale = nullptr;         ///< kHalfEven
  const int32_t* multiplier = nullptr;  ///< kFixedPoint, kFixedPointOnce
  const int8_t* shift = nullptr;        ///< with `multiplier`
  ptrdiff_t step = 0;
  int64_t most = 0;  ///< largest absolute value of a sum of products
};

/// Returns the rescale of a quantized convolution or matrix product, each output of which sums
/// `depth` products.
[[nodiscard]] Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output, int64_t depth);

/// Requantises the sums of one output.
struct Requantizer {
  int32_t multiplier;  ///< or the bits of the scale
  int32_t offset;      ///< half of 2^right, and 2^right zero points
  int32_t right;

  /// Sets it up for half even, or for fixed point that shifts to the right.
  void Set(const Rescale& rescale, int32_t index) {
    if (rescale.scale != nullptr) {
      std::memcpy(&multiplier, rescale.scale + index * rescale.step, sizeof multiplier);
      offset = rescale.output.zero_point;
      right = 0;
      return;
    }
    Set(rescale.multiplier[index * rescale.step], rescale.shift[index * rescale.step],
        rescale.output.zero_point);
  }
  void Set(int32_t factor, int32_t shift, int32_t zero_point) {
    multiplier = factor;
    right = -shift;
    offset = (2 * zero_point + 1) * (1 << (right - 1));
  }
};

/// Returns kFixedPoint of half of `doubled`, plus the zero point, before the bounds are applied.
/// Sums and factors must satisfy IsFastRescale.
[[nodiscard]] inline int32_t RequantizeDoubled(const Requantizer& requantizer, int32_t doubled) {
  // The second rounding takes halves away from zero, which is down for negative numbers. Where the
  // product is 0 though the sum is negative, this makes no difference.
  return AddHighProduct(doubled, requantizer.multiplier, requantizer.offset + (doubled >> 31)) >>
         requantizer.right;
}

/// Is how far RequantizeDoubled shifts to the right at most; at least by 1.
inline constexpr int32_t kMostShift = 22;

/// Returns true if RequantizeDoubled gives kFixedPoint by this factor for all sums whose absolute
/// value is at most `most`.
[[nodiscard]] constexpr bool IsFastRescale(int32_t multiplier, int32_t shift, int64_t most) {
  // Twice a sum must fit 32 bits, and so must 2^right zero points plus the product's high word:
  // 511 * 2^21 + 2^30 at most.
  return most < (int64_t{1} << 30) && shift < 0 && shift >= -kMostShift && multiplier >= 0;
}

/// Returns the result of RoundHalfEven, or another number that a byte's bounds clamp alike.
[[nodiscard]] inline int32_t RoundToEven(float value) {
#if TENON_DSP_INSTRUCTIONS && defined(__ARM_FP) && (__ARM_FP & 4)
  int32_t rounded;
  __asm__("vcvtr.s32.f32 %0, %0\n" : "+t"(value));
  std::memcpy(&rounded, &value, sizeof rounded);
  // One after the other, as Saturate does.
  rounded = rounded > 16777216 ? 16777216 : rounded;
  return rounded < -16777216 ? -16777216 : rounded;
#else
  return RoundHalfEven(value);
#endif
}

/// Returns kHalfEven, plus the zero point, within the range of i8.
[[nodiscard]] inline int32_t RequantizeFloat(const Requantizer& requantizer, int32_t sum) {
  float scale;
  std::memcpy(&scale, &requantizer.multiplier, sizeof scale);
  return SaturateToByte(RoundHalfEven(static_cast<float>(sum) * scale) + requantizer.offset);
}

/// Says which function gives all bytes of an op, within the range of i8; assembler code relies on
/// the numbers.
enum class RequantizeKind : int32_t {
  kDoubled = 0,  ///< RequantizeDoubled
  kRelu = 1,  ///< the same where the lower bound is at least the result of a sum of 0: signs do not
              ///< matter
  kFloat = 2,  ///< RequantizeFloat
  kAny = 3,    ///< StoreSums
};
[[nodiscard]] RequantizeKind RequantizeKindOf(const Rescale& rescale, int32_t outputs);

/// Returns true if the sums must be doubled.
[[nodiscard]] constexpr bool IsDoubled(RequantizeKind kind) {
  return kind == RequantizeKind::kDoubled || kind == RequantizeKind::kRelu;
}

/// Returns a byte of any kind but kAny. `sum` is twice the sum where IsDoubled.
[[nodiscard]] inline uint8_t ByteOf(const Requantizer& requantizer, RequantizeKind kind,
                                    uint32_t sum) {
  const auto value = static_cast<int32_t>(sum);
  return static_cast<uint8_t>(kind == RequantizeKind::kFloat
                                  ? RequantizeFloat(requantizer, value)
                                  : SaturateToByte(RequantizeDoubled(requantizer, value)));
}

/// Returns one byte, for any content of the constants.
[[nodiscard]] uint8_t RequantizeOne(const Rescale& rescale, int32_t index, int32_t sum);

/// Says where the bytes of two pixels go, as offsets from some address.
struct PairPlaces {
  int32_t y[2];
  int32_t more;  ///< 0 in the last pair
};

/// Contains sums of one output, which include the bias, and says where their bytes go.
struct Sums {
  const uint32_t* sums;
  int step;  ///< distance from a sum to the next
  int count;
  bool doubled;  ///< each stored value is twice the sum
  uint8_t* y;
  const PairPlaces* places;  ///< offset of each byte from `y`; null: `y_step` apart
  ptrdiff_t y_step;
};

/// Stores the bytes of output `index`, for any content of the constants.
void StoreSums(const Rescale& rescale, int32_t index, const Sums& sums);

}  // namespace tenon::cpu::dsp
