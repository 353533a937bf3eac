// Shapes with a fixed largest rank, so that they live on the stack and in tables.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"

namespace tenon {

inline constexpr int kMaxRank = 8;

/// Dimensions of a tensor in the model's own order (NCHW for images). Every dimension is >= 0 and
/// the product of those that are not 0 is below 2^31; `IsValid` checks both.
struct Shape {
  int32_t rank = 0;
  int32_t dims[kMaxRank] = {};

  constexpr Shape() = default;
  constexpr Shape(const int32_t* values, int32_t count) : rank(count) {
    for (int32_t i = 0; i < count && i < kMaxRank; ++i) dims[i] = values[i];
  }
  template <size_t N>
  constexpr explicit Shape(const int32_t (&values)[N]) : Shape(values, static_cast<int32_t>(N)) {
    static_assert(N <= kMaxRank, "rank too large");
  }

  [[nodiscard]] constexpr int32_t operator[](int32_t axis) const { return dims[axis]; }
  [[nodiscard]] constexpr int32_t& operator[](int32_t axis) { return dims[axis]; }

  [[nodiscard]] constexpr int64_t Elements() const {
    int64_t count = 1;
    for (int32_t i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }

  /// Rank and dimensions in range, and fewer than 2^31 elements (checked without overflow).
  [[nodiscard]] constexpr bool IsValid() const {
    if (rank < 0 || rank > kMaxRank) return false;
    int64_t count = 1;
    for (int32_t i = 0; i < rank; ++i) {
      if (dims[i] < 0) return false;
      // Empty tensors obey too, so that products of some of the dimensions never overflow.
      if (dims[i] != 0) count *= dims[i];
      if (count > INT32_MAX) return false;
    }
    return true;
  }

  friend constexpr bool operator==(const Shape& a, const Shape& b) {
    if (a.rank != b.rank) return false;
    for (int32_t i = 0; i < a.rank; ++i) {
      if (a.dims[i] != b.dims[i]) return false;
    }
    return true;
  }
  friend constexpr bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }
};

}  // namespace tenon
