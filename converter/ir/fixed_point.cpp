#include "converter/ir/fixed_point.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace tenon::converter {

FixedPoint QuantizeMultiplier(double factor) {
  if (factor < 0.0) {
    const FixedPoint positive = QuantizeMultiplier(-factor);
    return {-positive.multiplier, positive.shift};
  }
  if (!(factor > 0.0)) return {};
  if (std::isinf(factor)) return {INT32_MAX, std::numeric_limits<double>::max_exponent + 1};
  FixedPoint result;
  const double fraction = std::frexp(factor, &result.shift);  // in [0.5, 1)
  auto multiplier = static_cast<int64_t>(std::round(fraction * 2147483648.0));
  if (multiplier == int64_t{1} << 31) {
    multiplier /= 2;
    ++result.shift;
  }
  if (result.shift < -31) return {};
  result.multiplier = static_cast<int32_t>(multiplier);
  return result;
}

FixedPoint DividedBy(FixedPoint factor, int64_t count) {
  int shift = 63 - std::countl_zero(static_cast<uint64_t>(count));
  // This keeps the product below to 63 bits, and the factor's shift to the range of FixedPoint.
  shift = std::min(shift, 32);
  shift = std::min(shift, 31 + factor.shift);
  const int64_t wide = static_cast<int64_t>(factor.multiplier) << shift;
  return {static_cast<int32_t>(wide / count), factor.shift - shift};
}

SoftmaxScaling ScaleSoftmax(double beta, double scale) {
  constexpr int kIntegerBits = 5;  // of the exponential's argument
  constexpr double kOne = 1 << (31 - kIntegerBits);
  constexpr double kMost = 2147483647.0;
  SoftmaxScaling scaling;
  scaling.factor = QuantizeMultiplier(std::min(beta * scale * kOne, kMost));
  const double largest = ((1 << kIntegerBits) - 1) * kOne / std::exp2(scaling.factor.shift);
  scaling.least_difference = -static_cast<int32_t>(std::min(std::floor(largest), kMost));
  return scaling;
}

}  // namespace tenon::converter
