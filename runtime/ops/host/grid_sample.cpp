#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kGridSampleFields = {
    EnumField("mode", offsetof(GridSampleAttributes, mode), kResizeModeNames),
    EnumField("padding", offsetof(GridSampleAttributes, padding), kGridPaddingNames),
    IntField("align_corners", offsetof(GridSampleAttributes, align_corners)),
};

/// Of each output element one op for each pixel that counts, of each point what finding these and
/// their weights takes.
OpWork GridSampleWork(const OpCall& call) {
  constexpr int64_t kOfAxis[] = {8, 12, 40};
  constexpr int64_t kPixels[] = {1, 2, 4};
  const auto mode = static_cast<int>(call.AttributesAs<GridSampleAttributes>().mode);
  OpWork work = PerOutputWork(call, kPixels[mode] * kPixels[mode]);
  work.elementary_ops += call.Input(GridSampleInput::kGrid).Elements() * kOfAxis[mode];
  return work;
}

/// A point may lie anywhere in its image.
bool GridSampleSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  *granularity = 1;
  inputs[GridSampleInput::kX] = axis < 2 ? Along(axis) : Whole();
  inputs[GridSampleInput::kGrid] = axis == 1 ? Whole() : Along(axis == 0 ? 0 : axis - 1);
  return true;
}

}  // namespace

constexpr OpHostRow kGridSampleHostRow = {
    .text = TextOf<GridSampleAttributes>(kGridSampleFields),
    .traits = {.points = GridSampleInput::kGrid},
    .work = GridSampleWork,
    .split = {kImageAxes, ImageAxis, GridSampleSplit},
};

}  // namespace tenon
