// The innermost loops of depthwise convolutions: one channel of some output rows.
#pragma once

#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

/// Describes one channel's 3x3 windows along a row, where inputs and weights are halves (i16).
/// Assembler code relies on the order of the fields.
struct ThreeRows {
  uint32_t bias[2];     ///< initial value of the sums, twice
  uint32_t weights[6];  ///< of each row: weights 0 and 1, and weights 1 and 2
  Requantizer requantizer;
  uint8_t* y;              ///< the first output
  int32_t y_step;          ///< bytes to the next one
  const int16_t* rows[3];  ///< rows of the first window; at multiples of 4 bytes
  int32_t outputs;         ///< of a line; > 0
  uint32_t* sums;          ///< [lines][outputs]; null: bytes are stored in y instead
  RequantizeKind kind;     ///< used without `sums`; not kAny
  int32_t lines;           ///< of y; > 0
  int32_t x_gap;  ///< bytes from behind a line's last pair of windows to the next line's first
  int32_t y_gap;  ///< bytes from behind a line's last output to the next line's first
};

/// Computes windows that are 1 or 2 halves apart; with 2, there must be one line. It reads up to 4
/// halves of each row from the last window's first on.
void RunThreeRows(const ThreeRows& row);
void RunThreeRowsApart(const ThreeRows& row);

}  // namespace tenon::cpu::dsp
