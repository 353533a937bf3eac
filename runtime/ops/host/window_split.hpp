// How ops with windows (convolution, pooling) are split along rows and columns.
#pragma once

#include "runtime/ops/host/host_rows.hpp"
#include "runtime/ops/shape_rules.hpp"

namespace tenon {

[[nodiscard]] inline InputSplit WindowSplit(int32_t axis, const WindowAxis& window) {
  return {axis, static_cast<int32_t>(window.stride), 1, static_cast<int32_t>(window.pad_begin),
          static_cast<int32_t>(window.EffectiveKernel())};
}

/// Where the last window begins, from the first element of the input.
[[nodiscard]] inline int64_t LastStart(const WindowAxis& window, int32_t outputs) {
  return (int64_t{outputs} - 1) * window.stride - window.pad_begin;
}

/// True if every window lies over an element of the input, taps or not: a part always has input.
[[nodiscard]] inline bool EveryWindowHasInput(const WindowAxis& window, int32_t outputs) {
  return window.pad_begin < window.EffectiveKernel() && LastStart(window, outputs) < window.input;
}

/// Sets the pads of axis 2 + `i` to what `out` needs outside the input.
inline void SetPads(const InputSplit& split, const IndexRange& out, int32_t input_size, int i,
                    int32_t* pads) {
  const NeededRange needed = Needed(split, out);
  const IndexRange range = InputRange(split, out, input_size);
  pads[i] = static_cast<int32_t>(range.begin - needed.begin);
  pads[2 + i] = static_cast<int32_t>(needed.end - range.end);
}

}  // namespace tenon
