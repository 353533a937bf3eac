// Tests convolutions of few outputs, whose vectors are neighbouring pixels.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/conv_options.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kPixels = "cpu.conv.vector_pixels";
constexpr double kPixelsTolerance = 1e-5;

Status TakenBy(const char* kernel, const ConvCase& c) {
  Generator random(7);
  OpFixture op(FindKernel(kernel));
  op.AddInput(Random(c.x, Layout::kChannelsLast, random));
  op.AddInput(Random(c.w, Layout::kRowMajor, random), kConstant);
  op.AddOutput(Tensor(DType::kF32, OutputDims(c), Layout::kChannelsLast));
  return op.Check(c.attributes);
}

bool IsTaken(const ConvCase& c) { return TakenBy(kPixels, c).ok(); }

/// Shapes of `group` groups that the kernel takes.
ConvCase RandomCase(int32_t group, Generator& random) {
  while (true) {
    const int32_t inputs = group * Pick(random, 1, 12);
    const int32_t outputs = group * Pick(random, 1, 8);
    const ConvShapes shapes = RandomShapes(inputs, outputs, group, 11, random, /*spare=*/50);
    ConvCase c = {shapes.x, shapes.w, shapes.conv};
    SetRandomActivation(c.attributes, random);
    if (IsTaken(c)) return c;
  }
}

ConvOptions AnyLayouts(Generator& random) {
  ConvOptions options = RandomOptions(kPixels, random);
  options.x = kAllLayouts[Pick(random, 0, static_cast<int>(std::size(kAllLayouts)) - 1)];
  options.y = kAllLayouts[Pick(random, 0, static_cast<int>(std::size(kAllLayouts)) - 1)];
  return options;
}

}  // namespace

TEST_CASE("Pixel conv: agrees with the portable kernel on random shapes in any layout") {
  ForEachInstructionSet([] {
    Generator random(71);
    for (int i = 0; i < 120; ++i) {
      const ConvCase c = RandomCase(Pick(random, 0, 2) == 0 ? Pick(random, 2, 4) : 1, random);
      CheckAgreement(c, AnyLayouts(random), kPixelsTolerance, random);
    }
  });
}

TEST_CASE("Pixel conv: rows of every length, in bands and in segments") {
  ForEachInstructionSet([] {
    Generator random(72);
    for (int32_t columns = 12; columns < 70; columns += Pick(random, 1, 3)) {
      const ConvCase c = {{1, 8, 21, columns}, {7, 8, 5, 5}, Conv(1, 1, 2)};
      if (IsTaken(c)) CheckAgreement(c, AnyLayouts(random), kPixelsTolerance, random);
    }
    for (const int32_t columns : {400, 401, 415}) {
      const ConvCase c = {{1, 12, 3, columns}, {8, 12, 5, 3}, Conv(1, 1, 2)};
      REQUIRE(IsTaken(c));
      CheckAgreement(c, AnyLayouts(random), kPixelsTolerance, random);
    }
  });
}

TEST_CASE("Pixel conv: strides and dilations, whose planes are every so many rows or columns") {
  ForEachInstructionSet([] {
    Generator random(73);
    for (const int32_t down : {1, 2, 3}) {
      for (const int32_t across : {1, 2, 3}) {
        for (const int32_t dilation : {1, 2, 3}) {
          ConvCase c = {{1, 3, 60, 100}, {8, 3, 9, 9}, Conv(1, 1, 8, dilation)};
          c.attributes.strides[0] = down;
          c.attributes.strides[1] = across;
          CAPTURE(down);
          CAPTURE(across);
          CAPTURE(dilation);
          REQUIRE(IsTaken(c));
          CheckAgreement(c, AnyLayouts(random), kPixelsTolerance, random);
        }
      }
    }
  });
}

TEST_CASE("Pixel conv: windows that lie in the padding, whole or most of them") {
  ForEachInstructionSet([] {
    Generator random(74);
    for (const int32_t pad : {9, 14, 40}) {
      ConvCase c = {{1, 4, 5, 6}, {8, 4, 5, 5}, Conv(1, 1, pad)};
      CAPTURE(pad);
      REQUIRE(IsTaken(c));
      CheckAgreement(c, AnyLayouts(random), kPixelsTolerance, random);
    }
  });
}

TEST_CASE("Pixel conv: what is not a number reaches the outputs whose windows hold it, no other") {
  ForEachInstructionSet([] {
    constexpr int32_t kSize = 24;
    Generator random(75);
    Tensor x = Random({1, 8, kSize, kSize}, Layout::kChannelsLast, random);
    std::vector<float> values = x.Values<float>();
    // Row 10, column 23 of the last channel: behind it in the copy is padding of the next row.
    values[7 * kSize * kSize + 10 * kSize + 23] = std::numeric_limits<float>::quiet_NaN();
    x.Set(values);
    OpFixture op(FindKernel(kPixels));
    op.AddInput(x);
    op.AddInput(Random({8, 8, 5, 5}, Layout::kRowMajor, random), kConstant);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 8, kSize, kSize}, Layout::kRowMajor));
    ConvAttributes attributes = Conv(1, 1, 2);
    attributes.activation.function = UnaryFunction::kRelu;
    REQUIRE(op.Run(attributes).ok());
    for (int32_t row = 0; row < kSize; ++row) {
      for (int32_t column = 0; column < kSize; ++column) {
        CAPTURE(row);
        CAPTURE(column);
        const bool holds_it = row >= 8 && row <= 12 && column >= 21;
        const float value = y.Values<float>()[static_cast<size_t>(row * kSize + column)];
        CHECK(std::isnan(value) == holds_it);
      }
    }
  });
}

TEST_CASE("Pixel conv: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    for (const int32_t outputs : {2, 5, 8}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Generator random(76);
        OpFixture op(FindKernel(kPixels));
        op.AddInput(Random({1, 4, 37, 61}, Layout::kChannelsLast, random));
        op.AddInput(Random({2 * outputs, 2, 7, 7}, Layout::kRowMajor, random), kConstant);
        const Tensor y =
            op.AddOutput(Tensor(DType::kF32, {1, 2 * outputs, 37, 61}, Layout::kChannelsLast));
        ConvAttributes attributes = Conv(2, 1, 3);
        attributes.activation.function = UnaryFunction::kHardSwish;
        REQUIRE(op.Run(attributes, threads).ok());
        if (threads == 1) first = y.Values<float>();
        CAPTURE(outputs);
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Pixel conv: refuses windows whose taps lie 2^26 apart") {
  ConvCase c = {{1, 8, 2, 2}, {8, 8, 3, 3}, Conv(1, 1, 1 << 26, 1 << 26)};
  for (int32_t& pad : c.attributes.pads) pad += 40;
  const Status status = TakenBy(kPixels, c);
  INFO(std::string(status.message()));
  CHECK(status.code() == StatusCode::kUnsupported);
}

TEST_CASE("Pixel conv: takes windows that are worth a copy, of few outputs of each group") {
  const auto taken = [](std::vector<int32_t> x, std::vector<int32_t> w, int32_t group,
                        int32_t stride) {
    const int32_t pad = w[2] / 2;
    return IsTaken({std::move(x), std::move(w), Conv(group, stride, pad)});
  };
  CHECK(taken({1, 8, 56, 56}, {8, 8, 5, 5}, 1, 1));
  CHECK_FALSE(taken({1, 8, 56, 56}, {9, 8, 5, 5}, 1, 1));
  CHECK(taken({1, 64, 28, 28}, {64, 8, 5, 5}, 8, 1));        // eight groups of eight
  CHECK_FALSE(taken({1, 8, 56, 56}, {8, 8, 1, 1}, 1, 1));    // nothing to copy for
  CHECK_FALSE(taken({1, 4, 56, 56}, {8, 4, 3, 3}, 1, 1));    // few products
  CHECK(taken({1, 8, 112, 112}, {8, 8, 3, 3}, 1, 1));        // as few inputs as outputs
  CHECK_FALSE(taken({1, 16, 56, 56}, {8, 16, 3, 3}, 1, 1));  // Winograd's way
  CHECK_FALSE(taken({1, 8, 112, 112}, {8, 8, 3, 3}, 1, 2));  // four times the copy
  CHECK(taken({1, 8, 112, 112}, {8, 8, 5, 5}, 1, 2));
  CHECK_FALSE(taken({1, 8, 6, 6}, {8, 8, 5, 5}, 1, 1));        // a small image
  CHECK_FALSE(taken({1, 64, 56, 56}, {4, 64, 5, 5}, 1, 1));    // sums along the depth
  CHECK_FALSE(taken({1, 256, 56, 56}, {8, 256, 5, 5}, 1, 1));  // too many products
  CHECK_FALSE(taken({1, 8, 200, 9}, {8, 8, 5, 5}, 1, 2));      // rows of five pixels
}

}  // namespace tenon::cpu::testing
