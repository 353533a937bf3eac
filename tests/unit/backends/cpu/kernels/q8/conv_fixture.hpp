// Compares two kernels of quantized convolutions on random tensors: equal bits.
#pragma once

#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/q8/gemm_fixture.hpp"

namespace tenon::cpu::testing {

/// `fast` against the portable kernel, on this input and with these weights.
inline void CheckConvEqual(const char* fast, const ConvShapes& c, const Tensor& x, const Tensor& w,
                           const GemmOptions& options, Generator& random) {
  INFO(TextOf(c.x, c.w));
  CAPTURE(c.conv.group);
  CAPTURE(c.conv.strides[0]);
  CAPTURE(c.conv.strides[1]);
  CAPTURE(c.conv.dilations[0]);
  CAPTURE(c.conv.dilations[1]);
  CAPTURE(c.conv.pads[0]);
  CAPTURE(c.conv.pads[1]);
  CAPTURE(options.w_zero_point);
  CAPTURE(options.x_zero_point);
  CAPTURE(options.x_zero_point_per_channel);
  CAPTURE(static_cast<int>(options.x_dtype));
  CAPTURE(static_cast<int>(options.w_dtype));
  CAPTURE(static_cast<int>(options.to));
  CAPTURE(static_cast<int>(options.rounding));
  GemmPair pair(fast, kPortableConv);
  pair.AddInputs(x, w, c.w[0], c.x[1], c.w[1] * c.w[2] * c.w[3], options, random);
  pair.AddOutput(options.to, OutputDims(c), PickChannelsLast(random));
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  pair.CheckEqual(attributes, options.threads, options.workspace_threads);
}

/// The same on a random input.
inline void CheckConvEqual(const char* fast, const ConvShapes& c, const Tensor& w,
                           const GemmOptions& options, Generator& random) {
  const Tensor x = RandomBytes(options.x_dtype, c.x, PickChannelsLast(random), random);
  CheckConvEqual(fast, c, x, w, options, random);
}

}  // namespace tenon::cpu::testing
