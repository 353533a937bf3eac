#include <doctest/doctest.h>

#include <cmath>
#include <iterator>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/f32/choose_routines.hpp"
#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

// Sums of up to 2304 products in another order, and with fused multiply-adds.
constexpr double kTolerance = 1e-5;
// Winograd's transforms lose a digit.
constexpr double kWinogradTolerance = 2e-5;

constexpr const char* kTile = "cpu.conv.vector";
constexpr const char* kPanels = "cpu.conv.vector_panels";
constexpr const char* kFirst = "cpu.conv.vector_first";
constexpr const char* kDepthwise = "cpu.conv.vector_depthwise";
constexpr const char* kWinograd = "cpu.conv.vector_winograd";

struct ConvOptions {
  const char* kernel = kTile;
  Layout x = Layout::kChannelsLast;
  Layout y = Layout::kChannelsLast;
  Layout w = Layout::kRowMajor;
  bool bias = true;
  Residual residual = Residual::kNone;
  int threads = 1;
  size_t workspace_bytes = 1 << 23;
};

double Difference(const ConvCase& c, const ConvOptions& options, Generator& random) {
  PairedOp op(options.kernel, "cpu.conv.portable");
  op.AddInput(Random(c.x, options.x, random));
  // Sums of about 1, so that activations with bounds do not hide the scale that errors go with.
  const float weight = 1.0F / std::sqrt(static_cast<float>(c.w[1] * c.w[2] * c.w[3]));
  op.AddInput(Random(c.w, options.w, random, -weight, weight), kConstant);
  AddBiasAndOutput(c, options.bias, options.residual, options.y, random, op);
  op.set_workspace_bytes(options.workspace_bytes);
  return op.Difference(c.attributes, options.threads);
}

ConvOptions RandomOptions(const char* kernel, Generator& random) {
  ConvOptions options;
  options.kernel = kernel;
  constexpr Layout kLayouts[] = {Layout::kChannelsLast, Layout::kChannelsLastGaps};
  options.x = kLayouts[Pick(random, 0, 1)];
  options.y = kLayouts[Pick(random, 0, 1)];
  options.w = Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kOutputsLast;
  options.bias = Pick(random, 0, 3) != 0;
  options.residual = static_cast<Residual>(Pick(random, 0, 2));
  options.threads = Pick(random, 1, 3);
  return options;
}

void SetRandomActivation(ConvAttributes& attributes, Generator& random) {
  constexpr Activation kActivations[] = {
      {UnaryFunction::kIdentity, 0.0F, 0.0F},  {UnaryFunction::kRelu, 0.0F, 0.0F},
      {UnaryFunction::kClip, -0.5F, 2.0F},     {UnaryFunction::kHardSwish, 0.0F, 0.0F},
      {UnaryFunction::kLeakyRelu, 0.1F, 0.0F}, {UnaryFunction::kHardSigmoid, 0.2F, 0.5F},
      {UnaryFunction::kSigmoid, 0.0F, 0.0F},   {UnaryFunction::kSilu, 0.0F, 0.0F},
      {UnaryFunction::kTanh, 0.0F, 0.0F}};
  attributes.activation = kActivations[Pick(random, 0, 8)];
}

ConvCase RandomCase(int32_t inputs, int32_t outputs, int32_t group, int32_t most,
                    Generator& random) {
  const ConvShapes shapes = RandomShapes(inputs, outputs, group, most, random, /*spare=*/16);
  ConvCase c = {shapes.x, shapes.w, shapes.conv};
  SetRandomActivation(c.attributes, random);
  return c;
}

void CheckAgreement(const ConvCase& c, const ConvOptions& options, double tolerance,
                    Generator& random) {
  INFO(TextOf(c.x, c.w));
  CAPTURE(options.threads);
  CHECK(Difference(c, options, random) < tolerance);
}

}  // namespace

TEST_CASE("Vector conv: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) {
      const ConvCase c = RandomCase(Pick(random, 1, 40), Pick(random, 1, 80), 1, 4, random);
      CheckAgreement(c, RandomOptions(kTile, random), kTolerance, random);
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
      CheckAgreement(c, RandomOptions(kTile, random), kTolerance, random);
    }
  });
}

TEST_CASE("Vector conv: groups of 8 outputs follow each other in one call, padding or none") {
  ForEachInstructionSet([] {
    Generator random(22);
    for (int i = 0; i < 40; ++i) {
      const int32_t group = Pick(random, 2, 40);
      const ConvCase c = RandomCase(group * Pick(random, 1, 20), group * 8, group, 3, random);
      CheckAgreement(c, RandomOptions(kTile, random), kTolerance, random);
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
      CheckAgreement(whole, RandomOptions(kTile, random), kTolerance, random);
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
      CheckAgreement(c, options, kTolerance, random);
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
        CheckAgreement(c, RandomOptions(kTile, random), kTolerance, random);
        if (inputs * outputs < 32 * 1024) continue;  // too small for panels
        CheckAgreement(c, RandomOptions(kPanels, random), kTolerance, random);
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
      CheckAgreement(c, RandomOptions(kPanels, random), kTolerance, random);
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
        CheckAgreement(c, RandomOptions(kPanels, random), kTolerance, random);
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
      CheckAgreement(c, RandomOptions(kTile, random), kTolerance, random);
      CheckAgreement(c, RandomOptions(kPanels, random), kTolerance, random);
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
    CheckAgreement(c, options, kTolerance, random);
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
        CheckAgreement(c, options, kTolerance, random);
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
      CheckAgreement(c, RandomOptions(kDepthwise, random), kTolerance, random);
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
      CheckAgreement(c, RandomOptions(kDepthwise, random), kTolerance, random);
    }
  });
}

TEST_CASE("Vector depthwise conv: kernels of up to 31x31, most of it padding or none") {
  ForEachInstructionSet([] {
    Generator random(23);
    for (const int32_t kernel : {9, 11, 31}) {
      for (const int32_t size : {3, kernel, kernel + 2}) {
        const int32_t channels = Pick(random, 2, 30);
        ConvCase c = {{1, channels, size, size}, {channels, 1, kernel, kernel}, {}};
        c.attributes = Conv(channels, Pick(random, 1, 2), kernel / 2);
        CheckAgreement(c, RandomOptions(kDepthwise, random), kTolerance, random);
      }
    }
  });
}

TEST_CASE("Vector depthwise conv: 3x3, 5x5 and 7x7, columns of stride 1 and 2, any width") {
  ForEachInstructionSet([] {
    Generator random(8);
    for (const int32_t kernel : {3, 5, 7}) {
      for (const int32_t stride : {1, 2}) {
        for (int32_t width = kernel; width <= 20; ++width) {
          const int32_t channels = Pick(random, 2, 50);
          ConvCase c = {{1, channels, 8, width}, {channels, 1, kernel, kernel}, {}};
          c.attributes = Conv(channels, stride, Pick(random, 0, kernel / 2));
          c.attributes.strides[0] = Pick(random, 1, 3);
          SetRandomActivation(c.attributes, random);
          CheckAgreement(c, RandomOptions(kDepthwise, random), kTolerance, random);
        }
      }
    }
  });
}

TEST_CASE("Winograd conv: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(9);
    for (int i = 0; i < 80; ++i) {
      const int32_t inputs = Pick(random, 8, 70);
      ConvCase c = {{Pick(random, 1, 2), inputs, Pick(random, 3, 20), Pick(random, 3, 20)},
                    {Pick(random, 8, 70), inputs, 3, 3},
                    Conv(1, 1, 0)};
      for (int32_t& pad : c.attributes.pads) pad = Pick(random, 0, 2);
      SetRandomActivation(c.attributes, random);
      // What would fill few tiles is left to others: see WinogradSupports.
      for (size_t axis = 2; axis < 4; ++axis) {
        if (OutputDims(c)[axis] < 3) c.x[axis] += 2;
      }
      CheckAgreement(c, RandomOptions(kWinograd, random), kWinogradTolerance, random);
    }
  });
}

TEST_CASE("Winograd conv: refuses a single row of outputs, and takes two") {
  Generator random(41);
  ConvCase c;
  c.attributes = Conv(1, 1, 0);
  c.w = {16, 16, 3, 3};
  c.x = {1, 16, 4, 18};
  ConvOptions options;
  options.kernel = kWinograd;
  CheckAgreement(c, options, kWinogradTolerance, random);
  OpFixture op(FindKernel(kWinograd));
  op.set_workspace_bytes(options.workspace_bytes);
  op.AddInput(Random({1, 16, 3, 18}, Layout::kChannelsLast, random));
  op.AddInput(Random(c.w, Layout::kRowMajor, random), kConstant);
  op.AddOutput(Tensor(DType::kF32, {1, 16, 1, 16}, Layout::kChannelsLast));
  CHECK(op.Check(c.attributes).code() == StatusCode::kUnsupported);
}

TEST_CASE("Winograd conv: leaves weights from memory to others where there are few outputs") {
  for (const int32_t size : {7, 14}) {
    Generator random(42);
    OpFixture op(FindKernel(kWinograd));
    op.set_workspace_bytes(size_t{8} << 20);
    op.AddInput(Random({1, 192, size, size}, Layout::kChannelsLast, random));
    op.AddInput(Random({384, 192, 3, 3}, Layout::kRowMajor, random), kConstant);
    op.AddOutput(Tensor(DType::kF32, {1, 384, size, size}, Layout::kChannelsLast));
    CHECK(op.Check(Conv(1, 1, 1)).ok() == (size == 14));
  }
}

TEST_CASE("Winograd conv: many channels keep the accuracy") {
  Generator random(10);
  const ConvCase c = {{1, 512, 14, 14}, {64, 512, 3, 3}, Conv(1, 1, 1)};
  ConvOptions options;
  options.kernel = kWinograd;
  CheckAgreement(c, options, kWinogradTolerance, random);
}

TEST_CASE("Winograd conv: weights beyond the caches are read by larger blocks") {
  Generator random(13);
  // 60 tiles: two blocks. The weights become 14 MB.
  const ConvCase c = {{1, 320, 24, 40}, {320, 320, 3, 3}, Conv(1, 1, 1)};
  for (const int threads : {1, 2}) {
    ConvOptions options;
    options.kernel = kWinograd;
    options.threads = threads;
    options.workspace_bytes = size_t{8} << 20;
    CheckAgreement(c, options, kWinogradTolerance, random);
  }
}

TEST_CASE("Winograd conv: runs more threads than the workspace has room for") {
  Generator random(11);
  const ConvCase c = {{1, 32, 30, 30}, {32, 32, 3, 3}, Conv(1, 1, 1)};
  ConvOptions options;
  options.kernel = kWinograd;
  options.threads = 3;
  const KernelCaps& caps = FindCaps(kWinograd);
  std::vector<TensorView> views;
  const std::vector<int32_t> y = {1, 32, 30, 30};
  for (const std::vector<int32_t>* dims : {&c.x, &c.w, &y}) {
    TensorView view;
    view.dims = dims->data();
    view.rank = 4;
    views.push_back(view);
  }
  const int32_t inputs[] = {0, 1};
  const int32_t outputs[] = {2};
  OpCall call;
  call.tensors = views.data();
  call.input_ids = inputs;
  call.output_ids = outputs;
  call.attributes = &c.attributes;
  const size_t one = caps.workspace_bytes(call, 1);
  REQUIRE(caps.workspace_bytes(call, 3) == 3 * one);
  for (const size_t parts : {1, 2, 3}) {
    options.workspace_bytes = parts * one;
    CheckAgreement(c, options, kWinogradTolerance, random);
  }
}

TEST_CASE("Winograd conv: refuses a workspace too small for one part") {
  Generator random(12);
  PairedOp op(kWinograd, "cpu.conv.portable");
  op.AddInput(Random({1, 16, 8, 8}, Layout::kChannelsLast, random));
  op.AddInput(Random({16, 16, 3, 3}, Layout::kRowMajor, random), kConstant);
  op.AddOutput({1, 16, 8, 8}, Layout::kChannelsLast);
  op.set_workspace_bytes(1000);
  CHECK(op.Check(Conv(1, 1, 1)).code() == StatusCode::kUnsupported);
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
