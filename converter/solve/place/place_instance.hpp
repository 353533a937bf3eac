// Brings a placement problem into the form that the search works on, with only what constrains it.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "converter/solve/place/place.hpp"

namespace tenon::converter {

/// Describes a buffer that takes space, in units of Instance::unit bytes.
struct InstanceBuffer {
  int first_section = 0;
  int last_section = 0;  ///< inclusive
  int64_t size = 0;      ///< padded to what the next buffer above it can use
  int64_t alignment = 1;
  int64_t min_offset = 0;  ///< > 0 only where the offset is fixed
  bool fixed = false;
  int64_t bytes = 0;  ///< size in bytes, not padded
  size_t source = 0;  ///< index in the list given
};

/// Lists the buffers sorted by first section. A section is a maximal set of buffers alive together:
/// two buffers overlap in time exactly if they share a section, and there are no more sections than
/// buffers, however many steps there are.
struct Instance {
  int64_t unit = 1;  ///< every offset worth trying is a multiple of this many bytes
  int sections = 0;
  std::vector<InstanceBuffer> buffers;
};

/// Returns none if the search could not handle the problem: sums of sizes could leave the range of
/// its arithmetic, a fixed offset is not aligned, or there are too many buffers (tens of
/// thousands).
[[nodiscard]] std::optional<Instance> MakeInstance(const std::vector<Buffer>& buffers);

// The following functions compute with offsets and saturate instead of overflowing.

/// Returns a + b for b >= 0, or the largest int64_t.
[[nodiscard]] constexpr int64_t AddSaturated(int64_t a, int64_t b) {
  return a > std::numeric_limits<int64_t>::max() - b ? std::numeric_limits<int64_t>::max() : a + b;
}

/// Returns the smallest multiple of `alignment` (>= 1) that is at least `value` (>= 0), or the
/// largest int64_t, which may not be a multiple.
[[nodiscard]] constexpr int64_t AlignUpSaturated(int64_t value, int64_t alignment) {
  const int64_t remainder = value % alignment;
  return remainder == 0 ? value : AddSaturated(value, alignment - remainder);
}

}  // namespace tenon::converter
