// Convolutions on the OpenCL backend beside the portable CPU kernel: what their tests share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

/// What is added to the sums: nothing, a tensor, or what the output held before.
enum class Residual { kNone, kSeparate, kIsOutput };

struct ConvCase {
  std::vector<int32_t> x;  ///< [n, c, h, w]
  std::vector<int32_t> w;  ///< [outputs, c / group, h, w]
  ConvAttributes attributes;
  bool bias = true;
  Residual residual = Residual::kNone;
  Layout x_layout = Layout::kChannelsLast;
  Layout y_layout = Layout::kChannelsLast;
  Layout w_layout = Layout::kRowMajor;
  bool constant_weights = true;
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

inline PairedOp MakeConv(const std::string& id, const ConvCase& c, Generator& random) {
  PairedOp op(id);
  op.AddInput(Random(c.x, c.x_layout, random));
  op.AddInput(Random(c.w, c.w_layout, random), c.constant_weights);
  if (c.bias) {
    op.AddInput(Random({c.w[0]}, Layout::kRowMajor, random), c.constant_weights);
  } else {
    op.AddAbsentInput();
  }
  const std::vector<int32_t> y = OutputDims(c);
  if (c.residual == Residual::kNone) {
    op.AddOutput(y, c.y_layout);
    return op;
  }
  const Tensor residual = Random(y, c.y_layout, random);
  op.AddInput(residual);
  if (c.residual == Residual::kIsOutput) {
    op.AddOutputInPlace(3, residual);
  } else {
    op.AddOutput(y, c.y_layout);
  }
  return op;
}

/// Above 1: the kernel and the portable one differ by more than the tolerance.
inline double ConvExcess(const std::string& id, const ConvCase& c, Generator& random,
                         int times = 1) {
  return MakeConv(id, c, random).Excess(c.attributes, times);
}

/// Bias, residual, layouts with or without gaps, and one of the activations that share a program.
inline void PickRest(ConvCase& c, Generator& random) {
  c.bias = Pick(random, 0, 3) != 0;
  c.residual = static_cast<Residual>(Pick(random, 0, 2));
  c.x_layout = Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  c.y_layout = Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  c.w_layout = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kOutputsLast;
  constexpr UnaryFunction kShared[] = {UnaryFunction::kIdentity, UnaryFunction::kRelu,
                                       UnaryFunction::kClip};
  c.attributes.activation.function = kShared[Pick(random, 0, 2)];
  c.attributes.activation.a = -0.5F;
  c.attributes.activation.b = 0.75F;
}

}  // namespace tenon::opencl::testing
