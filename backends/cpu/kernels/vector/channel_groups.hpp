// How output channels are cut into groups that fit the registers, and how weights are packed so
// that each group reads its own in order.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu::vector {

/// Output channels [first, first + channels), whose packed weights start at `weights` floats.
struct ChannelGroup {
  int32_t first;
  int32_t channels;
  int32_t width;   ///< channels with padding
  int32_t source;  ///< the first input channel: not 0 in grouped convolutions
  int32_t padded;  ///< channels of the groups before this one, with their padding
  int64_t weights;
};

/// Strided weights: w(m, k, tap) = data[m * output_step + k * input_step + tap * tap_step].
struct WeightsView {
  const float* data;
  int64_t output_step;
  int64_t input_step;
  int64_t tap_step;
};

/// What is packed: `outputs` channels in `convolutions` equal and independent parts, each from
/// `depth` channels over `taps`.
struct GroupedShape {
  int outputs;
  int convolutions;
  int depth;
  int taps;
};

/// Number of groups, and channels of all groups with their padding, for groups of at most
/// `tile_width`.
[[nodiscard]] int CountGroups(const GroupedShape& shape, int tile_width);
[[nodiscard]] int64_t PaddedChannels(const GroupedShape& shape, int tile_width);

/// Fills `groups` (CountGroups of them).
void MakeGroups(const GroupedShape& shape, int tile_width, ChannelGroup* groups);

/// Packs one group's weights as [taps][depth][width]; `packed` is zeroed before.
void PackGroup(const ChannelGroup& group, const GroupedShape& shape, const WeightsView& weights,
               float* packed);

}  // namespace tenon::cpu::vector
