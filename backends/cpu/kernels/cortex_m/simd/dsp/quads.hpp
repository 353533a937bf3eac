// The innermost loop of products of a few pixels: a pixel, as the bytes that it is, times four
// outputs. A pixel is widened for each four outputs again, but nothing is kept of it, and the
// weights are widened once for all pixels.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Outputs that are computed at once.
inline constexpr int kQuadOutputs = 4;

/// Pixels of i8 times four outputs; bytes are stored. Assembler code knows the order of the fields.
/// Weights: for each step in turn, halves 0 and 2 of each output, then halves 1 and 3.
struct QuadGemm {
  uint32_t bias[kQuadOutputs];  ///< what sums begin with
  const int16_t* w;             ///< at a multiple of 4 bytes
  uint32_t less;                ///< 0 less the zero point of x, in both halves
  uint32_t rounds;              ///< no input
  uint32_t code;                ///< 0 before the first call, of several with equal steps and kind
  Requantizer requantizer[kQuadOutputs];
  uint8_t* y;  ///< of the first pixel; these four are no inputs of another call
  ptrdiff_t y_step;
  ptrdiff_t x_gap;  ///< from the end of a pixel to the next
  int32_t count;    ///< pixels; > 0
  const uint8_t* x;
  int32_t steps;             ///< of four inputs; > 0
  RequantizeKind kind;       ///< kDoubled or kRelu; sums and weights are single
  uint32_t requantize_code;  ///< no input
};

void MultiplyQuads(QuadGemm& gemm);

/// The weights of four outputs, as above: `words` times four of each, which are i8 and lie
/// `row_bytes` apart.
void WidenQuads(const uint8_t* from, ptrdiff_t row_bytes, int words, int16_t* to);

}  // namespace tenon::cpu::dsp
