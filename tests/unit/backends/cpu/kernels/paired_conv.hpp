// Convolutions that two kernels compute: what the tests of faster kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {

/// What is added to the sums: nothing, a tensor, or what the output held before.
enum class Residual { kNone, kSeparate, kIsOutput };

struct ConvCase {
  std::vector<int32_t> x;  ///< [n, c, h, w]
  std::vector<int32_t> w;  ///< [outputs, c / group, h, w]
  ConvAttributes attributes;
  const char* name = "";  ///< for messages
};

inline ConvAttributes Conv(int32_t group, int32_t stride, int32_t pad, int32_t dilation = 1) {
  ConvAttributes attributes;
  attributes.group = group;
  for (int32_t& value : attributes.strides) value = stride;
  for (int32_t& value : attributes.pads) value = pad;
  for (int32_t& value : attributes.dilations) value = dilation;
  return attributes;
}

inline std::vector<int32_t> OutputDims(const ConvCase& c) {
  return OutputDims(ConvShapes{c.x, c.w, c.attributes});
}

/// All operands but the input and the weights.
inline void AddBiasAndOutput(const ConvCase& c, bool bias, Residual residual, Layout layout,
                             Generator& random, PairedOp& op) {
  if (bias) {
    op.AddInput(Random({c.w[0]}, Layout::kRowMajor, random), kConstant);
  } else {
    op.AddAbsentInput();
  }
  const std::vector<int32_t> y = OutputDims(c);
  const auto count = static_cast<size_t>(y[0] * y[1] * y[2] * y[3]);
  switch (residual) {
    case Residual::kNone:
      op.AddOutput(y, layout);
      break;
    case Residual::kSeparate:
      op.AddInput(Random(y, layout, random));
      op.AddOutput(y, layout);
      break;
    case Residual::kIsOutput:
      op.AddInputThatIsOutput(y, layout, RandomValues(count, random));
      break;
  }
}

}  // namespace tenon::cpu::testing
