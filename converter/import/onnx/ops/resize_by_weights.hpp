// Resizing by coordinates that the op resize cannot express: each dimension by a table of its own,
// a gather (nearest) or a product by a matrix of weights (linear, cubic).
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::converter {

/// half_pixel_symmetric: half_pixel about the middle of the input, where scales give no whole size.
/// `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitSymmetricResize(Lowering& node, TensorId x,
                                                   const ResizeAttributes& attributes, int output);

/// Where a dimension's region begins and ends, 0 and 1 being the first element and the last.
struct ResizedRegion {
  int32_t axis = 0;
  float begin = 0.0F;
  float end = 1.0F;
};

/// tf_crop_and_resize: what lies outside the input becomes `outside`.
[[nodiscard]] Result<TensorId> EmitCroppedResize(Lowering& node, TensorId x,
                                                 const ResizeAttributes& attributes,
                                                 const std::vector<ResizedRegion>& regions,
                                                 float outside, int output);

}  // namespace tenon::converter
