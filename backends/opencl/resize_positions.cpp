#include "backends/opencl/resize_positions.hpp"

#include <algorithm>
#include <cmath>

namespace tenon::opencl {
namespace {

float Coordinate(CoordinateMode mode, const ResizeAxis& axis, int o) {
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

}  // namespace

ResizeAxis ResizeAxisOf(const OpCall& call, int axis) {
  return {call.Input(0).dims[axis], call.Output().dims[axis],
          call.AttributesAs<ResizeAttributes>().scales[axis]};
}

int NearestPosition(const ResizeAttributes& attributes, const ResizeAxis& axis, int o) {
  const float coordinate = Coordinate(attributes.coordinates, axis, o);
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
  return std::clamp(static_cast<int>(below) + (up ? 1 : 0), 0, axis.in - 1);
}

ResizeTaps LinearTaps(const ResizeAttributes& attributes, const ResizeAxis& axis, int o) {
  // Beyond the edges lie the edges' own values, so that the coordinate may as well stop there.
  const float coordinate = std::clamp(Coordinate(attributes.coordinates, axis, o), 0.0F,
                                      static_cast<float>(axis.in - 1));
  const auto below = static_cast<int>(coordinate);
  const float fraction = coordinate - static_cast<float>(below);
  ResizeTaps taps;
  taps.position[0] = below;
  taps.position[1] = std::min(below + 1, axis.in - 1);
  taps.weight[0] = 1.0F - fraction;
  taps.weight[1] = fraction;
  return taps;
}

ResizeTaps CubicTaps(const ResizeAttributes& attributes, const ResizeAxis& axis, int o) {
  const float a = attributes.cubic_a;
  const float coordinate = Coordinate(attributes.coordinates, axis, o);
  const float floor = std::floor(coordinate);
  const auto below = static_cast<int>(floor);
  const float t = coordinate - floor;
  const float s = 1.0F - t;
  ResizeTaps taps;
  taps.weight[0] = ((a * (t + 1.0F) - 5.0F * a) * (t + 1.0F) + 8.0F * a) * (t + 1.0F) - 4.0F * a;
  taps.weight[1] = ((a + 2.0F) * t - (a + 3.0F)) * t * t + 1.0F;
  taps.weight[2] = ((a + 2.0F) * s - (a + 3.0F)) * s * s + 1.0F;
  taps.weight[3] = ((a * (s + 1.0F) - 5.0F * a) * (s + 1.0F) + 8.0F * a) * (s + 1.0F) - 4.0F * a;
  float sum = 0.0F;
  for (int i = 0; i < 4; ++i) {
    const int position = below - 1 + i;
    const bool outside = position < 0 || position >= axis.in;
    if (outside && attributes.exclude_outside != 0) taps.weight[i] = 0.0F;
    sum += taps.weight[i];
    taps.position[i] = std::clamp(position, 0, axis.in - 1);
  }
  if (attributes.exclude_outside == 0) return taps;
  for (float& weight : taps.weight) weight /= sum;
  return taps;
}

}  // namespace tenon::opencl
