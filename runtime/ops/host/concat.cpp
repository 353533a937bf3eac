#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kConcatFields = {
    IntField("axis", offsetof(ConcatAttributes, axis)),
};

bool ConcatSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  for (int i = 0; i < call.InputCount(); ++i) inputs[i] = Along(axis);
  return axis != call.AttributesAs<ConcatAttributes>().axis;
}

}  // namespace

constexpr OpHostRow kConcatHostRow = {
    .text = TextOf<ConcatAttributes>(kConcatFields),
    .traits = {.moves_elements = true, .keeps_scale = true, .operands_alike = true},
    .view = ViewKind::kInputsInsideOutput,
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, ConcatSplit},
};

}  // namespace tenon
