// Arithmetic of offsets that saturates instead of overflowing.
#pragma once

#include <cstdint>
#include <limits>

namespace tenon::converter {

/// a + b for b >= 0, or the largest int64_t.
[[nodiscard]] constexpr int64_t AddSaturated(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

/// The smallest multiple of `alignment` (>= 1) that is at least `value` (>= 0), or the largest
/// int64_t, which may be no multiple.
[[nodiscard]] constexpr int64_t AlignUpSaturated(int64_t value, int64_t alignment) {
  const int64_t remainder = value % alignment;
  return remainder == 0 ? value : AddSaturated(value, alignment - remainder);
}

}  // namespace tenon::converter
