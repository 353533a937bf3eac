#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kSliceFields = {
    IntField("rank", offsetof(SliceAttributes, rank)),
    IntField("begins", offsetof(SliceAttributes, begins), kMaxRank),
    IntField("sizes", offsetof(SliceAttributes, sizes), kMaxRank),
    IntField("steps", offsetof(SliceAttributes, steps), kMaxRank),
};

bool SliceSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<SliceAttributes>();
  // Ranges run upwards only.
  if (attributes.steps[axis] < 0 && attributes.sizes[axis] > 1) return false;
  *granularity = 1;
  inputs[0] = {axis, attributes.steps[axis], 1, -attributes.begins[axis], 1};
  if (attributes.sizes[axis] <= 1) inputs[0].stride = 1;
  return true;
}

void SlicePart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<SliceAttributes*>(attributes);
  part.begins[axis] = 0;
  part.sizes[axis] = out.size();
}

}  // namespace

constexpr OpHostRow kSliceHostRow = {
    .text = TextOf<SliceAttributes>(kSliceFields),
    .traits = {.moves_elements = true, .keeps_scale = true},
    .view = ViewKind::kOutputInsideInput,
    .work = SelectedWork,
    .split = {kEveryAxis, ImageAxis, SliceSplit, SlicePart},
};

}  // namespace tenon
