// Which pixels of an image a point of a grid is made of (ONNX GridSample): the one arithmetic of
// every backend, in float as the field's runtimes compute it.
#pragma once

#include <cmath>
#include <cstddef>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/image_taps.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// How one axis of an image is sampled.
struct GridAxis {
  int size = 1;
  GridPadding padding = GridPadding::kZeros;
  float low = 0.0F;    ///< where a point at -1 lies, in pixels
  float range = 0.0F;  ///< from there to a point at 1

  /// Where a point lies. Nothing is said of its size, and it may be NaN.
  [[nodiscard]] float PlaceOf(float point) const { return (point + 1.0F) * (0.5F * range) + low; }

  /// `place` brought back at both ends again and again; NaN if it was NaN or infinite.
  [[nodiscard]] float Reflected(float place) const {
    if (range <= 0.0F) return 0.0F;
    const float period = 2.0F * range;
    const float distance = std::fabs(place - low);
    // Where rounding leaves a little less than nothing, it is as far from the other end.
    const float rest = std::fabs(distance - std::floor(distance / period) * period);
    return (rest < period - rest ? rest : period - rest) + low;
  }

  /// The pixel at a whole-numbered place, or the nearest one inside; the first one for NaN.
  [[nodiscard]] int Inside(float place) const {
    const auto last = static_cast<float>(size - 1);
    return place > 0.0F ? static_cast<int>(place < last ? place : last) : 0;
  }

  /// Takes pixel `place` as tap `i`, with no weight where it stands for 0.
  template <int kTaps>
  void Take(int i, float place, float weight, ptrdiff_t step, ImageTaps<kTaps>& taps) const {
    const int inside = Inside(place);
    const bool is_nothing = padding == GridPadding::kZeros && static_cast<float>(inside) != place;
    taps.offset[i] = inside * step;
    taps.weight[i] = is_nothing ? 0.0F : weight;
  }
};

/// Axis 0 is down, 1 across.
[[nodiscard]] inline GridAxis GridAxisOf(const OpCall& call, int axis) {
  const auto& attributes = call.AttributesAs<GridSampleAttributes>();
  const int size = call.Input(GridSampleInput::kX).dims[2 + axis];
  if (attributes.align_corners != 0) {
    return {size, attributes.padding, 0.0F, static_cast<float>(size - 1)};
  }
  return {size, attributes.padding, -0.5F, static_cast<float>(size)};
}

/// The pixel nearest to a point, halves to even, times `step`, and its weight.
inline void FindGridTaps(const GridAxis& axis, float point, ptrdiff_t step, ImageTaps<1>& taps) {
  float place = std::nearbyint(axis.PlaceOf(point));
  if (axis.padding == GridPadding::kReflection) place = std::nearbyint(axis.Reflected(place));
  axis.Take(0, place, 1.0F, step, taps);
}

/// The pixels on both sides.
inline void FindGridTaps(const GridAxis& axis, float point, ptrdiff_t step, ImageTaps<2>& taps) {
  float place = axis.PlaceOf(point);
  if (axis.padding == GridPadding::kReflection) place = axis.Reflected(place);
  if (axis.padding != GridPadding::kZeros) {
    const auto last = static_cast<float>(axis.size - 1);
    place = place < 0.0F ? 0.0F : (place > last ? last : place);
  }
  const float below = std::floor(place);
  const float fraction = place - below;
  axis.Take(0, below, 1.0F - fraction, step, taps);
  axis.Take(1, below + 1.0F, fraction, step, taps);
}

/// Two on each side. A border goes by these pixels, as in PyTorch and ONNX Runtime; ONNX's
/// reference brings the point back there too.
inline void FindGridTaps(const GridAxis& axis, float point, ptrdiff_t step, ImageTaps<4>& taps) {
  constexpr float kCubicA = -0.75F;
  const bool reflects = axis.padding == GridPadding::kReflection;
  float place = axis.PlaceOf(point);
  if (reflects) place = axis.Reflected(place);
  const float below = std::floor(place);
  float weights[4];
  FindCubicWeights(kCubicA, place - below, weights);
  for (int i = 0; i < 4; ++i) {
    const float pixel = below + static_cast<float>(i - 1);
    axis.Take(i, reflects ? std::nearbyint(axis.Reflected(pixel)) : pixel, weights[i], step, taps);
  }
}

}  // namespace tenon
