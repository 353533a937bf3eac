// The innermost loop of windows of few pixels and channels: a window, of which each row is read as
// bytes where it lies, times four outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/quads.hpp"

namespace tenon::cpu::dsp {

/// Multiplies windows of i8 by four outputs and stores bytes. A row of a window has 4 bytes at
/// least: its first word, and those that end where it does, of which the first may overlap that
/// one. There the weights are 0. Weights: as of QuadGemm, for each word of each row in turn.
/// Assembler code relies on the order of the fields.
struct WindowGemm {
  uint32_t bias[kQuadOutputs];  ///< initial values of the sums
  const int16_t* w;             ///< at a multiple of 4 bytes
  uint32_t less;                ///< 0 less the zero point of x, in both halves
  int32_t rows;                 ///< of a window; > 0
  uint32_t unused;
  Requantizer requantizer[kQuadOutputs];
  uint8_t* y;  ///< first window's output; every call needs new values in these four fields
  ptrdiff_t y_step;
  ptrdiff_t x_gap;  ///< from the row behind a window's last one to the next window
  int32_t count;    ///< windows; > 0
  const uint8_t* x;
  int32_t words;        ///< of a row: 1 to kMostWindowWords (caps)
  RequantizeKind kind;  ///< not kAny; sums and weights are single
  ptrdiff_t back;       ///< bytes from behind the first word to the next one; <= 0
  ptrdiff_t row_gap;    ///< bytes from behind a row to the next one
};

void MultiplyWindows(WindowGemm& gemm);

}  // namespace tenon::cpu::dsp
