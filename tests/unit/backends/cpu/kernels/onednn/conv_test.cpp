#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

// Sums of up to 2304 products in another order, and oneDNN's own approximations of activations.
constexpr double kConvTolerance = 2e-5;

ConvAttributes UnevenPads() {
  ConvAttributes attributes = Conv(1, 2, 0);
  attributes.pads[2] = 1;
  attributes.pads[3] = 2;
  return attributes;
}

/// One case for every class of shapes that networks have, and the odd ones between.
std::vector<ConvCase> ConvCases() {
  return {
      {{1, 32, 9, 11}, {48, 32, 3, 3}, Conv(1, 1, 1), "3x3"},
      {{2, 5, 8, 7}, {7, 5, 3, 3}, Conv(1, 1, 1), "3x3, odd channels"},
      {{1, 3, 32, 32}, {16, 3, 3, 3}, Conv(1, 2, 1), "first layer"},
      {{1, 3, 33, 33}, {64, 3, 7, 7}, Conv(1, 2, 3), "7x7 first layer"},
      {{1, 1, 28, 28}, {8, 1, 5, 5}, Conv(1, 1, 2), "one channel"},
      {{1, 8, 10, 10}, {8, 8, 3, 3}, UnevenPads(), "uneven pads"},
      {{1, 16, 15, 15}, {16, 16, 3, 3}, Conv(1, 1, 2, 2), "dilated"},
      {{1, 16, 6, 6}, {16, 16, 3, 3}, Conv(1, 1, 4), "padding beyond the kernel"},
      {{1, 16, 1, 40}, {24, 16, 1, 5}, Conv(1, 1, 0), "rows only"},
      {{1, 24, 14, 14}, {144, 24, 1, 1}, Conv(1, 1, 0), "1x1"},
      {{2, 7, 5, 3}, {9, 7, 1, 1}, Conv(1, 1, 0), "1x1, odd channels"},
      {{1, 64, 14, 14}, {128, 64, 1, 1}, Conv(1, 2, 0), "1x1, stride 2"},
      {{1, 1024, 4, 4}, {64, 1024, 1, 1}, Conv(1, 1, 0), "1x1, many channels"},
      {{1, 144, 14, 14}, {144, 1, 3, 3}, Conv(144, 1, 1), "depthwise"},
      {{2, 24, 15, 15}, {24, 1, 3, 3}, Conv(24, 2, 1), "depthwise, stride 2"},
      {{1, 10, 14, 14}, {10, 1, 5, 5}, Conv(10, 1, 2), "depthwise 5x5, odd channels"},
      {{1, 32, 14, 14}, {32, 1, 3, 3}, Conv(32, 1, 2, 2), "depthwise, dilated"},
      {{1, 96, 9, 9}, {64, 48, 5, 5}, Conv(2, 1, 2), "two groups"},
      {{1, 128, 7, 7}, {128, 4, 3, 3}, Conv(32, 1, 1), "32 groups of 4"},
      {{1, 48, 14, 14}, {96, 16, 1, 1}, Conv(3, 1, 0), "shuffle's 1x1"},
      {{1, 64, 1, 1}, {10, 64, 1, 1}, Conv(1, 1, 0), "one pixel"},
  };
}

struct ConvOptions {
  const char* kernel = "cpu.conv.onednn";
  Layout x = Layout::kChannelsLast;
  Layout y = Layout::kChannelsLast;
  bool bias = true;
  Residual residual = Residual::kNone;
  bool constant_weights = true;
  int threads = 1;
  int times = 1;
  size_t workspace_bytes = 1 << 16;
};

PairedOp MakeOp(const ConvCase& c, const ConvOptions& options, Generator& random) {
  PairedOp op(options.kernel, "cpu.conv.portable");
  op.AddInput(Random(c.x, options.x, random));
  op.AddInput(Random(c.w, Layout::kRowMajor, random), options.constant_weights);
  AddBiasAndOutput(c, options.bias, options.residual, options.y, random, op);
  op.set_workspace_bytes(options.workspace_bytes);
  return op;
}

double Difference(const ConvCase& c, const ConvOptions& options, Generator& random) {
  PairedOp op = MakeOp(c, options, random);
  return op.Difference(c.attributes, options.threads, options.times);
}

}  // namespace

TEST_CASE("Conv on oneDNN: agrees with the portable kernel on every class of shapes") {
  Generator random(1);
  for (const ConvCase& c : ConvCases()) {
    for (const int threads : {1, 2}) {
      CAPTURE(c.name);
      CAPTURE(threads);
      ConvOptions options;
      options.threads = threads;
      CHECK(Difference(c, options, random) < kConvTolerance);
    }
  }
}

TEST_CASE("Conv on oneDNN: the bias may be missing") {
  Generator random(2);
  for (const ConvCase& c : ConvCases()) {
    CAPTURE(c.name);
    ConvOptions options;
    options.bias = false;
    CHECK(Difference(c, options, random) < kConvTolerance);
  }
}

TEST_CASE("Conv on oneDNN: adds a residual that is the output's own memory") {
  Generator random(3);
  for (ConvCase c : ConvCases()) {
    CAPTURE(c.name);
    c.attributes.activation.function = UnaryFunction::kRelu;
    ConvOptions options;
    options.residual = Residual::kIsOutput;
    options.threads = 2;
    PairedOp op = MakeOp(c, options, random);
    if (c.w[0] % 4 != 0 && !op.Check(c.attributes).ok()) continue;  // a processor without AVX
    CHECK(op.Difference(c.attributes, options.threads) < kConvTolerance);
  }
}

TEST_CASE("Conv on oneDNN: adds a residual from elsewhere, run after run") {
  Generator random(4);
  for (ConvCase c : ConvCases()) {
    CAPTURE(c.name);
    c.attributes.activation.function = UnaryFunction::kRelu;
    ConvOptions options;
    options.residual = Residual::kSeparate;
    options.threads = 2;
    options.times = 2;  // a residual that was added to the output's old value would show
    PairedOp op = MakeOp(c, options, random);
    if (c.w[0] % 4 != 0 && !op.Check(c.attributes).ok()) continue;  // a processor without AVX
    CHECK(op.Difference(c.attributes, options.threads, options.times) < kConvTolerance);
  }
}

TEST_CASE("Conv on oneDNN: every activation that the capabilities allow is applied") {
  Generator random(5);
  int applied = 0;
  for (int32_t function = 0; function < kUnaryFunctionCount; ++function) {
    for (const size_t which : {size_t{0}, size_t{9}, size_t{13}, size_t{18}}) {
      ConvCase c = ConvCases()[which];
      c.attributes.activation = {static_cast<UnaryFunction>(function), 0.25F, 1.5F};
      CAPTURE(function);
      CAPTURE(c.name);
      PairedOp op = MakeOp(c, {}, random);
      if (op.Check(c.attributes).code() == StatusCode::kUnsupported) continue;
      if (c.attributes.activation.function == UnaryFunction::kNot) continue;
      ++applied;
      CHECK(op.Difference(c.attributes, 1) < kConvTolerance);
    }
  }
  CHECK(applied == 4 * 16);
}

TEST_CASE("Conv on oneDNN: weights that are no constant are packed in each run") {
  Generator random(6);
  for (const ConvCase& c : ConvCases()) {
    CAPTURE(c.name);
    ConvOptions options;
    options.constant_weights = false;
    CHECK(Difference(c, options, random) < kConvTolerance);
  }
}

TEST_CASE("Conv on oneDNN: brings its own scratch where the plan's workspace is too small") {
  Generator random(7);
  for (const ConvCase& c : ConvCases()) {
    CAPTURE(c.name);
    ConvOptions options;
    options.workspace_bytes = 0;
    CHECK(Difference(c, options, random) < kConvTolerance);
  }
}

TEST_CASE("Conv on oneDNN: refuses layouts and dtypes that it would run slowly") {
  Generator random(8);
  const ConvCase c = ConvCases()[0];
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastGaps}) {
    ConvOptions options;
    options.x = layout;
    CHECK(MakeOp(c, options, random).Check(c.attributes).code() == StatusCode::kUnsupported);
    options.x = Layout::kChannelsLast;
    options.y = layout;
    CHECK(MakeOp(c, options, random).Check(c.attributes).code() == StatusCode::kUnsupported);
  }
}

TEST_CASE("Conv on oneDNN: refuses groups of few channels, with a reason") {
  Generator random(9);
  const ConvCase c = {{1, 32, 8, 8}, {64, 1, 3, 3}, Conv(32, 1, 1), "multiplier 2"};
  const Status status = MakeOp(c, {}, random).Check(c.attributes);
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(std::strstr(status.message(), "groups") != nullptr);
}

TEST_CASE("Conv as matrix product: reads and writes pixels that lie apart") {
  Generator random(10);
  for (const size_t which : {size_t{9}, size_t{10}, size_t{12}, size_t{20}}) {
    for (const Layout x : {Layout::kChannelsLast, Layout::kChannelsLastGaps}) {
      for (const Layout y : {Layout::kChannelsLast, Layout::kChannelsLastGaps}) {
        for (const int threads : {1, 2}) {
          ConvCase c = ConvCases()[which];
          CAPTURE(c.name);
          CAPTURE(threads);
          c.attributes.activation.function = UnaryFunction::kHardSwish;
          ConvOptions options;
          options.kernel = "cpu.conv.onednn_matmul";
          options.x = x;
          options.y = y;
          options.threads = threads;
          CHECK(Difference(c, options, random) < kConvTolerance);
        }
      }
    }
  }
}

TEST_CASE("Conv as matrix product: a part of a tensor's channels is read and written in place") {
  // 16 of 40 channels as the source, 32 of 48 as the destination: one stride for all pixels.
  Generator random(11);
  const std::vector<int32_t> part_dims = {2, 16, 6, 5};
  Tensor part(DType::kF32, part_dims, StridesFor({2, 40, 6, 5}, Layout::kChannelsLast));
  part.Set(RandomValues(part.count(), random));
  PairedOp op("cpu.conv.onednn_matmul", "cpu.conv.portable");
  op.AddInput(part);
  op.AddInput(Random({32, 16, 1, 1}, Layout::kRowMajor, random), kConstant);
  op.AddInput(Random({32}, Layout::kRowMajor, random), kConstant);
  op.AddOutput({2, 32, 6, 5}, StridesFor({2, 48, 6, 5}, Layout::kChannelsLast));
  CHECK(op.Difference(ConvAttributes{}, 2) < kConvTolerance);
}

TEST_CASE("Conv as matrix product: refuses what is no matrix product") {
  Generator random(12);
  ConvOptions options;
  options.kernel = "cpu.conv.onednn_matmul";
  for (const size_t which : {size_t{0}, size_t{11}, size_t{19}}) {
    const ConvCase c = ConvCases()[which];
    CAPTURE(c.name);
    CHECK(MakeOp(c, options, random).Check(c.attributes).code() == StatusCode::kUnsupported);
  }
  const ConvCase pointwise = ConvCases()[9];
  options.x = Layout::kChannelsLastSpaced;
  CHECK(MakeOp(pointwise, options, random).Check(pointwise.attributes).code() ==
        StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
