// Where output positions of a resize lie in its input (ONNX Resize, opset 11 and later): the one
// arithmetic of every backend, in float as the field's runtimes compute it, so that ties fall the
// same way everywhere.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/image_taps.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// How one axis is resized.
struct ResizeAxis {
  int in = 1;
  int out = 1;
  float scale = 1.0F;

  /// Every output position takes the element of its own number.
  [[nodiscard]] bool IsUnchanged() const { return in == out && scale == 1.0F; }
  [[nodiscard]] int Clamp(int position) const {
    return position < 0 ? 0 : (position > in - 1 ? in - 1 : position);
  }
};

[[nodiscard]] inline ResizeAxis ResizeAxisOf(const OpCall& call, int axis) {
  return {call.Input(0).dims[axis], call.Output().dims[axis],
          call.AttributesAs<ResizeAttributes>().scales[axis]};
}

/// Where output position `o` lies in the input.
[[nodiscard]] inline float ResizeCoordinate(CoordinateMode mode, const ResizeAxis& axis, int o) {
  const auto position = static_cast<float>(o);
  switch (mode) {
    case CoordinateMode::kPytorchHalfPixel:
      return axis.out > 1 ? (position + 0.5F) / axis.scale - 0.5F : 0.0F;
    case CoordinateMode::kAlignCorners:
      if (axis.out <= 1) return 0.0F;
      return position * static_cast<float>(axis.in - 1) / static_cast<float>(axis.out - 1);
    case CoordinateMode::kAsymmetric:
      return position / axis.scale;
    case CoordinateMode::kHalfPixel:
      break;
  }
  return (position + 0.5F) / axis.scale - 0.5F;
}

/// The input position nearest to a coordinate.
[[nodiscard]] inline int NearestPosition(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                         float coordinate) {
  const float below = std::floor(coordinate);
  const float fraction = coordinate - below;
  bool up = false;
  switch (attributes.nearest) {
    case NearestMode::kRoundPreferFloor:
      up = fraction > 0.5F;
      break;
    case NearestMode::kRoundPreferCeil:
      up = fraction >= 0.5F;
      break;
    case NearestMode::kFloor:
      break;
    case NearestMode::kCeil:
      up = fraction > 0.0F;
      break;
  }
  return axis.Clamp(static_cast<int>(below) + (up ? 1 : 0));
}

/// The input position that output position `o` takes its element from.
[[nodiscard]] inline int NearestPosition(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                         int o) {
  return NearestPosition(attributes, axis, ResizeCoordinate(attributes.coordinates, axis, o));
}

/// The input positions that a coordinate is made of, times `step`, and their weights.
inline void FindResizeTaps(const ResizeAttributes& /*attributes*/, const ResizeAxis& axis,
                           float coordinate, ptrdiff_t step, ImageTaps<2>& taps) {
  // Beyond the edges lie the edges' own values, so that the coordinate may as well stop there.
  const auto last = static_cast<float>(axis.in - 1);
  coordinate = coordinate < 0.0F ? 0.0F : (coordinate > last ? last : coordinate);
  const auto below = static_cast<int>(coordinate);
  const float fraction = coordinate - static_cast<float>(below);
  taps.offset[0] = below * step;
  taps.offset[1] = axis.Clamp(below + 1) * step;
  taps.weight[0] = 1.0F - fraction;
  taps.weight[1] = fraction;
}

/// Cubic convolution (Keys, 1981) with the parameter `cubic_a`.
inline void FindResizeTaps(const ResizeAttributes& attributes, const ResizeAxis& axis,
                           float coordinate, ptrdiff_t step, ImageTaps<4>& taps) {
  const float floor = std::floor(coordinate);
  const auto below = static_cast<int>(floor);
  FindCubicWeights(attributes.cubic_a, coordinate - floor, taps.weight);
  float sum = 0.0F;
  for (int i = 0; i < 4; ++i) {
    const int position = below - 1 + i;
    const bool outside = position < 0 || position >= axis.in;
    if (outside && attributes.exclude_outside != 0) taps.weight[i] = 0.0F;
    sum += taps.weight[i];
    taps.offset[i] = axis.Clamp(position) * step;
  }
  if (attributes.exclude_outside == 0) return;
  for (float& weight : taps.weight) weight /= sum;
}

/// Those that output position `o` is made of.
template <int kTaps>
void FindResizeTaps(const ResizeAttributes& attributes, const ResizeAxis& axis, int o,
                    ptrdiff_t step, ImageTaps<kTaps>& taps) {
  const float coordinate = ResizeCoordinate(attributes.coordinates, axis, o);
  FindResizeTaps(attributes, axis, coordinate, step, taps);
}

}  // namespace tenon
