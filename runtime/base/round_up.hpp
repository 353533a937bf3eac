// Division and rounding towards more. The first argument gives the type that it is done in:
// RoundUp<int64_t>(a * b, c) where the product may be large.
#pragma once

#include <type_traits>

namespace tenon {

/// The least number of groups of `divisor` that hold `value`; neither is negative.
template <typename T>
[[nodiscard]] constexpr T CeilDiv(T value, std::common_type_t<T> divisor) {
  return (value + divisor - 1) / divisor;
}

/// The least multiple of `multiple` that is at least `value`; neither is negative.
template <typename T>
[[nodiscard]] constexpr T RoundUp(T value, std::common_type_t<T> multiple) {
  return CeilDiv(value, multiple) * multiple;
}

}  // namespace tenon
