#include <doctest/doctest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/conv_options.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

// Sums of up to 2304 products in another order, and with fused multiply-adds.
constexpr double kConvTolerance = 1e-5;

constexpr const char* kTile = "cpu.conv.vector";
constexpr const char* kPanels = "cpu.conv.vector_panels";
constexpr const char* kDepthwise = "cpu.conv.vector_depthwise";

ConvCase RandomCase(int32_t inputs, int32_t outputs, int32_t group, int32_t most,
                    Generator& random) {
  const ConvShapes shapes = RandomShapes(inputs, outputs, group, most, random, /*spare=*/16);
  ConvCase c = {shapes.x, shapes.w, shapes.conv};
  SetRandomActivation(c.attributes, random);
  return c;
}

}  // namespace

TEST_CASE("Vector conv: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) {
      const ConvCase c = RandomCase(Pick(random, 1, 40), Pick(random, 1, 80), 1, 4, random);
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: windows of hundreds of taps, of which few pixels share a tile") {
  ForEachInstructionSet([] {
    Generator random(30);
    for (const int32_t side : {12, 13, 17, 32}) {
      const ConvCase c = {{1, 18, 14, 15}, {33, 18, side, side}, Conv(1, 1, side / 2)};
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: windows without padding, whose columns are read as one") {
  ForEachInstructionSet([] {
    Generator random(31);
    for (int i = 0; i < 120; ++i) {
      const int32_t inputs = Pick(random, 1, 20);
      ConvCase c = {{Pick(random, 1, 2), inputs, 0, 0}, {Pick(random, 1, 70), inputs, 0, 0}, {}};
      for (size_t axis = 0; axis < 2; ++axis) {
        c.w[2 + axis] = axis == 0 && Pick(random, 0, 1) == 0 ? 1 : Pick(random, 1, 9);
        c.attributes.strides[axis] = Pick(random, 1, 5);
        c.attributes.dilations[axis] = Pick(random, 1, axis == 0 ? 3 : 2);
        // Behind the image alone, which the last windows may or may not reach.
        c.attributes.pads[2 + axis] = Pick(random, 0, 2) == 0 ? 2 : 0;
        const int32_t reach = (c.w[2 + axis] - 1) * c.attributes.dilations[axis] + 1;
        if (Pick(random, 0, 3) == 0) c.attributes.pads[axis] = 1;
        c.x[2 + axis] = reach + (axis == 0 ? Pick(random, 0, 1) : 1) * Pick(random, 0, 30);
      }
      SetRandomActivation(c.attributes, random);
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: windows of one row, in images of several rows and in several images") {
  ForEachInstructionSet([] {
    Generator random(33);
    for (const int32_t images : {1, 2}) {
      for (const int32_t rows : {1, 2, 5}) {
        for (const int32_t stride : {1, 2}) {
          const ConvCase c = {{images, 6, rows, 31}, {20, 6, 1, 5}, Conv(1, stride, 0)};
          ConvOptions options = RandomOptions(kTile, random);
          options.x = Layout::kChannelsLast;
          CheckAgreement(c, options, kConvTolerance, random);
        }
      }
    }
  });
}

TEST_CASE("Vector conv: frames of sound, few of which read large weights in their order") {
  ForEachInstructionSet([] {
    Generator random(32);
    for (const int32_t frames : {1, 2, 3, 4, 40}) {
      for (const int32_t hop : {128, 256, 300}) {
        const ConvCase c = {
            {1, 1, 1, 256 + hop * (frames - 1) + Pick(random, 0, 100)}, {136, 1, 1, 256}, [&] {
              ConvAttributes attributes = Conv(1, 1, 0);
              attributes.strides[1] = hop;
              return attributes;
            }()};
        ConvOptions options = RandomOptions(kTile, random);
        options.w = Layout::kOutputsLast;
        CheckAgreement(c, options, kConvTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector conv: groups read their own channels") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (int i = 0; i < 60; ++i) {
      const int32_t group = Pick(random, 2, 4);
      const ConvCase c =
          RandomCase(group * Pick(random, 1, 9), group * Pick(random, 16, 50), group, 3, random);
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: groups of 8 outputs follow each other in one call, padding or none") {
  ForEachInstructionSet([] {
    Generator random(22);
    for (int i = 0; i < 40; ++i) {
      const int32_t group = Pick(random, 2, 40);
      const ConvCase c = RandomCase(group * Pick(random, 1, 20), group * 8, group, 3, random);
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: 1x1 of any number of pixels, as products of matrices") {
  ForEachInstructionSet([] {
    Generator random(3);
    for (int32_t width = 1; width <= 30; ++width) {
      const ConvCase c = {{1, Pick(random, 1, 70), 1, width}, {}, Conv(1, 1, 0)};
      ConvCase whole = c;
      whole.w = {Pick(random, 1, 70), c.x[1], 1, 1};
      CheckAgreement(whole, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: 1x1 of a few pixels and large weights, which are read in their order") {
  ForEachInstructionSet([] {
    Generator random(23);
    for (int i = 0; i < 30; ++i) {
      const int32_t outputs = Pick(random, 33, 600);
      const int32_t inputs = 32 * 1024 / outputs + Pick(random, 1, 40);
      ConvCase c = {{1, inputs, 1, Pick(random, 1, 4)}, {outputs, inputs, 1, 1}, Conv(1, 1, 0)};
      SetRandomActivation(c.attributes, random);
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: weights too large for the cache go first") {
  ForEachInstructionSet([] {
    Generator random(4);
    const ConvCase c = {{1, 320, 7, 7}, {330, 320, 1, 1}, Conv(1, 1, 0)};
    for (const int threads : {1, 2, 3}) {
      ConvOptions options;
      options.threads = threads;
      CheckAgreement(c, options, kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: 1x1 tiles of two sizes, which repeat, in either order of loops") {
  ForEachInstructionSet([] {
    Generator random(16);
    for (const int32_t inputs : {13, 72, 300}) {      // the last ones' weights go first
      for (const int32_t outputs : {72, 136, 330}) {  // with and without a last group of padding
        ConvCase c = {{Pick(random, 1, 2), inputs, Pick(random, 3, 13), 13},
                      {outputs, inputs, 1, 1},
                      Conv(1, 1, 0)};
        SetRandomActivation(c.attributes, random);
        CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
        if (inputs * outputs < 32 * 1024) continue;  // too small for panels
        CheckAgreement(c, RandomOptions(kPanels, random), kConvTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector conv: large weights in panels, whatever is left for the last one") {
  ForEachInstructionSet([] {
    Generator random(8);
    for (const int32_t outputs : {64, 97, 136, 250, 33}) {
      const int32_t taps = Pick(random, 1, 3);
      const int32_t inputs = 32 * 1024 / outputs / (taps * taps) + Pick(random, 1, 40);
      ConvCase c = {{1, inputs, 9, 7}, {outputs, inputs, taps, taps}, Conv(1, 1, 1)};
      SetRandomActivation(c.attributes, random);
      CheckAgreement(c, RandomOptions(kPanels, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: large weights of several groups in panels") {
  ForEachInstructionSet([] {
    Generator random(10);
    for (const int32_t group : {2, 3}) {
      for (const int32_t outputs : {64, 97, 136}) {
        const int32_t inputs = 32 * 1024 / (group * outputs * 9) + Pick(random, 1, 9);
        ConvCase c = {
            {1, group * inputs, 9, 7}, {group * outputs, inputs, 3, 3}, Conv(group, 1, 1)};
        SetRandomActivation(c.attributes, random);
        CheckAgreement(c, RandomOptions(kPanels, random), kConvTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector conv: pixels a multiple of 4 KiB apart, which share a set of the cache") {
  ForEachInstructionSet([] {
    Generator random(9);
    for (const int32_t stride : {1, 2}) {
      const int32_t inputs = 1024 / stride;
      ConvCase c = {{1, inputs, 7, 5}, {72, inputs, 1, 1}, Conv(1, stride, 0)};
      CheckAgreement(c, RandomOptions(kTile, random), kConvTolerance, random);
      CheckAgreement(c, RandomOptions(kPanels, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: an output whose rows lie apart is written element by element") {
  Generator random(5);
  const ConvCase c = {{2, 5, 6, 7}, {9, 5, 3, 3}, Conv(1, 1, 1)};
  for (const Residual residual : {Residual::kNone, Residual::kSeparate, Residual::kIsOutput}) {
    ConvOptions options;
    options.y = Layout::kChannelsLastGaps;
    options.residual = residual;
    CheckAgreement(c, options, kConvTolerance, random);
  }
}

TEST_CASE("Vector first conv: takes few channels in every layout") {
  ForEachInstructionSet([] {
    Generator random(6);
    for (const Layout x : kAllLayouts) {
      for (const Layout y : kAllLayouts) {
        ConvCase c = RandomCase(Pick(random, 1, 16), Pick(random, 1, 40), 1, 5, random);
        if (c.w[2] * c.w[3] == 1) continue;  // refused
        ConvOptions options = RandomOptions(kFirst, random);
        options.x = x;
        options.y = y;
        CheckAgreement(c, options, kConvTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector depthwise conv: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(7);
    for (int i = 0; i < 120; ++i) {
      const int32_t channels = Pick(random, 2, 70);
      const ConvCase c = RandomCase(channels, channels, channels, 5, random);
      CheckAgreement(c, RandomOptions(kDepthwise, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector depthwise conv: channels with two to five outputs each") {
  ForEachInstructionSet([] {
    Generator random(9);
    for (int i = 0; i < 120; ++i) {
      const int32_t channels = Pick(random, 2, 40);
      const int32_t multiplier = i % 2 == 0 ? 2 : Pick(random, 3, 5);
      const ConvCase c = RandomCase(channels, channels * multiplier, channels, 5, random);
      CheckAgreement(c, RandomOptions(kDepthwise, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector depthwise conv: groups of two and four channels") {
  ForEachInstructionSet([] {
    Generator random(24);
    for (int i = 0; i < 160; ++i) {
      const int32_t each = i % 2 == 0 ? 2 : 4;
      const int32_t group = Pick(random, 2, 24);
      ConvCase c = RandomCase(group * each, group * each, group, 5, random);
      if (i % 4 > 1) {  // the loops of 3x3 without dilation
        c.w[2] = c.w[3] = 3;
        for (int axis = 0; axis < 2; ++axis) {
          c.attributes.dilations[axis] = 1;
          c.x[2 + static_cast<size_t>(axis)] += 3;
        }
        c.attributes.strides[1] = Pick(random, 1, 2);
      }
      CheckAgreement(c, RandomOptions(kDepthwise, random), kConvTolerance, random);
    }
  });
}

TEST_CASE("Vector depthwise conv: groups of others are refused") {
  for (const int32_t each : {3, 8}) {
    Generator random(25);
    OpFixture op(FindKernel(kDepthwise));
    op.AddInput(Random({1, 4 * each, 6, 6}, Layout::kChannelsLast, random));
    op.AddInput(Random({4 * each, each, 3, 3}, Layout::kRowMajor, random), kConstant);
    op.AddOutput(Tensor(DType::kF32, {1, 4 * each, 6, 6}, Layout::kChannelsLast));
    CHECK(op.Check(Conv(4, 1, 1)).code() == StatusCode::kUnsupported);
  }
}

TEST_CASE("Vector depthwise conv: kernels of up to 31x31, most of it padding or none") {
  ForEachInstructionSet([] {
    Generator random(23);
    for (const int32_t kernel : {9, 11, 31}) {
      for (const int32_t size : {3, kernel, kernel + 2}) {
        const int32_t channels = Pick(random, 2, 30);
        ConvCase c = {{1, channels, size, size}, {channels, 1, kernel, kernel}, {}};
        c.attributes = Conv(channels, Pick(random, 1, 2), kernel / 2);
        CheckAgreement(c, RandomOptions(kDepthwise, random), kConvTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector depthwise conv: 2x2 to 7x7, columns of stride 1 and 2, any width") {
  ForEachInstructionSet([] {
    Generator random(8);
    for (const int32_t kernel : {2, 3, 5, 7}) {
      for (const int32_t stride : {1, 2}) {
        for (int32_t width = kernel; width <= 20; ++width) {
          const int32_t channels = Pick(random, 2, 50);
          ConvCase c = {{1, channels, 8, width}, {channels, 1, kernel, kernel}, {}};
          c.attributes = Conv(channels, stride, Pick(random, 0, kernel / 2));
          c.attributes.strides[0] = Pick(random, 1, 3);
          SetRandomActivation(c.attributes, random);
          CheckAgreement(c, RandomOptions(kDepthwise, random), kConvTolerance, random);
        }
      }
    }
  });
}

TEST_CASE("Vector conv: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    for (const char* kernel : {kTile, kPanels, kWinograd}) {
      for (const int32_t size : {8, 13, 17}) {  // 4, 16 and 25 Winograd tiles
        std::vector<float> first;
        for (const int threads : {1, 2, 3}) {
          Generator random(13);
          OpFixture op(FindKernel(kernel));
          op.AddInput(Random({1, 64, size, size}, Layout::kChannelsLast, random));
          op.AddInput(Random({64, 64, 3, 3}, Layout::kRowMajor, random), kConstant);
          const Tensor y =
              op.AddOutput(Tensor(DType::kF32, {1, 64, size, size}, Layout::kChannelsLast));
          op.set_workspace_bytes(1 << 22);
          REQUIRE(op.Run(Conv(1, 1, 1), threads).ok());
          if (threads == 1) first = y.Values<float>();
          CHECK(y.Values<float>() == first);
        }
      }
    }
  });
}

TEST_CASE("Vector conv: 1x1 and depthwise give the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    struct Shape {
      const char* kernel;
      int32_t inputs;
      int32_t outputs;
      int32_t window;
    };
    for (const Shape& s : {Shape{kTile, 48, 72, 1},
                           {kTile, 300, 330, 1},
                           {kPanels, 300, 330, 1},
                           {kDepthwise, 36, 36, 3},
                           {kDepthwise, 36, 36, 5}}) {
      std::vector<float> first;
      const int32_t group = s.kernel == kDepthwise ? s.outputs : 1;
      for (const int threads : {1, 2, 3}) {
        Generator random(17);
        OpFixture op(FindKernel(s.kernel));
        op.AddInput(Random({1, s.inputs, 13, 17}, Layout::kChannelsLast, random));
        op.AddInput(
            Random({s.outputs, s.inputs / group, s.window, s.window}, Layout::kOutputsLast, random),
            kConstant);
        const Tensor y =
            op.AddOutput(Tensor(DType::kF32, {1, s.outputs, 13, 17}, Layout::kChannelsLast));
        ConvAttributes attributes = Conv(group, 1, s.window / 2);
        attributes.activation.function = UnaryFunction::kHardSwish;
        REQUIRE(op.Run(attributes, threads).ok());
        if (threads == 1) first = y.Values<float>();
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Vector conv: weights that are no constant are refused") {
  Generator random(14);
  for (const char* kernel : {kTile, kPanels, kWinograd}) {
    PairedOp op(kernel, "cpu.conv.portable");
    op.AddInput(Random({1, 16, 8, 8}, Layout::kChannelsLast, random));
    op.AddInput(Random({16, 16, 3, 3}, Layout::kRowMajor, random));
    op.AddOutput({1, 16, 8, 8}, Layout::kChannelsLast);
    op.set_workspace_bytes(1 << 20);
    CHECK(op.Check(Conv(1, 1, 1)).code() == StatusCode::kUnsupported);
  }
}

TEST_CASE("Vector conv: NaN in the input reaches the output through a clamp") {
  for (const char* kernel : {kTile, kWinograd}) {
    Generator random(15);
    OpFixture op(FindKernel(kernel));
    Tensor x = Random({1, 16, 8, 8}, Layout::kChannelsLast, random);
    std::vector<float> values = x.Values<float>();
    values[0] = std::numeric_limits<float>::quiet_NaN();
    x.Set(values);
    op.AddInput(x);
    op.AddInput(Random({16, 16, 3, 3}, Layout::kRowMajor, random), kConstant);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 16, 8, 8}, Layout::kChannelsLast));
    op.set_workspace_bytes(1 << 20);
    ConvAttributes attributes = Conv(1, 1, 1);
    attributes.activation.function = UnaryFunction::kRelu;
    REQUIRE(op.Run(attributes).ok());
    CHECK(std::isnan(y.Values<float>()[0]));
  }
}

}  // namespace tenon::cpu::testing
