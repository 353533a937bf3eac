// The loop of depthwise convolutions with 3x3 windows that compute one row of outputs: four
// channels at a time, whose columns of x are widened once for all windows that read them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

inline constexpr int kColumnTaps = 3;
/// Is the number of words of a column: of each of channels 1, 3, 2 and 0 the halves of rows 0 and
/// 1, then row 2 of channels 0 and 2, and of channels 1 and 3.
inline constexpr int kColumnWords = 6;
inline constexpr int kRowChannels = 4;

/// Describes a row of outputs. Assembler code relies on the order of the fields.
struct RowGemm {
  // Of four channels; used by the routine, need no values.
  uint32_t sums[kRowChannels];                  ///< initial ones
  uint32_t weights[kColumnTaps][kColumnWords];  ///< in the order of a column
  Requantizer requantizer[kRowChannels];
  uint8_t* y;  ///< of the next output
  ptrdiff_t y_step;
  int32_t left;      ///< outputs; needs no value
  ptrdiff_t x_back;  ///< bytes from the column behind a window to the next window's first; <= 0

  // What changes from four channels to the next has to be set for each row.
  int32_t outputs;  ///< > 0
  uint8_t* first_y;
  const uint8_t* rows[kColumnTaps];  ///< of x, at the first column that is inside
  ptrdiff_t steps[kColumnTaps];      ///< bytes to the next column; 0: padding
  uint32_t less;                     ///< as of Widening
  int32_t columns;                   ///< that are inside x
  uint32_t* inside;                  ///< the first of them, widened
  const uint32_t* x;                 ///< the first column, widened
  ptrdiff_t next_rows[kColumnTaps];  ///< bytes to the next four channels
  const uint8_t* w;
  ptrdiff_t w_row;
  ptrdiff_t w_column;
  const int32_t* bias;
  const uint8_t* factors;  ///< words: multipliers, or scales
  const int8_t* shifts;    ///< of multipliers
  int32_t quads;           ///< four channels each; > 0
  int32_t zero_point;      ///< of floats; else twice that, plus 1
};

/// Computes the row. `is_float`: RequantizeFloat; else RequantizeDoubled.
void MultiplyRow(RowGemm& gemm, bool is_float);

}  // namespace tenon::cpu::dsp
