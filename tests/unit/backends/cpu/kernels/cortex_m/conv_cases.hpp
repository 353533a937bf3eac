// Convolutions for the tests of the Cortex-M kernels.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/cortex_m/cortex_m_fixture.hpp"

namespace tenon::cpu::testing {

using ConvCase = ConvShapes;

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

/// The kernel of depthwise windows that the set has beside `kernel`, or null.
inline const KernelEntry* WindowsBeside(const KernelEntry& kernel) {
  if (std::strcmp(kernel.id, "cpu.quantized_conv.dsp_depthwise") != 0) return nullptr;
  return FindInSet(DspKernels(), "quantized_conv", "_depthwise_windows");
}

/// Of the case by `kernel`, or by the one beside it, with the workspace that the caps say, against
/// the portable kernel.
inline void CheckConv(const KernelEntry& kernel, const char* suffix, const ConvCase& c,
                      const GemmOptions& options, Generator& random) {
  INFO(TextOf(c.x, c.w));
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
  if (pair.IsRefused(CapsOfKernel(kernel), attributes, Tensor(options.to, y))) {
    CHECK(!pair.Check(attributes).ok());
    const KernelEntry* const beside = WindowsBeside(kernel);
    if (beside != nullptr) return CheckConv(*beside, suffix, c, options, random);
    CHECK(c.x[1] < 4);  // DSP: see refusals_test.cpp
    return;
  }
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, Tensor(options.to, y), random);
  pair.CheckEqual(attributes);
}

/// So many cases, by the kernels of every set of instructions whose names end so.
inline void CheckRandomConvs(const char* suffix,
                             const std::function<ConvCase(int, Generator&)>& make, int count,
                             uint32_t seed) {
  ForEachSet("quantized_conv", suffix, [&](const KernelEntry& kernel) {
    Generator random(seed);
    for (int i = 0; i < count; ++i) {
      const ConvCase c = make(i, random);
      CheckConv(kernel, suffix, c, RandomOptions(random), random);
    }
  });
}

}  // namespace tenon::cpu::testing
