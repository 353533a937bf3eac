// Blends the pixels of an image that a place between them is made of.
#pragma once

#include "backends/cpu/kernels/portable/strided.hpp"
#include "runtime/ops/image_taps.hpp"

namespace tenon::cpu::portable {

template <int kTaps>
[[nodiscard]] float Blend(const float* x, const ImageTaps<kTaps>& rows,
                          const ImageTaps<kTaps>& columns) {
  float sum = 0.0F;
  for (int i = 0; i < kTaps; ++i) {
    float row = 0.0F;
    for (int j = 0; j < kTaps; ++j) {
      row += columns.weight[j] * x[rows.offset[i] + columns.offset[j]];
    }
    sum += rows.weight[i] * row;
  }
  return sum;
}

/// All channels, neighbours in memory, of one output pixel.
template <int kTaps>
void BlendPixel(int channels, const float* x, const ImageTaps<kTaps>& rows,
                const ImageTaps<kTaps>& columns, float* y) {
  const ImageTaps<kTaps> r = rows;  // copies, which y cannot be part of
  const ImageTaps<kTaps> c = columns;
  TENON_INDEPENDENT_LOOP
  for (int k = 0; k < channels; ++k) y[k] = Blend(x + k, r, c);
}

}  // namespace tenon::cpu::portable
