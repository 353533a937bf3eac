#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kScatterFields = {
    EnumField("function", offsetof(ScatterAttributes, function), kScatterFunctionNames),
};

/// Rows may be updated by any index; what lies in a row is on its own.
bool ScatterSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (axis == 0 || !IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[ScatterInput::kX] = inputs[ScatterInput::kUpdates] = Along(axis);
  inputs[ScatterInput::kIndices] = Whole();
  return true;
}

}  // namespace

constexpr OpHostRow kScatterHostRow = {
    .text = TextOf<ScatterAttributes>(kScatterFields),
    .traits = {.checked_indices = ScatterInput::kIndices},
    .work = MoveWork,
    .split = {kEveryAxis, ImageAxis, ScatterSplit},
};

}  // namespace tenon
