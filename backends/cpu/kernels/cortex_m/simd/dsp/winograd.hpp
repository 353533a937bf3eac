// Products of convolutions of three rows of taps, for two rows of outputs at a time, by Winograd's
// F(2,3): of the rows d0..d3 of x and g0..g2 of the weights, four products give twice both rows of
// y, which six would give otherwise:
//   2 y0 = m0 + m1 + m2    m0 = (d1 + d2) (g0 + g1 + g2)    m2 = (d0 - d2) 2 g0
//   2 y1 = m0 - m1 + m3    m1 = (d2 - d1) (g0 - g1 + g2)    m3 = (d3 - d1) 2 g2
// All of it is exact: halves (i16) contain the sums of rows, and sums of products wrap.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Is how many products there are of the rows, one for each sum of rows.
inline constexpr int kWinogradSums = 4;

/// Describes two pixels of the upper row of a tile.
struct WinogradPair {
  const int16_t* x;  ///< their inputs in the first sum of rows
  int32_t y[2];      ///< offsets from `output`; the second pixel's bytes are stored first
  int32_t more;      ///< 0 in the last pair
};

/// Describes the products of pairs of pixels with the weights of two outputs. Inputs and weights
/// are halves (i16) at multiples of 4 bytes: for each sum of rows, for each step of 4 inputs, 4
/// halves of pixel (output) 0 and 4 of 1. The weights of the sums follow each other. Assembler code
/// relies on the order of the fields; it writes those that need no value.
struct WinogradGemm {
  uint32_t bias[4];  ///< twice the bias, as initial values of the sums: [pixel][output]
  const int16_t* w;
  uint32_t begin;  ///< needs no value
  uint32_t lower[4];
  const int16_t* last_w;
  uint32_t begin_last;
  Requantizer requantizer[2];
  uint8_t* output;  ///< start of output 0's bytes
  const WinogradPair* pairs;
  int32_t x_gap;    ///< bytes from the end of a pixel's inputs in a sum of rows to the next sum's
  int32_t y_row;    ///< bytes from the upper row of y to the lower one
  uint32_t at[10];  ///< needs no value
  uint32_t code;    ///< needs no value
  int32_t w_bytes;  ///< of a sum of rows
  int32_t steps;    ///< of a sum of rows; > 0
  RequantizeKind kind;  ///< not kAny; kFloat with half the scales
};

void MultiplyWinograd(const WinogradGemm& gemm);

/// Writes the sums of an output's three rows of weights, of `words` (> 0) words of i8 each, as one
/// of WinogradGemm's two outputs.
void SumWinogradWeights(const uint8_t* row, int words, int16_t* to);

}  // namespace tenon::cpu::dsp
