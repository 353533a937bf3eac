// The innermost loop of products of five pixels at a time with one output after the other, whose
// weights are read as bytes: where pixels are few, widening weights costs more than that.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Describes five pixels' inputs, in halves, and all outputs. Inputs: for each step of four inputs
/// in turn, halves 0 and 2 of each pixel, then halves 1 and 3. Assembler code relies on the order
/// of the fields.
struct FiveGemm {
  const int16_t* x;  ///< at a multiple of 4 bytes
  const int32_t* bias;
  const int16_t* x_end;
  const uint8_t* factors;  ///< words, one for each output: multipliers, or scales
  const int8_t* shifts;    ///< of multipliers
  uint8_t* y;
  ptrdiff_t y_step;     ///< bytes from a pixel to the next
  int32_t outputs;      ///< > 0
  int32_t zero_point;   ///< of floats; else twice that, plus 1
  int32_t doubling;     ///< 1: inputs are doubled (see IsDoubled), and so must be biases; else 0
  const uint8_t* w;     ///< i8, outputs one after the other
  int32_t steps;        ///< > 0
  RequantizeKind kind;  ///< not kAny
};

void MultiplyFives(const FiveGemm& gemm);

/// Widens the inputs of a pixel to the order above. `less`: as of Widening.
void WidenFifth(uint32_t less, bool doubled, const uint8_t* from, int32_t steps, int16_t* to);

}  // namespace tenon::cpu::dsp
