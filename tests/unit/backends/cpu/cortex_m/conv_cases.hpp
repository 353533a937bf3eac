// Convolutions for the tests of the Cortex-M kernels.
#pragma once

#include <vector>

#include "tests/unit/backends/cpu/cortex_m/cortex_m_fixture.hpp"

namespace tenon::cpu::testing {

struct ConvCase {
  std::vector<int32_t> x;
  std::vector<int32_t> w;
  ConvAttributes conv;
};

inline std::vector<int32_t> OutputDims(const ConvCase& c) {
  std::vector<int32_t> y = {c.x[0], c.w[0], 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const int32_t reach = (c.w[2 + i] - 1) * c.conv.dilations[i] + 1;
    const int32_t padded = c.x[2 + i] + c.conv.pads[i] + c.conv.pads[2 + i];
    y[2 + i] = (padded - reach) / c.conv.strides[i] + 1;
  }
  return y;
}

/// A kernel of up to `most` x `most`, uneven strides, pads and dilations, and an input that it
/// fits.
inline ConvCase RandomCase(int32_t inputs, int32_t outputs, int32_t group, int32_t most,
                           Generator& random) {
  ConvCase c;
  c.conv.group = group;
  c.w = {outputs, inputs / group, Pick(random, 1, most), Pick(random, 1, most)};
  c.x = {Pick(random, 1, 2), inputs, 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    c.conv.strides[i] = Pick(random, 1, 3);
    c.conv.dilations[i] = Pick(random, 0, 3) == 0 ? 2 : 1;
    c.conv.pads[i] = Pick(random, 0, 3);
    c.conv.pads[2 + i] = Pick(random, 0, 3);
    const int32_t reach = (c.w[2 + i] - 1) * c.conv.dilations[i] + 1;
    const int32_t pads = c.conv.pads[i] + c.conv.pads[2 + i];
    const int32_t least = reach > pads + 1 ? reach - pads : 1;
    c.x[2 + i] = Pick(random, least, least + 12);
  }
  return c;
}

/// A square window, stride and pads all round.
inline ConvCase SquareCase(int32_t inputs, int32_t outputs, int32_t height, int32_t width,
                           int32_t kernel, int32_t stride, int32_t pad, int32_t group = 1) {
  ConvCase c;
  c.conv.group = group;
  c.x = {1, inputs, height, width};
  c.w = {outputs, inputs / group, kernel, kernel};
  for (int32_t& step : c.conv.strides) step = stride;
  for (int32_t& side : c.conv.pads) side = pad;
  return c;
}

/// Of the case by `kernel`, with the workspace that the caps say, against the portable kernel.
inline void CheckConv(const KernelEntry& kernel, const char* suffix, const ConvCase& c,
                      const ProductOptions& options, Generator& random) {
  CAPTURE(c.x[1]);
  CAPTURE(c.x[2]);
  CAPTURE(c.x[3]);
  CAPTURE(c.w[0]);
  CAPTURE(c.w[2]);
  CAPTURE(c.w[3]);
  CAPTURE(c.conv.strides[1]);
  CAPTURE(c.conv.dilations[1]);
  CAPTURE(c.conv.pads[1]);
  CAPTURE(options.zero_point);
  CAPTURE(options.folded);
  CAPTURE(options.hostile);
  CAPTURE(static_cast<int>(options.rounding));
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const auto layout = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  const Layout order = *suffix == '\0' ? Layout::kChannelsLast : Layout::kOutputsLast;
  const Tensor x = RandomBytes(DType::kI8, c.x, StridesFor(c.x, layout()), random);
  const Tensor w = RandomBytes(DType::kI8, c.w, StridesFor(c.w, order), random);
  pair.AddInput(x);
  pair.AddInput(w, kConstant);
  pair.AddParameters(c.w[0], c.w[1] * c.w[2] * c.w[3], options, random);
  if (options.folded) pair.AddFoldedBias(0);
  const std::vector<int32_t> y = OutputDims(c);
  pair.AddOutput(options.to, y, StridesFor(y, layout()));
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  pair.UseWorkspace(CapsOfKernel(kernel), attributes, Tensor(options.to, y));
  pair.CheckEqual(attributes);
}

}  // namespace tenon::cpu::testing
