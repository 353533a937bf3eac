// Cuts output channels into groups that fit the registers, and packs weights so that each group
// reads its own in order.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"

namespace tenon::cpu::f32 {

/// Describes output channels [first, first + channels).
struct ChannelGroup {
  int32_t first;
  int32_t channels;
  int32_t width;   ///< channels with padding
  int32_t source;  ///< the first input channel: not 0 in grouped convolutions
  int32_t padded;  ///< channels of the packed groups before this one, with their padding
  bool packed;     ///< else read in the plan, which takes whole vectors
  /// The weights are [taps][depth] rows of `width` floats, `weight_step` apart.
  const float* weights;
  int64_t weight_step;
  const float* bias;  ///< [width]
};

/// Describes strided weights: w(m, k, tap) is at m * output_step + k * input_step + tap * tap_step.
struct WeightsView {
  portable::StoredWeights stored;
  int64_t output_step;
  int64_t input_step;
  int64_t tap_step;

  /// Returns true if they are f32 and rows of neighbouring outputs follow each other in the order
  /// in which tiles read them.
  [[nodiscard]] bool CanBeReadInPlace(int depth, int taps) const {
    return stored.IsPlain() && output_step == 1 && (taps == 1 || tap_step == depth * input_step);
  }
};

/// Describes what is packed: `outputs` channels in `convolutions` equal and independent parts, each
/// from `depth` channels over `taps`.
struct GroupedShape {
  int outputs;
  int convolutions;
  int depth;
  int taps;
  bool wide_last = false;  ///< the last group has kWidthStep channels more than a tile
};

/// Counts the groups of at most `tile_width` channels, and the channels, with their padding, of the
/// groups that must be packed: of all, or with `in_place` of those without a whole width.
[[nodiscard]] int CountGroups(const GroupedShape& shape, int tile_width);
[[nodiscard]] int64_t PackedChannels(const GroupedShape& shape, int tile_width, bool in_place);

/// Fills all but the pointers of `groups` (CountGroups of them).
void MakeGroups(const GroupedShape& shape, int tile_width, bool in_place, ChannelGroup* groups);

/// Packs one group's weights as [taps][depth][width]; `packed` is zeroed before.
void PackGroup(const ChannelGroup& group, const GroupedShape& shape, const WeightsView& weights,
               float* packed);

}  // namespace tenon::cpu::f32
