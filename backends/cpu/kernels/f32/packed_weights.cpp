#include "backends/cpu/kernels/f32/packed_weights.hpp"

#include <cstring>

#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/held_block.hpp"

namespace tenon::cpu::f32 {
namespace {

PackedWeights* LayOut(BlockLayout& block, const GroupedShape& shape, int tile_width,
                      bool in_place) {
  const auto groups = static_cast<size_t>(CountGroups(shape, tile_width));
  const auto channels = static_cast<size_t>(PackedChannels(shape, tile_width, in_place));
  const auto depth = static_cast<size_t>(shape.depth);
  auto* packed = block.Take<PackedWeights>(1);
  auto* group_array = block.Take<ChannelGroup>(groups);
  auto* weights = block.Take<float>(channels * depth * static_cast<size_t>(shape.taps));
  auto* bias = block.Take<float>(channels);
  auto* zeros = block.Take<float>(depth * static_cast<size_t>(shape.convolutions) + kMostWidth);
  if (packed == nullptr) return nullptr;
  packed->groups = group_array;
  packed->weights = weights;
  packed->bias = bias;
  packed->zeros = zeros;
  packed->group_count = static_cast<int>(groups);
  return packed;
}

void PlaceGroup(const PackedWeights& packed, const WeightsView* in_place, const float* bias,
                ChannelGroup& group) {
  if (!group.packed) {  // of weights that are read in place
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage)
    group.weights = in_place->stored.Plain() + group.first;
    group.weight_step = in_place->input_step;
    group.bias = bias != nullptr ? bias + group.first : packed.zeros;
    return;
  }
  group.weights = packed.PackedOf(group);
  group.weight_step = group.width;
  float* padded_bias = packed.bias + group.padded;
  const int channels = bias == nullptr ? 0 : group.channels;
  for (int m = 0; m < channels; ++m) padded_bias[m] = bias[group.first + m];
  for (int m = channels; m < group.width; ++m) padded_bias[m] = 0.0F;
  group.bias = padded_bias;
}

void CountEvenGroups(PackedWeights& packed) {
  const ChannelGroup* groups = packed.groups;
  packed.even_groups = 0;
  packed.source_next = 0;
  packed.weights_next = 0;
  packed.bias_next = 0;
  if (packed.group_count < 2) return;
  packed.source_next = groups[1].source - groups[0].source;
  packed.weights_next = groups[1].weights - groups[0].weights;
  packed.bias_next = groups[1].bias - groups[0].bias;
  for (int g = 0; g < packed.group_count; ++g) {
    if (groups[g].width != groups[0].width || groups[g].channels != groups[g].width) return;
    if (groups[g].source != groups[0].source + g * packed.source_next) return;
    if (groups[g].weights != groups[0].weights + g * packed.weights_next) return;
    if (groups[g].bias != groups[0].bias + g * packed.bias_next) return;
    packed.even_groups = g + 1;
  }
}

}  // namespace

size_t PackedBlockBytes(const GroupedShape& shape, const Routines& routines, bool in_place) {
  BlockLayout sizes(nullptr);
  LayOut(sizes, shape, routines.tile_width, in_place);
  return sizes.bytes();
}

PackedWeights& PlacePackedWeights(void* memory, const GroupedShape& shape, const Routines& routines,
                                  const WeightsView* in_place, const float* bias) {
  BlockLayout block(memory);
  PackedWeights& packed = *LayOut(block, shape, routines.tile_width, in_place != nullptr);
  packed.routines = &routines;
  packed.bytes = block.bytes();
  packed.shape = shape;
  MakeGroups(shape, routines.tile_width, in_place != nullptr, packed.groups);
  const auto zeros = static_cast<size_t>(shape.depth * shape.convolutions + kMostWidth);
  std::memset(packed.zeros, 0, zeros * sizeof(float));
  for (int g = 0; g < packed.group_count; ++g) {
    PlaceGroup(packed, in_place, bias, packed.groups[g]);
  }
  CountEvenGroups(packed);
  return packed;
}

Status MakePackedWeights(const GroupedShape& shape, const WeightsView* in_place, const float* bias,
                         PackedWeights** made) {
  const Routines& routines = ChosenRoutines();
  const size_t bytes = PackedBlockBytes(shape, routines, in_place != nullptr);
  void* memory = AllocateBlock(bytes);
  TENON_ENSURE(memory != nullptr, kOutOfMemory, "no memory for {0} bytes of packed weights",
               static_cast<int64_t>(bytes));
  *made = &PlacePackedWeights(memory, shape, routines, in_place, bias);
  return OkStatus();
}

Status PackWeights(const GroupedShape& shape, const WeightsView& weights, const float* bias,
                   PackedForm form, void** shared) {
  const bool in_place =
      form == PackedForm::kInPlaceIfPossible && weights.CanBeReadInPlace(shape.depth, shape.taps);
  PackedWeights* packed = nullptr;
  TENON_RETURN_IF_ERROR(MakePackedWeights(shape, in_place ? &weights : nullptr, bias, &packed));
  for (int g = 0; g < packed->group_count; ++g) {
    const ChannelGroup& group = packed->groups[g];
    if (group.packed) PackGroup(group, shape, weights, packed->PackedOf(group));
  }
  *shared = packed;
  return OkStatus();
}

size_t PackedWeightsBytes(const void* shared, const void*) {
  return shared == nullptr ? 0 : static_cast<const PackedWeights*>(shared)->bytes;
}

}  // namespace tenon::cpu::f32
