// Instructions per multiply-accumulate of the Cortex-M kernels, as an emulator counts them, against
// their limits.
#include <cstdio>

#include "sdk/examples/firmware/board/board.h"
#include "tests/unit/backends/cpu/kernels/cortex_m/conv_cases.hpp"

namespace tenon::cpu::testing {
namespace {

#if defined(__ARM_FEATURE_MVE)
constexpr double kMost = 0.3;
constexpr double kMostSum = 7;
constexpr double kMostSumOfPatch = 7;
constexpr double kMostDepthwiseOfPatch = 1.9;
#else
constexpr double kMost = 1.3;
constexpr double kMostSum = 17;
constexpr double kMostSumOfPatch = 40;
constexpr double kMostDepthwiseOfPatch = 3.8;
#endif

uint64_t TicksOfLoop(int rounds) {
  const uint64_t start = board_ticks();
  asm volatile("1: nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n subs %0, %0, #1\n bne 1b\n"
               : "+r"(rounds)
               :
               : "cc");
  return board_ticks() - start;
}

/// Under `-icount` every instruction takes as long as any other.
double InstructionsPerTick() {
  static const double kRatio = [] {
    constexpr int kRounds = 100000;
    return 10.0 * kRounds / static_cast<double>(TicksOfLoop(kRounds) - TicksOfLoop(1));
  }();
  return kRatio;
}

const KernelEntry& OwnKernel(const char* op, const char* suffix) {
  const KernelEntry* kernel = FindInSet(CortexMKernels(), op, suffix);
  REQUIRE(kernel != nullptr);
  return *kernel;
}

/// Of one run of the kernel, everything between its start and its end.
template <typename Attributes>
double Instructions(OpFixture& op, const Attributes& attributes) {
  uint64_t ticks[2];
  // What the fixture itself does cancels out between one run and three.
  for (int i = 0; i < 2; ++i) {
    const uint64_t start = board_ticks();
    REQUIRE(op.Run(attributes, 1, 1 + 2 * i).ok());
    ticks[i] = board_ticks() - start;
  }
  return static_cast<double>(ticks[1] - ticks[0]) / 2 * InstructionsPerTick();
}

Tensor Bytes(const std::vector<int32_t>& dims, Layout layout, Generator& random) {
  Tensor tensor(DType::kI8, dims, layout);
  std::vector<int8_t> values(tensor.count());
  for (int8_t& value : values) value = static_cast<int8_t>(Pick(random, -127, 127));
  tensor.Set(values);
  return tensor;
}

/// As the converter gives them to the kernel: with the zero point of x in the bias, if it wants
/// that; where there is padding, beside both.
void AddParameters(OpFixture& op, int32_t channels, const KernelEntry& kernel, bool padded) {
  const auto count = static_cast<size_t>(channels);
  const Tensor bias = Tensor::From(DType::kI32, {channels}, std::vector<int32_t>(count, 1234));
  op.AddInput(bias, kConstant);
  op.AddInput(Tensor::From(DType::kI32, {channels}, std::vector<int32_t>(count, 1 << 30)),
              kConstant);
  op.AddInput(Tensor::From(DType::kI8, {channels}, std::vector<int8_t>(count, -7)), kConstant);
  const bool folds = CapsOfKernel(kernel).wants_folded_bias;
  if (folds && !padded) return;
  op.AddInput(Tensor::From(DType::kI8, {1}, std::vector<int8_t>{-3}), kConstant);
  if (!folds) return;
  op.AddAbsentInput();
  op.AddInput(bias, kConstant);
}

double PerMultiply(const char* name, const ConvCase& c, const char* suffix) {
  Generator random(1);
  const KernelEntry& kernel = OwnKernel("quantized_conv", suffix);
  OpFixture op(kernel);
  op.AddInput(Bytes(c.x, Layout::kChannelsLast, random));
  const Layout order = c.conv.group == 1 ? Layout::kChannelsLast : Layout::kOutputsLast;
  op.AddInput(Bytes(c.w, order, random), kConstant);
  const int32_t* const pads = c.conv.pads;
  AddParameters(op, c.w[0], kernel, (pads[0] | pads[1] | pads[2] | pads[3]) != 0);
  const std::vector<int32_t> y = OutputDims(c);
  op.AddOutput(Tensor(DType::kI8, y, Layout::kChannelsLast));
  op.set_workspace_bytes(size_t{64} << 10);
  QuantizedConvAttributes attributes;
  attributes.conv = c.conv;
  attributes.output.rounding = Rounding::kFixedPoint;
  const double instructions = Instructions(op, attributes);
  const double multiplies = static_cast<double>(y[1] * y[2] * y[3]) * c.w[1] * c.w[2] * c.w[3];
  std::printf("%-28s %9.0f multiplies %9.0f instructions %.3f each\n", name, multiplies,
              instructions, instructions / multiplies);
  return instructions / multiplies;
}

double MatMul(const char* name, int32_t depth, int32_t columns) {
  Generator random(1);
  const KernelEntry& kernel = OwnKernel("quantized_matmul", "");
  OpFixture op(kernel);
  op.AddInput(Bytes({1, depth}, Layout::kRowMajor, random));
  op.AddInput(Bytes({columns, depth}, Layout::kRowMajor, random), kConstant);
  AddParameters(op, columns, kernel, /*padded=*/false);
  op.AddOutput(Tensor(DType::kI8, {1, columns}, Layout::kRowMajor));
  op.set_workspace_bytes(size_t{64} << 10);
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = 1;
  attributes.output.rounding = Rounding::kFixedPointOnce;
  const double instructions = Instructions(op, attributes);
  std::printf("%-28s %9d multiplies %9.0f instructions %.3f each\n", name,
              static_cast<int>(depth * columns), instructions, instructions / depth / columns);
  return instructions / depth / columns;
}

double PerElement(const char* name, int32_t count, size_t workspace_bytes) {
  const KernelEntry* kernel = FindInSet(CortexMKernels(), "quantized_binary", "");
  if (kernel == nullptr) return 0;  // not of this set
  Generator random(1);
  OpFixture op(*kernel);
  for (int i = 0; i < 2; ++i) op.AddInput(Bytes({count}, Layout::kRowMajor, random));
  op.AddOutput(Tensor(DType::kI8, {count}, Layout::kRowMajor));
  op.set_workspace_bytes(workspace_bytes);
  QuantizedBinaryAttributes attributes;
  attributes.left_shift = 20;
  attributes.output.rounding = Rounding::kFixedPoint;
  for (QuantizedScale* scale :
       {&attributes.x_scale, &attributes.y_scale, &attributes.output_scale}) {
    scale->multiplier = 1 << 30;
    scale->shift = -1;
  }
  attributes.output_scale.shift = -18;
  const double each = Instructions(op, attributes) / count;
  std::printf("%-28s %9d elements %.3f each\n", name, static_cast<int>(count), each);
  return each;
}

double PerPooled(const char* name, int32_t channels, int32_t height, int32_t width) {
  const KernelEntry* kernel = FindInSet(CortexMKernels(), "quantized_average_pool", "");
  if (kernel == nullptr) return 0;
  Generator random(1);
  OpFixture op(*kernel);
  op.AddInput(Bytes({1, channels, height, width}, Layout::kChannelsLast, random));
  op.AddOutput(Tensor(DType::kI8, {1, channels, 1, 1}, Layout::kChannelsLast));
  QuantizedAveragePoolAttributes attributes;
  attributes.pool.kernel[0] = height;
  attributes.pool.kernel[1] = width;
  attributes.output.rounding = Rounding::kHalfAway;
  const double each = Instructions(op, attributes) / (channels * height * width);
  std::printf("%-28s %9d elements %.3f each\n", name, static_cast<int>(channels * height * width),
              each);
  return each;
}

/// The first use starts the timer.
struct Ticks {
  Ticks() { board_start_ticks(); }
} const kTicks;

}  // namespace

TEST_CASE("Cortex-M instructions: 1x1 convolutions of 16 channels and more") {
  CHECK(PerMultiply("1x1 16->16 24x24", SquareCase(16, 16, 24, 24, 1, 1, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 16->96 24x24", SquareCase(16, 96, 24, 24, 1, 1, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 32->32 24x24", SquareCase(32, 32, 24, 24, 1, 1, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 64->64 25x5 (kws)", SquareCase(64, 64, 25, 5, 1, 1, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 96->24 24x24", SquareCase(96, 24, 24, 24, 1, 1, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 32->64 /2 (resnet)", SquareCase(32, 64, 16, 16, 1, 2, 0), "") <= kMost);
  CHECK(PerMultiply("1x1 16->32 /2 (resnet)", SquareCase(16, 32, 32, 32, 1, 2, 0), "") <= kMost);
}

TEST_CASE("Cortex-M instructions: 3x3 convolutions of 16 channels and more") {
  CHECK(PerMultiply("3x3 16->16 32x32 (resnet)", SquareCase(16, 16, 32, 32, 3, 1, 1), "") <= kMost);
  CHECK(PerMultiply("3x3 32->32 16x16 (resnet)", SquareCase(32, 32, 16, 16, 3, 1, 1), "") <= kMost);
  CHECK(PerMultiply("3x3 64->64 8x8 (resnet)", SquareCase(64, 64, 8, 8, 3, 1, 1), "") <= kMost);
  CHECK(PerMultiply("3x3 16->32 /2 32x32", SquareCase(16, 32, 32, 32, 3, 2, 1), "") <= kMost);
}

TEST_CASE("Cortex-M instructions: what only some sets have, by its suffix") {
  const auto has = [](const char* suffix) {
    return FindInSet(CortexMKernels(), "quantized_conv", suffix) != nullptr;
  };
  if (has("_winograd")) {
    constexpr double kMostWinograd = 0.65;  // half of what other products may take
    const auto each = [](int32_t channels, int32_t side) {
      const std::string count = std::to_string(channels);
      const std::string name = "3x3 " + count + "->" + count + " (resnet), Winograd";
      return PerMultiply(name.c_str(), SquareCase(channels, channels, side, side, 3, 1, 1),
                         "_winograd");
    };
    CHECK(each(16, 32) <= kMostWinograd);
    CHECK(each(32, 16) <= kMostWinograd);
    CHECK(each(64, 8) <= kMostWinograd);
  }
  if (has("_depthwise_windows")) {
    CHECK(PerMultiply("depthwise 5x5 48 20x20", SquareCase(48, 48, 20, 20, 5, 1, 2, 48),
                      "_depthwise_windows") <= 3.8);
    CHECK(PerMultiply("depthwise 7x7 48 10x10", SquareCase(48, 48, 10, 10, 7, 1, 3, 48),
                      "_depthwise_windows") <= 3.8);
    CHECK(PerMultiply("depthwise 3x3 48 /2 1x2 (a tile)", SquareCase(48, 48, 3, 5, 3, 2, 0, 48),
                      "_depthwise_windows") <= 7.2);
  }
}

TEST_CASE("Cortex-M instructions: convolutions of few channels, depthwise ones, products") {
  ConvCase first = SquareCase(1, 64, 49, 10, 4, 2, 0);
  first.w[2] = 10;
  first.conv.pads[0] = 4;
  first.conv.pads[1] = 1;
  first.conv.pads[2] = 5;
  first.conv.pads[3] = 1;
  // No more than now, as multiples of what large convolutions may take.
  CHECK(PerMultiply("10x4 1->64 49x10 (kws)", first, "") <= 3 * kMost);
  CHECK(PerMultiply("3x3 3->16 32x32 (resnet)", SquareCase(3, 16, 32, 32, 3, 1, 1), "") <=
        3 * kMost);
  CHECK(PerMultiply("3x3 3->8 /2 96x96", SquareCase(3, 8, 96, 96, 3, 2, 1), "") <= 4 * kMost);
  CHECK(PerMultiply("depthwise 3x3 64 25x5 (kws)", SquareCase(64, 64, 25, 5, 3, 1, 1, 64),
                    "_depthwise") <= 7 * kMost);
  CHECK(PerMultiply("depthwise 3x3 64 2x5 (kws patch)", SquareCase(64, 64, 2, 5, 3, 1, 1, 64),
                    "_depthwise") <= kMostDepthwiseOfPatch);
  CHECK(PerMultiply("depthwise 3x3 16 48x48", SquareCase(16, 16, 48, 48, 3, 1, 1, 16),
                    "_depthwise") <= 7 * kMost);
  CHECK(PerMultiply("depthwise 3x3 8 48x48", SquareCase(8, 8, 48, 48, 3, 1, 1, 8), "_depthwise") <=
        12 * kMost);
  CHECK(MatMul("product 640->128 (ad01)", 640, 128) <= 2 * kMost);
  CHECK(MatMul("product 64->12 (kws)", 64, 12) <= 10 * kMost);
  CHECK(MatMul("product 101->12, whose columns begin anywhere", 101, 12) <= 10 * kMost);
}

TEST_CASE("Cortex-M instructions: sums and averages, per element") {
  CHECK(PerElement("sum 32x32x16 (resnet)", 32 * 32 * 16, 2048) <= kMostSum);
  CHECK(PerElement("sum 2x32x16, without tables", 2 * 32 * 16, 0) <= kMostSumOfPatch);
  CHECK(PerPooled("average 25x5 of 64 (kws)", 64, 25, 5) <= 3);
}

}  // namespace tenon::cpu::testing
