// The widened weights of two outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"

namespace tenon::cpu::dsp {

/// Weights of all outputs: each output has `runs` runs, of `taps` taps of `channels` elements. A
/// run becomes `steps` * 4 halves: a tap `padded_channels` of them, the rest 0. Strides in bytes.
struct StoredWeights {
  const uint8_t* data = nullptr;
  int channels = 0;
  int padded_channels = 0;
  int taps = 0;
  int runs = 0;
  int runs_in_row = 1;  ///< runs that are `column` apart; `row` separates groups of so many
  int steps = 0;
  ptrdiff_t output = 0;
  ptrdiff_t channel = 0;
  ptrdiff_t row = 0;
  ptrdiff_t column = 0;
  bool is_signed = true;
  bool in_order = true;                  ///< see Widening
  const uint8_t* zero_points = nullptr;  ///< null: 0
  ptrdiff_t zero_point_step = 0;
};

/// Writes the weights of outputs [first, first + count), count 1 or 2, in the order of PairDots,
/// over what was there of other outputs, or zeros before the first.
void WidenPair(const StoredWeights& weights, int first, int count, int16_t* to);

}  // namespace tenon::cpu::dsp
