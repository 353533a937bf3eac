// The Cortex-M depthwise convolution against the portable one: equal bits.
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

void CheckCases(const std::function<ConvCase(int, Generator&)>& make, int count, uint32_t seed) {
  ForEachSet("quantized_conv", "_depthwise", [&](const KernelEntry& kernel) {
    Generator random(seed);
    for (int i = 0; i < count; ++i) {
      const ConvCase c = make(i, random);
      CheckConv(kernel, "_depthwise", c, RandomOptions(random), random);
    }
  });
}

/// 3x3 windows with steps of 1 or 2 on a few short rows of channels by fours, with any padding, and
/// factors as of models.
void CheckShortRows(const KernelEntry& kernel, Generator& random) {
  const int32_t channels = 4 * Pick(random, 1, 5);
  const int32_t stride = Pick(random, 1, 2);
  ConvCase c = SquareCase(channels, channels, Pick(random, 1, 7), Pick(random, 1, 15), 3, stride, 0,
                          channels);
  c.x[0] = Pick(random, 1, 2);
  for (int32_t& side : c.conv.pads) side = Pick(random, 1, 3);
  GemmOptions options = RandomOptions(random);
  options.rounding = Rounding::kFixedPoint;
  options.to = DType::kI8;
  options.hostile = false;
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  const auto layout = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  pair.AddInput(RandomBytes(DType::kI8, c.x, StridesFor(c.x, layout()), random));
  pair.AddInput(RandomBytes(DType::kI8, c.w, StridesFor(c.w, Layout::kOutputsLast), random),
                kConstant);
  pair.AddParameters(channels, 9, options, random);
  const std::vector<int32_t> y = OutputDims(c);
  pair.AddOutput(DType::kI8, y, StridesFor(y, layout()));
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  attributes.output.min = -128;  // so no bounds but a byte's
  attributes.output.max = 127;
  if (Pick(random, 0, 1) == 0) attributes.output.zero_point = -128;
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, Tensor(DType::kI8, y), random);
  pair.CheckEqual(attributes);
}

}  // namespace

TEST_CASE("Cortex-M depthwise: the portable kernel's bits on random shapes and roundings") {
  CheckCases(
      [](int, Generator& random) {
        const int32_t channels = Pick(random, 1, 50);
        return RandomShapes(channels, channels, channels, 5, random);
      },
      150, 1);
}

TEST_CASE("Cortex-M depthwise: 3x3 of any number of channels") {
  CheckCases(
      [](int i, Generator& random) {
        return SquareCase(i + 1, i + 1, Pick(random, 1, 6), Pick(random, 1, 30), 3,
                          Pick(random, 1, 2), 1, i + 1);
      },
      70, 2);
}

TEST_CASE("Cortex-M depthwise: 3x3 windows on a few short rows, in any workspace") {
  ForEachSet("quantized_conv", "_depthwise", [](const KernelEntry& kernel) {
    Generator random(3);
    for (int i = 0; i < 200; ++i) CheckShortRows(kernel, random);
  });
}

}  // namespace tenon::cpu::testing
