// The data that `load` makes for convolutions and matrix products: it says where each group of
// output channels finds its weights and bias in the order in which register tiles read them. Where
// the plan has them in that order as f32, they are read there; other orders and dtypes, and groups
// that are no whole number of vectors, are packed. The data depends on nothing else, so that all
// ops with the same weights (the parts of a convolution that was split) share it.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/f32/channel_groups.hpp"
#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::f32 {

/// Is one block of memory with everything that it points to.
struct PackedWeights {
  const Routines* routines;
  size_t bytes;
  GroupedShape shape;
  int group_count;
  ChannelGroup* groups;
  /// The groups before this one have equal widths, none of it padding, and the same distances from
  /// one's first input channel, weights and bias to the next's.
  int even_groups;
  int64_t source_next;
  int64_t weights_next;
  int64_t bias_next;
  float* weights;  ///< per packed group [taps][depth][width]
  float* bias;     ///< per packed group [width]; zeros where there is none
  float* zeros;    ///< as many as all input channels, and kMostWidth more

  /// Returns where a packed group's weights are written to.
  [[nodiscard]] float* PackedOf(const ChannelGroup& group) const {
    return weights + int64_t{group.padded} * shape.depth * shape.taps;
  }
};

/// Returns the bytes of the block. With `in_place`, whole groups read the weights where they are.
[[nodiscard]] size_t PackedBlockBytes(const GroupedShape& shape, const Routines& routines,
                                      bool in_place);

/// Makes the block with its groups and the bias (null: none) in PackedBlockBytes of memory, aligned
/// to a cache line; packed weights are left as they are.
PackedWeights& PlacePackedWeights(void* memory, const GroupedShape& shape, const Routines& routines,
                                  const WeightsView* in_place, const float* bias);

/// Does the same in memory of its own, whose packed weights are zero. Errors: no memory.
Status MakePackedWeights(const GroupedShape& shape, const WeightsView* in_place, const float* bias,
                         PackedWeights** made);

enum class PackedForm : uint8_t {
  kInPlaceIfPossible,
  /// Every group's weights follow each other: large weights are then read from memory in order,
  /// which prefetchers follow, and a group uses all sets of the caches. In place its rows are as
  /// far apart as there are outputs.
  kPanels,
};

/// Makes and fills the block, and packs what is not read in place.
Status PackWeights(const GroupedShape& shape, const WeightsView& weights, const float* bias,
                   PackedForm form, void** shared);

/// Are `held_bytes` and `unload` of the kernels that use it.
size_t PackedWeightsBytes(const void* shared, const void* state);

}  // namespace tenon::cpu::f32
