// Where output positions of a resize lie in its input (ONNX Resize, opset 11 and later), in the
// host's arithmetic, so that ties fall as they do in the CPU's kernels.
#pragma once

#include <cstdint>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// How one axis is resized.
struct ResizeAxis {
  int in = 1;
  int out = 1;
  float scale = 1.0F;
};
[[nodiscard]] ResizeAxis ResizeAxisOf(const OpCall& call, int axis);

/// The input position that output position `o` takes its element from.
[[nodiscard]] int NearestPosition(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                  int o);

/// The input positions that one output position is made of, and their weights: 2 for linear, 4 for
/// cubic (Keys, 1981, with the parameter `cubic_a`).
inline constexpr int kMostTaps = 4;
struct ResizeTaps {
  int position[kMostTaps] = {};
  float weight[kMostTaps] = {};
};
[[nodiscard]] ResizeTaps LinearTaps(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                    int o);
[[nodiscard]] ResizeTaps CubicTaps(const ResizeAttributes& attributes, const ResizeAxis& axis,
                                   int o);

}  // namespace tenon::opencl
