// What importers, passes and splits ask of shapes over and over.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <vector>

#include "runtime/base/shape.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {

/// The shape as 64-bit numbers.
[[nodiscard]] inline std::vector<int64_t> DimsOf(const Shape& shape) {
  return {shape.dims, shape.dims + shape.rank};
}

/// Product of the dimensions [begin, end).
[[nodiscard]] inline int64_t ElementsBetween(const Shape& shape, int32_t begin, int32_t end) {
  return std::accumulate(shape.dims + begin, shape.dims + end, int64_t{1}, std::multiplies<>());
}

/// The reshape that gives the shape.
[[nodiscard]] inline ReshapeAttributes ReshapeTo(const Shape& shape) {
  ReshapeAttributes reshape;
  reshape.rank = shape.rank;
  std::copy_n(shape.dims, shape.rank, reshape.dims);
  return reshape;
}

/// The slice that takes everything.
[[nodiscard]] inline SliceAttributes WholeSlice(const Shape& shape) {
  SliceAttributes slice;
  slice.rank = shape.rank;
  std::copy_n(shape.dims, shape.rank, slice.sizes);
  std::fill_n(slice.steps, shape.rank, 1);
  return slice;
}

/// The slice that takes `size` elements along `axis` from `begin` on, each `step` (which may be
/// negative) from the one before, and everything along the other dimensions.
[[nodiscard]] inline SliceAttributes SliceAlong(const Shape& shape, int32_t axis, int64_t begin,
                                                int64_t size, int32_t step = 1) {
  SliceAttributes slice = WholeSlice(shape);
  slice.begins[axis] = static_cast<int32_t>(begin);
  slice.sizes[axis] = static_cast<int32_t>(size);
  slice.steps[axis] = step;
  return slice;
}

}  // namespace tenon::converter
