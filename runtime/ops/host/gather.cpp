#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kGatherFields = {
    IntField("axis", offsetof(GatherAttributes, axis)),
};

bool GatherSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  const int32_t gathered = call.AttributesAs<GatherAttributes>().axis;
  const int32_t index_rank = call.Input(GatherInput::kIndices).rank;
  inputs[GatherInput::kX] = inputs[GatherInput::kIndices] = Whole();
  if (axis < gathered) {
    inputs[GatherInput::kX] = Along(axis);
  } else if (axis < gathered + index_rank) {
    inputs[GatherInput::kIndices] = Along(axis - gathered);
  } else {
    inputs[GatherInput::kX] = Along(axis - index_rank + 1);
  }
  return true;
}

}  // namespace

constexpr OpHostRow kGatherHostRow = {
    .text = TextOf<GatherAttributes>(kGatherFields),
    .traits = {.moves_elements = true,
               .keeps_scale = true,
               .new_axes = true,
               .checked_indices = GatherInput::kIndices},
    .work = SelectedWork,
    .split = {kEveryAxis, ImageAxis, GatherSplit},
};

}  // namespace tenon
