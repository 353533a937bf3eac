#include "runtime/ops/host/attribute_fields.hpp"
#include "runtime/ops/host/host_rows.hpp"

namespace tenon {
namespace {

constexpr std::array kResizeFields = {
    EnumField("mode", offsetof(ResizeAttributes, mode), kResizeModeNames),
    EnumField("coordinates", offsetof(ResizeAttributes, coordinates), kCoordinateModeNames),
    EnumField("nearest", offsetof(ResizeAttributes, nearest), kNearestModeNames),
    FloatField("cubic_a", offsetof(ResizeAttributes, cubic_a)),
    IntField("exclude_outside", offsetof(ResizeAttributes, exclude_outside)),
    IntField("rank", offsetof(ResizeAttributes, rank)),
    IntField("sizes", offsetof(ResizeAttributes, sizes), kMaxRank),
    FloatField("scales", offsetof(ResizeAttributes, scales), kMaxRank),
};

/// Per output element: one op for each tap of the interpolation in height and width.
OpWork ResizeWork(const OpCall& call) {
  switch (call.AttributesAs<ResizeAttributes>().mode) {
    case ResizeMode::kNearest:
      break;
    case ResizeMode::kLinear:
      return PerOutputWork(call, 4);
    case ResizeMode::kCubic:
      return PerOutputWork(call, 16);
  }
  return PerOutputWork(call, 1);
}

/// Up to here, nearest-neighbour coordinates come out exactly in float.
constexpr int32_t kExactExtent = 1 << 12;

/// The whole number of outputs that each input is repeated, or 0 where output o does not always
/// come from input floor(o / n), as nearest-neighbour resizing computes it in float.
///
/// Asymmetric: floor(o / n). Half pixel: the nearest to (o + 1/2) / n - 1/2 is floor(o / n), since
/// that is never within 1 / 2n of a tie.
int32_t Repetition(const ResizeAttributes& attributes, int32_t in, int32_t out, int32_t axis) {
  constexpr int32_t kMostRepetitions = 1 << 6;
  if (attributes.mode != ResizeMode::kNearest || in == 0 || out % in != 0 || out > kExactExtent)
    return 0;
  const int32_t n = out / in;
  if (n < 2 || n > kMostRepetitions) return 0;
  if (attributes.scales[axis] != static_cast<float>(n)) return 0;
  const bool rounds = attributes.nearest == NearestMode::kRoundPreferFloor ||
                      attributes.nearest == NearestMode::kRoundPreferCeil;
  switch (attributes.coordinates) {
    case CoordinateMode::kHalfPixel:
    case CoordinateMode::kPytorchHalfPixel:
      return rounds ? n : 0;
    case CoordinateMode::kAsymmetric:
      // Rounding agrees only where the single remainder 1/2 is a tie that falls to the floor.
      if (n == 2 && attributes.nearest == NearestMode::kRoundPreferFloor) return n;
      return attributes.nearest == NearestMode::kFloor ? n : 0;
    case CoordinateMode::kAlignCorners:
      break;  // depends on the extent, which a part does not have
  }
  return 0;
}

bool ResizeSplit(const OpCall& call, int32_t axis, InputSplit* inputs, int32_t* granularity) {
  if (!IsAxisOf(call.Output(), axis)) return false;
  const auto& attributes = call.AttributesAs<ResizeAttributes>();
  const int32_t in = call.Input(0).dims[axis];
  const int32_t out = call.Output().dims[axis];
  *granularity = 1;
  inputs[0] = Along(axis);
  if (in == out && attributes.scales[axis] == 1.0F) {
    // Interpolation reads neighbours even where it gives them no weight.
    return (axis < 2 || attributes.mode == ResizeMode::kNearest) && in <= kExactExtent;
  }
  const int32_t repetition = Repetition(attributes, in, out, axis);
  if (repetition == 0) return false;
  *granularity = repetition;
  inputs[0] = InGroups(axis, 1, repetition);
  return true;
}

void ResizePart(const OpCall& /*call*/, int32_t axis, const IndexRange& out, void* attributes) {
  static_cast<ResizeAttributes*>(attributes)->sizes[axis] = out.size();
}

}  // namespace

constexpr OpHostRow kResizeHostRow = {
    .text = TextOf<ResizeAttributes>(kResizeFields),
    .traits = {.keeps_scale = true},
    .work = ResizeWork,
    .split = {kEveryAxis, ImageAxis, ResizeSplit, ResizePart},
};

}  // namespace tenon
