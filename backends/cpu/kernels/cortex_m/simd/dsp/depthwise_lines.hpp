// The innermost loops of depthwise convolutions that compute two rows of outputs at a time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize.hpp"

namespace tenon::cpu::dsp {

inline constexpr int kLineTaps = 3;      ///< rows and columns of a window
inline constexpr int kLineChannels = 4;  ///< of which a column of the workspace has words

/// Returns the words of a channel in a column of the workspace: with steps of 1 one of rows 0 and 1
/// and one of rows 2 and 3 of x, with steps of 2 also one of rows 4 and 5.
[[nodiscard]] constexpr int LineWords(int stride) { return stride + 1; }

/// Describes a channel of two rows of outputs. Assembler code relies on the order of the fields.
struct Lines {
  uint32_t bias[2];                 ///< doubled; the same twice: what sums begin with
  uint32_t weights[2 * kLineTaps];  ///< of each column: doubled ones of rows 0 and 1, of 1 and 2
  Requantizer requantizer;
  ptrdiff_t y_row;    ///< from the first row to the second; 0: there is none
  ptrdiff_t y_step;   ///< bytes to the next output
  ptrdiff_t columns;  ///< of y; > 0
  const uint32_t* x;  ///< the first column's words
  uint8_t* y;
};

/// Computes channels [lines, end), of which there is one at least.
using RunLines = void(const Lines* lines, const Lines* end);

/// Returns the routine for sums of this kind, which IsDoubled, and steps of 1 or 2.
[[nodiscard]] RunLines* LinesRoutine(RequantizeKind kind, int stride);

}  // namespace tenon::cpu::dsp
