// Converts flat output indices to offsets in memory, and decides whether to use threads.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/loop_nest.hpp"

namespace tenon::cpu::portable {

/// Returns the offset in `view` of element `index` of the row-major order over its dimensions
/// without dimension `skipped`, whose index is 0.
[[nodiscard]] inline ptrdiff_t OffsetWithout(int skipped, int32_t index, const TensorView& view) {
  ptrdiff_t offset = 0;
  for (int axis = view.rank - 1; axis >= 0; --axis) {
    if (axis == skipped) continue;
    offset += static_cast<ptrdiff_t>(index % view.dims[axis]) * view.strides[axis];
    index /= view.dims[axis];
  }
  return offset;
}

/// Returns the offset in `operand` of y's matrix `batch`, broadcast over the dimensions before the
/// last two.
[[nodiscard]] inline ptrdiff_t BatchOffset(int batch, const TensorView& y,
                                           const TensorView& operand) {
  ptrdiff_t offset = 0;
  for (int from_end = 2; from_end < y.rank; ++from_end) {
    const int dim = y.dims[y.rank - 1 - from_end];
    offset += batch % dim * BroadcastStride(operand, y.rank, y.rank - 1 - from_end);
    batch /= dim;
  }
  return offset;
}

/// Calls ParallelFor for `count` items of about `work` elementary operations each; it stays on this
/// thread where the whole work costs less than waking other threads.
template <typename Body>
void ParallelForWork(const ParallelRunner* runner, int count, int64_t work, const Body& body) {
  constexpr int64_t kWorthThreads = 32768;
  // The product alone could overflow: windows have up to 2^56 taps.
  const bool is_small = work < kWorthThreads && count * work < kWorthThreads;
  ParallelFor(is_small ? nullptr : runner, count, body);
}

}  // namespace tenon::cpu::portable
