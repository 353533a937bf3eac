// The DSP kernels of few rows, as patches have, against the portable kernels: equal bits.
#include <algorithm>

#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

/// The kernel if this processor has the set.
const KernelEntry* KernelOfRows(const char* suffix) {
  return FindInSet(DspKernels(), "quantized_conv", suffix);
}

/// Of i8 with biases and factors for each output, to all of i8, mostly as models have them.
GemmOptions RowOptions(int i, Generator& random) {
  GemmOptions options;
  options.to = DType::kI8;
  options.rounding = i % 3 == 0 ? Rounding::kHalfEven : Rounding::kFixedPoint;
  options.bias = true;
  options.per_channel = true;
  options.zero_point = Pick(random, 0, 1) == 1;
  options.hostile = i % 16 == 0;
  return options;
}

/// Returns false if the kernel refuses the case. `order`: of the weights.
bool CheckCase(const KernelEntry& kernel, const ConvCase& c, const GemmOptions& options,
               Layout order, Generator& random) {
  INFO(TextOf(c.x, c.w));
  CAPTURE(c.conv.strides[1]);
  CAPTURE(c.conv.pads[1]);
  CAPTURE(options.zero_point);
  CAPTURE(static_cast<int>(options.rounding));
  const auto layout = [&] {
    return Pick(random, 0, 1) == 0 ? Layout::kChannelsLast : Layout::kChannelsLastGaps;
  };
  KernelPair pair(kernel, "cpu.quantized_conv.portable");
  pair.AddInput(RandomBytes(DType::kI8, c.x, StridesFor(c.x, layout()), random));
  pair.AddInput(RandomBytes(DType::kI8, c.w, StridesFor(c.w, order), random), kConstant);
  pair.AddParameters(c.w[0], c.w[1] * c.w[2] * c.w[3], options, random);
  const std::vector<int32_t> y = OutputDims(c);
  const std::vector<int32_t> y_strides = StridesFor(y, layout());
  pair.AddOutput(DType::kI8, y, y_strides);
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output = MakeOutput(options, random);
  attributes.output.min = -128;
  attributes.output.max = 127;
  if (Pick(random, 0, 1) == 0) attributes.output.zero_point = -128;  // a rectifier
  const Tensor output(DType::kI8, y, y_strides);
  if (pair.IsRefused(CapsOfKernel(kernel), attributes, output)) {
    CHECK(!pair.Check(attributes).ok());
    return false;
  }
  const KernelCaps& caps = CapsOfKernel(kernel);
  if (caps.workspace_bytes != nullptr) pair.UseSomeWorkspace(caps, attributes, output, random);
  pair.CheckEqual(attributes);
  return true;
}

/// Rows of five pixels or more, by windows of any size whose inputs are in fours.
ConvCase Fives(int i, Generator& random) {
  const int32_t kernel = i % 2 == 0 ? 1 : Pick(random, 2, 4);
  const int32_t stride = Pick(random, 1, 2);
  const int32_t pad = kernel == 1 ? 0 : Pick(random, 0, 1);
  const int32_t rows = Pick(random, 1, 3);
  const int32_t columns = rows == 1 ? 5 * Pick(random, 1, 3) : 5;
  ConvCase c = SquareCase(4 * Pick(random, 1, 20), Pick(random, 1, 9), 0, 0, kernel, stride, pad);
  c.x[2] = std::max<int32_t>((rows - 1) * stride + kernel - 2 * pad, 1);
  c.x[3] = (columns - 1) * stride + kernel - 2 * pad;
  return c;
}

/// A row of outputs, or some, with any padding: 3x3 windows with steps of 1 or 2.
ConvCase RowsOfOutputs(int i, Generator& random) {
  const int32_t channels = 4 * Pick(random, 1, 5);
  ConvCase c = SquareCase(channels, channels, Pick(random, 1, i % 2 == 0 ? 3 : 6),
                          Pick(random, 1, 30), 3, Pick(random, 1, 2), 0, channels);
  c.x[0] = Pick(random, 1, 2);
  for (int32_t& side : c.conv.pads) side = Pick(random, 0, 3);
  for (int axis = 0; axis < 2; ++axis) {  // outputs there must be
    const size_t at = static_cast<size_t>(axis);
    while (c.x[at + 2] + c.conv.pads[at] + c.conv.pads[at + 2] < 3) ++c.x[at + 2];
  }
  return c;
}

void CheckCases(const char* suffix, ConvCase (*make)(int, Generator&), Layout order) {
  const KernelEntry* kernel = KernelOfRows(suffix);
  if (kernel == nullptr) return;
  Generator random(21);
  int ran = 0;
  constexpr int kCases = 300;
  for (int i = 0; i < kCases; ++i) {
    const ConvCase c = make(i, random);
    ran += CheckCase(*kernel, c, RowOptions(i, random), order, random) ? 1 : 0;
  }
  CHECK(ran > kCases / 3);
}

}  // namespace

TEST_CASE("DSP conv: rows of five pixels at a time") {
  CheckCases("_fives", Fives, Layout::kChannelsLast);
}

TEST_CASE("DSP depthwise: single rows of outputs") {
  CheckCases("_depthwise_row", RowsOfOutputs, Layout::kOutputsLast);
}

TEST_CASE("DSP rows: factors of which fast forms know nothing are refused") {
  for (const bool depthwise : {false, true}) {
    CAPTURE(depthwise);
    const KernelEntry* kernel = KernelOfRows(depthwise ? "_depthwise_row" : "_fives");
    if (kernel == nullptr) return;
    Generator random(22);
    const ConvCase c = SquareCase(8, 8, depthwise ? 3 : 1, depthwise ? 7 : 5, depthwise ? 3 : 1, 1,
                                  0, depthwise ? 8 : 1);
    const Layout order = depthwise ? Layout::kOutputsLast : Layout::kChannelsLast;
    GemmOptions options = RowOptions(1, random);
    CHECK(CheckCase(*kernel, c, options, order, random));
    options.hostile = true;
    CHECK(!CheckCase(*kernel, c, options, order, random));
    options.hostile = false;
    options.per_channel = false;
    CHECK(!CheckCase(*kernel, c, options, order, random));
    options.per_channel = true;
    options.bias = false;
    CHECK(!CheckCase(*kernel, c, options, order, random));
  }
}

}  // namespace tenon::cpu::testing
