// What `load` makes for a quantized depthwise convolution: weights and parameters in the order in
// which one instruction set's routine reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/q8/byte_routines.hpp"

namespace tenon::cpu::q8 {

/// Channels [first, first + channels), computed in registers for `width`.
struct ChannelBlock {
  int first;
  int channels;
  int width;
};

/// The block that begins at channel `first` where blocks are at most `widest` wide.
[[nodiscard]] constexpr ChannelBlock MakeChannelBlock(int first, int all, int widest) {
  const int left = all - first;
  int width = widest;
  while (width > 16 && left <= width - 16) width /= 2;
  return {first, left < width ? left : width, width};
}

/// Lies in one block of memory with all that it points to. Arrays are of `channels`, rounded up to
/// 16, in the order of DepthwiseForm; the padding's are in the input's.
struct DepthwiseWeights {
  const ByteRoutines* routines;
  size_t bytes;
  int channels;
  int blocks;
  int groups;      ///< of taps
  bool is_column;  ///< see DepthwiseForm
  uint8_t* weights;
  int32_t* bias;
  uint32_t* multiplier;  ///< bits of f32, or i32
  int32_t* doubling;     ///< shifts: see DepthwiseCall
  int32_t* half;
  int32_t* right;
  int32_t* away;
  uint8_t* padding;  ///< the zero point of x

  [[nodiscard]] ChannelBlock BlockAt(int index) const {
    ChannelBlock block = MakeChannelBlock(0, channels, routines->depthwise_form.widest);
    // All but the last three are as wide as can be.
    const int widest = routines->depthwise_form.widest;
    const int whole = index < channels / widest ? index : channels / widest;
    if (whole > 0) block = MakeChannelBlock(whole * widest, channels, widest);
    for (int i = whole; i < index; ++i) {
      block = MakeChannelBlock(block.first + block.width, channels, widest);
    }
    return block;
  }
};

}  // namespace tenon::cpu::q8
