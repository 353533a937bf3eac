// What `load` makes for convolutions and matrix products: weights and bias in the order in which
// register tiles read them. Depends on nothing but these, so that all ops with the same weights
// (the parts of a convolution that was split) share it.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/vector/channel_groups.hpp"
#include "backends/cpu/kernels/vector/simd/routines.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::vector {

/// Lies in one block with everything that it points to.
struct PackedWeights {
  const Routines* routines;
  size_t bytes;
  GroupedShape shape;
  int group_count;
  ChannelGroup* groups;
  float* weights;  ///< per group [taps][depth][width]
  float* bias;     ///< per group [width]; zeros where there is none
  float* zeros;    ///< as many as input channels, and kMostWidth more

  [[nodiscard]] const float* WeightsOf(const ChannelGroup& group) const {
    return weights + group.weights;
  }
  [[nodiscard]] const float* BiasOf(const ChannelGroup& group) const {
    return bias + group.padded;
  }
};

/// Makes the block with its groups and the bias (null: none); weights are left zero. Errors: no
/// memory.
Status MakePackedWeights(const GroupedShape& shape, const float* bias, PackedWeights** made);

/// Makes and fills it.
Status PackWeights(const GroupedShape& shape, const WeightsView& weights, const float* bias,
                   void** shared);

/// `held_bytes` and `unload` of the kernels that use it.
size_t PackedWeightsBytes(const void* shared, const void* state);

}  // namespace tenon::cpu::vector
