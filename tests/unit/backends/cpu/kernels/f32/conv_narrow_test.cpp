// Tests convolutions of few outputs, whose vectors run along the depth.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kNarrow = "cpu.conv.vector_narrow";
constexpr double kNarrowTolerance = 1e-5;

constexpr Activation kActivations[] = {{UnaryFunction::kIdentity, 0.0F, 0.0F},
                                       {UnaryFunction::kRelu, 0.0F, 0.0F},
                                       {UnaryFunction::kClip, -0.5F, 0.5F},
                                       {UnaryFunction::kSigmoid, 0.0F, 0.0F},
                                       {UnaryFunction::kLeakyRelu, 0.1F, 0.0F}};

double Difference(const ConvCase& c, Generator& random) {
  PairedOp op(kNarrow, "cpu.conv.portable");
  op.AddInput(Random(c.x, PickChannelsLast(random), random));
  const Layout weights = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kOutputsLast;
  const float scale = 1.0F / std::sqrt(static_cast<float>(c.w[1] * c.w[2] * c.w[3]));
  op.AddInput(Random(c.w, weights, random, -scale, scale), kConstant);
  AddBiasAndOutput(c, Pick(random, 0, 3) != 0, static_cast<Residual>(Pick(random, 0, 2)),
                   PickChannelsLast(random), random, op);
  return op.Difference(c.attributes, Pick(random, 1, 3));
}

void CheckAgreement(const ConvCase& c, Generator& random) {
  INFO(TextOf(c.x, c.w));
  CHECK(Difference(c, random) < kNarrowTolerance);
}

bool IsTaken(const std::vector<int32_t>& x, const std::vector<int32_t>& w) {
  Generator random(7);
  const ConvCase c = {x, w, Conv(1, 1, w[2] / 2)};
  OpFixture op(FindKernel(kNarrow));
  op.AddInput(Random(x, Layout::kChannelsLast, random));
  op.AddInput(Random(w, Layout::kRowMajor, random), kConstant);
  op.AddOutput(Tensor(DType::kF32, OutputDims(c), Layout::kChannelsLast));
  return op.Check(c.attributes).ok();
}

}  // namespace

TEST_CASE("Narrow conv: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(51);
    for (int i = 0; i < 200; ++i) {
      const ConvShapes shapes =
          RandomShapes(Pick(random, 48, 90), Pick(random, 1, 6), 1, 5, random, /*spare=*/20);
      ConvCase c = {shapes.x, shapes.w, shapes.conv};
      c.attributes.activation = kActivations[Pick(random, 0, 4)];
      CheckAgreement(c, random);
    }
  });
}

TEST_CASE("Narrow conv: rows shorter and longer than an item of work, of any number of channels") {
  ForEachInstructionSet([] {
    Generator random(52);
    for (int32_t width = 1; width <= 20; ++width) {
      for (const int32_t outputs : {1, 2, 3}) {
        const int32_t columns = width < 18 ? width : width * 9;
        ConvCase c = {{1, Pick(random, 8, 20), 3, columns}, {}, Conv(1, 1, 1)};
        c.w = {outputs, c.x[1], 3, 3};
        CheckAgreement(c, random);
      }
    }
  });
}

TEST_CASE("Narrow conv: 1x1, whose rows become one, and 1x1 with steps") {
  ForEachInstructionSet([] {
    Generator random(53);
    for (const int32_t size : {1, 2, 7, 13}) {
      for (int32_t outputs = 1; outputs <= 6; ++outputs) {
        for (const int32_t stride : {1, 2}) {
          ConvCase c = {{2, Pick(random, 48, 90), size, size + 1}, {}, Conv(1, stride, 0)};
          c.w = {outputs, c.x[1], 1, 1};
          c.attributes.activation = kActivations[Pick(random, 0, 4)];
          CheckAgreement(c, random);
        }
      }
    }
  });
}

TEST_CASE("Narrow conv: windows that lie in the padding, whole or most of them") {
  ForEachInstructionSet([] {
    Generator random(54);
    for (const int32_t pad : {6, 9}) {
      for (const int32_t dilation : {1, 2, 3}) {
        const ConvCase c = {{1, 12, 2, 3}, {2, 12, 3, 5}, Conv(1, 1, pad, dilation)};
        CheckAgreement(c, random);
      }
    }
  });
}

TEST_CASE("Narrow conv: windows of more taps than register tiles take") {
  ForEachInstructionSet([] {
    Generator random(55);
    CheckAgreement({{1, 3, 20, 21}, {1, 3, 15, 13}, Conv(1, 1, 6)}, random);
  });
}

TEST_CASE("Narrow conv: what is not a number reaches the outputs whose windows hold it, no other") {
  ForEachInstructionSet([] {
    for (const int32_t channels : {5, 16, 19}) {
      constexpr int32_t kSize = 9;
      Generator random(56);
      Tensor x = Random({1, channels, kSize, kSize}, Layout::kChannelsLast, random);
      std::vector<float> values = x.Values<float>();
      // Row 4, column 4 of the last channel.
      values[static_cast<size_t>((channels - 1) * kSize * kSize + 4 * kSize + 4)] =
          std::numeric_limits<float>::quiet_NaN();
      x.Set(values);
      OpFixture op(FindKernel(kNarrow));
      op.AddInput(x);
      op.AddInput(Random({1, channels, 3, 3}, Layout::kRowMajor, random), kConstant);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1, kSize, kSize}, Layout::kRowMajor));
      ConvAttributes attributes = Conv(1, 1, 1);
      attributes.activation.function = UnaryFunction::kRelu;
      REQUIRE(op.Run(attributes).ok());
      CAPTURE(channels);
      for (int32_t row = 0; row < kSize; ++row) {
        for (int32_t column = 0; column < kSize; ++column) {
          CAPTURE(row);
          CAPTURE(column);
          const bool holds_it = row >= 3 && row <= 5 && column >= 3 && column <= 5;
          const float value = y.Values<float>()[static_cast<size_t>(row * kSize + column)];
          CHECK(std::isnan(value) == holds_it);
        }
      }
    }
  });
}

TEST_CASE("Narrow conv: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    for (const int32_t kernel : {1, 3}) {
      for (const int32_t outputs : {1, 2, 3, 4, 6}) {
        std::vector<float> first;
        for (const int threads : {1, 2, 3}) {
          Generator random(57);
          OpFixture op(FindKernel(kNarrow));
          op.AddInput(Random({1, 70, 30, 75}, Layout::kChannelsLast, random));
          op.AddInput(Random({outputs, 70, kernel, kernel}, Layout::kRowMajor, random), kConstant);
          const Tensor y =
              op.AddOutput(Tensor(DType::kF32, {1, outputs, 30, 75}, Layout::kChannelsLast));
          ConvAttributes attributes = Conv(1, 1, kernel / 2);
          attributes.activation.function = UnaryFunction::kHardSwish;
          REQUIRE(op.Run(attributes, threads).ok());
          if (threads == 1) first = y.Values<float>();
          CAPTURE(outputs);
          CHECK(y.Values<float>() == first);
        }
      }
    }
  });
}

TEST_CASE("Narrow conv: leaves more outputs, groups and small windows to others") {
  CHECK(IsTaken({1, 64, 9, 9}, {6, 64, 3, 3}));
  CHECK_FALSE(IsTaken({1, 64, 9, 9}, {7, 64, 3, 3}));
  CHECK(IsTaken({1, 1, 9, 9}, {1, 1, 3, 3}));
  CHECK_FALSE(IsTaken({1, 1, 9, 9}, {4, 1, 5, 5}));
  CHECK(IsTaken({1, 16, 9, 9}, {6, 16, 1, 1}));
  CHECK_FALSE(IsTaken({1, 8, 9, 9}, {6, 8, 1, 1}));
  Generator random(58);
  OpFixture op(FindKernel(kNarrow));
  op.AddInput(Random({1, 64, 9, 9}, Layout::kChannelsLast, random));
  op.AddInput(Random({4, 32, 3, 3}, Layout::kRowMajor, random), kConstant);
  op.AddOutput(Tensor(DType::kF32, {1, 4, 9, 9}, Layout::kChannelsLast));
  CHECK(op.Check(Conv(2, 1, 1)).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
