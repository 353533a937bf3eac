// The innermost loop of products of a few pixels: a pixel, read as bytes, times four outputs. Each
// four outputs widen a pixel again, but need no memory for it; the weights are widened once for all
// pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Is the number of outputs that are computed at once.
inline constexpr int kQuadOutputs = 4;

/// Multiplies pixels of i8 by four outputs and stores bytes. Assembler code relies on the order of
/// the fields. Weights: for each step in turn, halves 0 and 2 of each output, then halves 1 and 3.
struct QuadGemm {
  uint32_t bias[kQuadOutputs];  ///< initial values of the sums
  const int16_t* w;             ///< at a multiple of 4 bytes
  uint32_t less;                ///< 0 less the zero point of x, in both halves
  uint32_t rounds;              ///< used by the routine, needs no value
  uint32_t code;  ///< 0 before the first of several calls with the same steps and kind
  Requantizer requantizer[kQuadOutputs];
  uint8_t* y;  ///< first pixel's output; every call needs new values in these four fields
  ptrdiff_t y_step;
  ptrdiff_t x_gap;  ///< from the end of a pixel to the next
  int32_t count;    ///< pixels; > 0
  const uint8_t* x;
  int32_t steps;             ///< of four inputs; > 0
  RequantizeKind kind;       ///< not kAny; sums and weights are single
  uint32_t requantize_code;  ///< used by the routine, needs no value
};

void MultiplyQuads(QuadGemm& gemm);

/// Widens the weights of four outputs to the order above: `words` times four weights of each, which
/// are i8 and in rows `row_bytes` apart.
void WidenQuads(const uint8_t* from, ptrdiff_t row_bytes, int words, int16_t* to);

}  // namespace tenon::cpu::dsp
