// Finds the taps of a pooling's windows that are in the input, one spatial dimension at a time,
// without testing each of them.
#pragma once

#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu {

/// Describes one spatial dimension.
struct PoolAxis {
  int64_t input;
  int64_t kernel;
  int64_t stride;
  int64_t dilation;
  int64_t pad_begin;
  int64_t pad_end;

  /// Returns the first tap of the window of output `index` that is at `low` or after it, counted
  /// from the window's own first tap.
  [[nodiscard]] int64_t TapsBefore(int64_t index, int64_t low) const {
    const int64_t gap = low - (index * stride - pad_begin);
    // Nearly all windows return here, without a division for each.
    if (gap <= 0) return 0;
    if (gap > (kernel - 1) * dilation) return kernel;
    return (gap + dilation - 1) / dilation;
  }
  [[nodiscard]] int64_t TapsBetween(int64_t index, int64_t low, int64_t high) const {
    return TapsBefore(index, high) - TapsBefore(index, low);
  }
};

/// Describes the taps of one window that are in the input.
struct Window {
  int64_t first;  ///< coordinate of the first
  int taps;
};

[[nodiscard]] inline Window WindowOf(const PoolAxis& axis, int index) {
  const int64_t skipped = axis.TapsBefore(index, 0);
  Window window;
  window.first = index * axis.stride - axis.pad_begin + skipped * axis.dilation;
  window.taps = static_cast<int>(axis.TapsBefore(index, axis.input) - skipped);
  return window;
}

/// Counts the positions that an average divides by. Those past the padding, which ceil_mode may
/// reach, never count.
[[nodiscard]] inline int64_t Counted(const PoolAxis& axis, int index, bool include_padding) {
  return include_padding ? axis.TapsBetween(index, -axis.pad_begin, axis.input + axis.pad_end)
                         : axis.TapsBetween(index, 0, axis.input);
}

/// Returns rows (0) or columns (1) of an op whose attributes begin with PoolAttributes.
[[nodiscard]] inline PoolAxis PoolAxisOf(const OpCall& op, int i) {
  const auto& attributes = op.AttributesAs<PoolAttributes>();
  PoolAxis axis;
  axis.input = op.Input(0).dims[2 + i];
  axis.kernel = attributes.kernel[i];
  axis.stride = attributes.strides[i];
  axis.dilation = attributes.dilations[i];
  axis.pad_begin = attributes.pads[i];
  axis.pad_end = attributes.pads[2 + i];
  return axis;
}

}  // namespace tenon::cpu
