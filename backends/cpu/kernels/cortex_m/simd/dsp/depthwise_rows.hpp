// The innermost loops of depthwise convolutions: one channel of one output row.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/finish.hpp"

namespace tenon::cpu::dsp {

/// One channel's 3x3 windows along a row, inputs and weights being halves (i16). Assembler code
/// knows the order of the fields.
struct ThreeRows {
  uint32_t bias[2];     ///< the same twice: what sums begin with
  uint32_t weights[6];  ///< of each row: weights 0 and 1, and weights 1 and 2
  Finish finish;
  uint8_t* y;              ///< the first output
  int32_t y_step;          ///< bytes to the next one
  const int16_t* rows[3];  ///< of the first window; at multiples of 4 bytes
  int32_t outputs;         ///< > 0
  uint32_t* sums;  ///< [outputs, and one more if they are odd]; null: bytes are stored in y instead
  FinishKind kind;  ///< where there is no `sums`; not kAny
};

/// Windows that are 1 or 2 halves apart. Up to 4 halves from the last window's first are read of
/// each row.
void RunThreeRows(const ThreeRows& row);
void RunThreeRowsApart(const ThreeRows& row);

}  // namespace tenon::cpu::dsp
