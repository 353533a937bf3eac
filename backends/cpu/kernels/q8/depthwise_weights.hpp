// The data that `load` makes for a quantized depthwise convolution: weights and parameters in the
// order in which one instruction set's routine reads them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/q8/byte_routines.hpp"

namespace tenon::cpu::q8 {

/// Describes channels [first, first + channels), which registers of `width` channels compute.
struct ChannelBlock {
  int first;
  int channels;
  int width;

  /// Returns how many channels before them fill the registers, where the form lets blocks overlap.
  [[nodiscard]] constexpr int Common(const DepthwiseForm& form) const {
    return form.overlaps && first > 0 ? width - channels : 0;
  }
};

/// Returns the block that begins at channel `first` if blocks are at most `widest` wide.
[[nodiscard]] constexpr ChannelBlock MakeChannelBlock(int first, int all, int widest) {
  const int left = all - first;
  int width = widest;
  while (width > 16 && left <= width - 16) width /= 2;
  return {first, left < width ? left : width, width};
}

/// Is one block of memory with everything that it points to. Arrays have `channels` entries,
/// rounded up to a multiple of 16, in the order of DepthwiseForm; only the padding is in the
/// input's order.
struct DepthwiseWeights {
  const ByteRoutines* routines;
  size_t bytes;
  int channels;
  int blocks;
  int groups;          ///< of taps
  bool is_column;      ///< see DepthwiseForm
  int window_columns;  ///< as in DepthwiseCall
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
    // All blocks but the last three have the largest width.
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
