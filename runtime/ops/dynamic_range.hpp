// The scale and zero point that floats get from their own range, as ONNX's DynamicQuantizeLinear
// defines them: of u8, the range being made to hold 0.
#pragma once

#include "runtime/ops/requantize.hpp"

namespace tenon {

struct DynamicRange {
  float scale = 1.0F;
  int32_t zero_point = 0;
};

/// `least` is at most 0 and `most` at least 0: the range of what is no NaN. A range of nothing but
/// 0, for which the definition divides 0 by 0, has the scale 1.
[[nodiscard]] inline DynamicRange DynamicRangeOf(float least, float most) {
  constexpr float kMost = 255.0F;
  DynamicRange range;
  const float step = (most - least) / kMost;
  range.scale = step == 0.0F ? 1.0F : step;
  const float place = -(least / range.scale);
  if (!(place > 0.0F)) return range;  // as a NaN that infinite bounds give
  range.zero_point = RoundHalfEven(place < kMost ? place : kMost);
  return range;
}

/// What x becomes, u8; a NaN becomes the zero point.
[[nodiscard]] inline int32_t QuantizeByRange(float x, const DynamicRange& range) {
  const int32_t y = RoundHalfEven(x / range.scale) + range.zero_point;
  const int32_t raised = y < 0 ? 0 : y;
  return raised > 255 ? 255 : raised;
}

}  // namespace tenon
