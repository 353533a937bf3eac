// The innermost loops of depthwise convolutions that read windows where they lie: all channels of a
// pixel.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu::dsp {

/// Describes those taps of a pixel's window that are inside x, and what becomes of the sums, for
/// each four channels in turn. Assembler code relies on the order of the fields.
struct PixelWindow {
  ptrdiff_t gap;  ///< bytes of x from behind a row's last tap to the next row's first
  ptrdiff_t w_gap;
  uint32_t code;   ///< needs no value
  int32_t rows;    ///< <= 0: there are no taps
  ptrdiff_t step;  ///< bytes of x from a tap to the next one of its row
  uint32_t less;   ///< as of Widening
  ptrdiff_t w_step;
  const uint8_t* x;  ///< first tap of the first channel
  const uint8_t* w;
  const int32_t* bias;
  const void* factors;  ///< multipliers, or scales (float): one for each channel
  const int8_t* shifts;
  uint8_t* y;
  int32_t quads;       ///< four channels each; > 0
  int32_t zero_point;  ///< of floats; else twice that, plus 1
  uint32_t finish;     ///< needs no value
  int32_t columns;     ///< of the taps: 1 to kMostWindowTaps (caps) where there are rows
  int32_t is_float;    ///< RequantizeFloat, else RequantizeDoubled
};

void RunWindow(const PixelWindow& window);

}  // namespace tenon::cpu::dsp
