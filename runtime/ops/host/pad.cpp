#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kPadFields = {
    EnumField("mode", offsetof(PadAttributes, mode), kPadModeNames),
    FloatField("value", offsetof(PadAttributes, value)),
    IntField("rank", offsetof(PadAttributes, rank)),
    IntField("begins", offsetof(PadAttributes, begins), kMaxRank),
    IntField("ends", offsetof(PadAttributes, ends), kMaxRank),
};

/// Constant padding reads nothing outside the input; what edge and reflect copy, a part far from
/// the edge would not have.
InputSplit PadInput(const PadAttributes& attributes, int32_t axis) {
  return {axis, 1, 1, attributes.begins[axis], 1};
}

bool PadSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<PadAttributes>();
  const bool adds = attributes.begins[axis] > 0 || attributes.ends[axis] > 0;
  if (adds && attributes.mode != PadMode::kConstant) return false;
  *granularity = 1;
  inputs[0] = PadInput(attributes, axis);
  return true;
}

void PadPart(const OpCall& call, int32_t axis, const IndexRange& out, void* attributes) {
  auto& part = *static_cast<PadAttributes*>(attributes);
  // A negative end may remove elements that `needed` would still count, and a begin likewise.
  const int32_t size = call.Input(0).dims[axis];
  const int32_t first = part.begins[axis] < 0 ? -part.begins[axis] : 0;
  const int32_t last = size + (part.ends[axis] < 0 ? part.ends[axis] : 0);
  const InputSplit split = PadInput(call.AttributesAs<PadAttributes>(), axis);
  const NeededRange needed = Needed(split, out);
  const IndexRange range = InputRange(split, out, size);
  if (needed.end <= first) {  // padding only: the element that a part always has goes
    part.begins[axis] = out.size();
    part.ends[axis] = -range.size();
  } else if (needed.begin >= last) {
    part.begins[axis] = -range.size();
    part.ends[axis] = out.size();
  } else {
    part.begins[axis] = static_cast<int32_t>(range.begin - needed.begin);
    part.ends[axis] = static_cast<int32_t>(needed.end - range.end);
  }
}

}  // namespace

constexpr OpHostRow kPadHostRow = {
    .text = TextOf<PadAttributes>(kPadFields),
    .traits = {.moves_elements = true, .keeps_scale = true},
    .work = SelectedWork,
    .split = {kEveryAxis, ImageAxis, PadSplit, PadPart},
};

}  // namespace tenon
