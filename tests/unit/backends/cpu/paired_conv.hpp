// Convolutions that two kernels compute: what the tests of faster kernels share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/paired_op.hpp"

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
  std::vector<int32_t> dims = {c.x[0], c.w[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const ConvAttributes& a = c.attributes;
    const int32_t reach = (c.w[2 + i] - 1) * a.dilations[i] + 1;
    dims[2 + i] = (c.x[2 + i] + a.pads[i] + a.pads[2 + i] - reach) / a.strides[i] + 1;
  }
  return dims;
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
