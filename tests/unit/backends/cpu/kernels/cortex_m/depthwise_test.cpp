// The Cortex-M depthwise convolution against the portable one: equal bits.
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

/// 3x3 windows with steps of 1 or 2 on a few short rows of channels by fours, with any padding.
ConvCase ShortRows(Generator& random) {
  const int32_t channels = 4 * Pick(random, 1, 5);
  const int32_t stride = Pick(random, 1, 2);
  ConvCase c = SquareCase(channels, channels, Pick(random, 1, 7), Pick(random, 1, 15), 3, stride, 0,
                          channels);
  c.x[0] = Pick(random, 1, 2);
  for (int32_t& side : c.conv.pads) side = Pick(random, 1, 3);
  return c;
}

/// Of the case, with factors as of models.
void CheckShortRows(const KernelEntry& kernel, const ConvCase& c, Generator& random) {
  const int32_t channels = c.x[1];
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
  if (pair.IsRefused(CapsOfKernel(kernel), attributes, Tensor(DType::kI8, y))) {
    const KernelEntry* const beside = WindowsBeside(kernel);  // of very few outputs
    REQUIRE(beside != nullptr);
    return CheckShortRows(*beside, c, random);
  }
  pair.UseSomeWorkspace(CapsOfKernel(kernel), attributes, Tensor(DType::kI8, y), random);
  pair.CheckEqual(attributes);
}

/// Windows of `height` x `width` on a smaller or larger image, with steps of 1 and no padding.
ConvCase WindowCase(int32_t channels, int32_t height, int32_t width, Generator& random) {
  ConvCase c;
  c.conv.group = channels;
  c.w = {channels, 1, height, width};
  c.x = {1, channels, height + Pick(random, 0, 8), width + Pick(random, 0, 8)};
  return c;
}

}  // namespace

TEST_CASE("Cortex-M depthwise: the portable kernel's bits on random shapes and roundings") {
  CheckRandomConvs(
      "_depthwise",
      [](int, Generator& random) {
        const int32_t channels = Pick(random, 1, 50);
        return RandomShapes(channels, channels, channels, 5, random);
      },
      150, 1);
}

TEST_CASE("Cortex-M depthwise: 3x3 of any number of channels") {
  CheckRandomConvs(
      "_depthwise",
      [](int i, Generator& random) {
        return SquareCase(i + 1, i + 1, Pick(random, 1, 6), Pick(random, 1, 30), 3,
                          Pick(random, 1, 2), 1, i + 1);
      },
      70, 2);
}

TEST_CASE("Cortex-M depthwise: windows of one column whose output is one pixel, as of streams") {
  CheckRandomConvs(
      "_depthwise",
      [](int i, Generator& random) {
        ConvCase c = WindowCase(4 * Pick(random, 1, 16), i + 1, 1, random);
        c.x = {Pick(random, 1, 2), c.w[0], c.w[2], 1};
        return c;
      },
      30, 4);
}

TEST_CASE("Cortex-M depthwise: windows of channels that are no multiple of four") {
  CheckRandomConvs(
      "_depthwise",
      [](int i, Generator& random) {
        return WindowCase(4 + i % 12, Pick(random, 1, 7), Pick(random, 1, 7), random);
      },
      60, 5);
}

TEST_CASE("Cortex-M depthwise: windows whose steps along rows and columns differ") {
  CheckRandomConvs(
      "_depthwise",
      [](int, Generator& random) {
        ConvCase c = WindowCase(8, Pick(random, 1, 5), Pick(random, 1, 5), random);
        for (int32_t& stride : c.conv.strides) stride = Pick(random, 1, 4);
        return c;
      },
      60, 6);
}

TEST_CASE("Cortex-M depthwise: windows in the padding above, below and beside, wholly too") {
  CheckRandomConvs(
      "_depthwise",
      [](int, Generator& random) {
        ConvCase c = WindowCase(8, Pick(random, 1, 5), Pick(random, 1, 5), random);
        for (int32_t& side : c.conv.pads) side = Pick(random, 0, 7);
        return c;
      },
      60, 7);
}

TEST_CASE("Cortex-M depthwise: windows of one column in the padding above and below") {
  CheckRandomConvs(
      "_depthwise",
      [](int, Generator& random) {
        ConvCase c = WindowCase(8, Pick(random, 2, 9), 1, random);
        c.conv.pads[0] = Pick(random, 0, 9);
        c.conv.pads[2] = Pick(random, 0, 9);
        return c;
      },
      60, 8);
}

TEST_CASE("Cortex-M depthwise: windows whose taps lie apart") {
  CheckRandomConvs(
      "_depthwise",
      [](int, Generator& random) {
        const int32_t side = Pick(random, 2, 4);
        ConvCase c = WindowCase(8, side, side, random);
        for (int i = 0; i < 2; ++i) {
          c.conv.dilations[i] = Pick(random, 1, 4);
          c.x[static_cast<size_t>(2 + i)] += (side - 1) * (c.conv.dilations[i] - 1);
          c.conv.pads[i] = Pick(random, 0, 5);
        }
        return c;
      },
      60, 9);
}

TEST_CASE("Cortex-M depthwise: 3x3 windows on a few short rows, in any workspace") {
  ForEachSet("quantized_conv", "_depthwise", [](const KernelEntry& kernel) {
    Generator random(3);
    for (int i = 0; i < 200; ++i) CheckShortRows(kernel, ShortRows(random), random);
  });
}

}  // namespace tenon::cpu::testing
