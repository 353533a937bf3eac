// TFLite's integer softmax (reference_ops::Softmax of 8-bit types), bit for bit: exponentials in Q0
// of differences in Q5, their sum in Q12, all rounding as there.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/portable/reduce/fixed_point.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::portable::fixed_point {

inline constexpr int kSumBits = 12;
inline constexpr int kResultBits = 8;

/// exp of a difference to the largest element, in Q0; 0 where it is too large to count.
inline int32_t ExpOfDifference(const QuantizedSoftmaxAttributes& attributes, int32_t difference) {
  const int32_t scaled =
      FixedPointMultiply(difference, attributes.scale.multiplier, attributes.scale.shift);
  const int32_t exponential = ExpOfNegative(scaled);
  return difference < attributes.least_difference ? 0 : exponential;
}

/// What an exponential in Q0 adds to a sum.
[[nodiscard]] constexpr int32_t Summand(int32_t exponential) {
  return RoundingShiftRight(exponential, kSumBits);
}

inline int LeadingZeros(uint32_t x) { return x == 0 ? 32 : __builtin_clz(x); }

/// Makes results of exponentials: 1 / sum = factor (Q0) * 2^-bits.
struct Share {
  int32_t factor;
  int shift;
  bool is_none;

  [[nodiscard]] int32_t Of(int32_t exponential) const {
    const int32_t product = RoundingDoublingHighMultiply(factor, exponential);
    const int32_t result = RoundingShiftRight(product, is_none ? 31 : shift);
    return is_none ? 0 : result;
  }
};

/// `sum` in Q12; it wraps from 4096 elements on that all are the largest, as there.
inline Share ShareOf(uint32_t sum) {
  const int headroom = LeadingZeros(sum);
  const uint32_t normal = headroom == 32 ? 0U : sum << headroom;  // in [1, 2), from 2^31 on
  const auto above_one = static_cast<int32_t>(normal - (1U << 31));
  const int bits = kSumBits - headroom;
  const int shift = bits + 31 - kResultBits;
  return {ReciprocalOfOnePlus(above_one), shift, shift > 31};
}

}  // namespace tenon::cpu::portable::fixed_point
