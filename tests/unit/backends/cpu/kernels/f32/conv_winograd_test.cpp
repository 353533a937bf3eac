#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/conv_options.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

// Sums in another order, and transforms, which lose a digit.
constexpr double kWinogradTolerance = 2e-5;

}  // namespace

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

TEST_CASE("Winograd conv: groups read their own channels") {
  ForEachInstructionSet([] {
    Generator random(14);
    for (int i = 0; i < 80; ++i) {
      const int32_t group = Pick(random, 2, 12);
      const int32_t inputs = Pick(random, 8, 40);
      // Whole vectors, whose groups follow each other in one call, and others.
      const int32_t outputs =
          Pick(random, 0, 1) == 0 ? 8 * Pick(random, 2, 6) : Pick(random, 9, 50);
      ConvCase c = {{Pick(random, 1, 2), group * inputs, Pick(random, 8, 20), Pick(random, 8, 20)},
                    {group * outputs, inputs, 3, 3},
                    Conv(group, 1, 0)};
      for (int32_t& pad : c.attributes.pads) pad = Pick(random, 1, 2);
      SetRandomActivation(c.attributes, random);
      CheckAgreement(c, RandomOptions(kWinograd, random), kWinogradTolerance, random);
    }
  });
}

TEST_CASE("Winograd conv: groups give the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    for (const int32_t outputs : {8, 12, 24, 40}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3, 5}) {
        Generator random(15);
        OpFixture op(FindKernel(kWinograd));
        op.AddInput(Random({1, 7 * 24, 15, 22}, Layout::kChannelsLast, random));
        op.AddInput(Random({7 * outputs, 24, 3, 3}, Layout::kRowMajor, random), kConstant);
        const Tensor y =
            op.AddOutput(Tensor(DType::kF32, {1, 7 * outputs, 15, 22}, Layout::kChannelsLast));
        op.set_workspace_bytes(1 << 23);
        REQUIRE(op.Run(Conv(7, 1, 1), threads).ok());
        if (threads == 1) first = y.Values<float>();
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Winograd conv: leaves groups of few channels and few pixels to direct products") {
  struct Groups {
    int32_t channels;  ///< of each
    int32_t size;
    bool is_taken;
  };
  for (const Groups& groups : {Groups{8, 6, false},
                               {8, 14, true},
                               {16, 3, false},
                               {16, 6, true},
                               {32, 4, true},
                               {32, 5, false},
                               {7, 28, false}}) {
    CAPTURE(groups.channels);
    CAPTURE(groups.size);
    Generator random(43);
    OpFixture op(FindKernel(kWinograd));
    op.set_workspace_bytes(size_t{8} << 20);
    const int32_t channels = 4 * groups.channels;
    op.AddInput(Random({1, channels, groups.size, groups.size}, Layout::kChannelsLast, random));
    op.AddInput(Random({channels, groups.channels, 3, 3}, Layout::kRowMajor, random), kConstant);
    op.AddOutput(
        Tensor(DType::kF32, {1, channels, groups.size, groups.size}, Layout::kChannelsLast));
    CHECK(op.Check(Conv(4, 1, 1)).ok() == groups.is_taken);
  }
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

}  // namespace tenon::cpu::testing
