// Converts weights that the plan stores in fewer bits to the f32 that packing kernels read.
#pragma once

#include <vector>

#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// Is an op whose constant weights (input 1) are f32 in any case. It has the same operands, but
/// owns dense row-major f32 weights where the plan has f16, or i8 with the scale of each output
/// channel in input `scale`.
class PlainWeights {
 public:
  PlainWeights(const OpCall& op, int scale);
  PlainWeights(const PlainWeights&) = delete;
  PlainWeights& operator=(const PlainWeights&) = delete;

  [[nodiscard]] const OpCall& op() const { return op_; }

 private:
  OpCall op_;
  std::vector<float> values_;
  std::vector<TensorView> views_;
  std::vector<int32_t> ids_;
  std::vector<int32_t> strides_;
};

}  // namespace tenon::opencl
