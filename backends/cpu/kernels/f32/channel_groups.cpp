#include "backends/cpu/kernels/f32/channel_groups.hpp"

#include <cstring>

#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/base/round_up.hpp"

namespace tenon::cpu::f32 {
namespace {

/// Calls `use` with every group in order.
template <typename Use>
void ForEachGroup(const GroupedShape& shape, int tile_width, bool in_place, const Use& use) {
  const int outputs = shape.outputs / shape.convolutions;
  int32_t padded = 0;
  for (int convolution = 0; convolution < shape.convolutions; ++convolution) {
    for (int done = 0; done < outputs;) {
      const int left = outputs - done;
      ChannelGroup group = {};
      const bool is_wide = shape.wide_last && left == tile_width + kWidthStep;
      group.channels = left < tile_width || is_wide ? left : tile_width;
      group.width = RoundUp(group.channels, kWidthStep);
      group.first = convolution * outputs + done;
      group.source = convolution * shape.depth;
      group.padded = padded;
      group.packed = !in_place || group.channels != group.width;
      use(group);
      if (group.packed) padded += group.width;
      done += group.channels;
    }
  }
}

/// Packs weights whose outputs are neighbours.
void CopyGroup(const ChannelGroup& group, const GroupedShape& shape, const WeightsView& weights,
               float* packed) {
  const auto bytes = static_cast<size_t>(group.channels) * sizeof(float);
  for (int tap = 0; tap < shape.taps; ++tap) {
    const float* row = weights.stored.Plain() + group.first + tap * weights.tap_step;
    for (int k = 0; k < shape.depth; ++k) {
      std::memcpy(packed, row, bytes);
      row += weights.input_step;
      packed += group.width;
    }
  }
}

}  // namespace

int CountGroups(const GroupedShape& shape, int tile_width) {
  int count = 0;
  ForEachGroup(shape, tile_width, false, [&](const ChannelGroup&) { ++count; });
  return count;
}

int64_t PackedChannels(const GroupedShape& shape, int tile_width, bool in_place) {
  int64_t channels = 0;
  ForEachGroup(shape, tile_width, in_place, [&](const ChannelGroup& group) {
    if (group.packed) channels += group.width;
  });
  return channels;
}

void MakeGroups(const GroupedShape& shape, int tile_width, bool in_place, ChannelGroup* groups) {
  ForEachGroup(shape, tile_width, in_place, [&](const ChannelGroup& group) { *groups++ = group; });
}

void PackGroup(const ChannelGroup& group, const GroupedShape& shape, const WeightsView& weights,
               float* packed) {
  if (weights.stored.IsPlain() && weights.output_step == 1) {
    return CopyGroup(group, shape, weights, packed);
  }
  for (int tap = 0; tap < shape.taps; ++tap) {
    for (int m = 0; m < group.channels; ++m) {
      const int64_t output = group.first + m;
      weights.stored.Read(output * weights.output_step + tap * weights.tap_step, weights.input_step,
                          shape.depth, output, packed + m, group.width);
    }
    packed += int64_t{shape.depth} * group.width;
  }
}

}  // namespace tenon::cpu::f32
