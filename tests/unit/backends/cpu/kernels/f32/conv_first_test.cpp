// Tests first layers: small images, whose output rows are shorter than a tile, so that tiles go on
// from row to row, and large windows.
#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/conv_options.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr int32_t kOutputs = 40;

struct Image {
  int32_t height;
  int32_t width;
  int stride;
};
/// Of 1 to 13 columns of outputs; the last one's rows are longer than a tile of AVX2.
constexpr Image kImages[] = {{31, 1, 1}, {49, 10, 2}, {3, 3, 1}, {20, 7, 1}, {64, 25, 2}};

ConvAttributes AttributesOf(const Image& image) {
  ConvAttributes attributes = Conv(1, image.stride, 1);
  attributes.activation.function = UnaryFunction::kRelu;
  return attributes;
}

std::vector<int32_t> OutputDims(const Image& image) {
  return {2, kOutputs, (image.height - 1) / image.stride + 1, (image.width - 1) / image.stride + 1};
}

struct Window {
  int32_t channels;
  int32_t height;
  int32_t width;
};

ConvAttributes Padded(const Window& window) {
  ConvAttributes attributes;
  for (const int side : {0, 2}) {
    attributes.pads[side] = window.height / 2;
    attributes.pads[side + 1] = window.width / 2;
  }
  return attributes;
}

}  // namespace

TEST_CASE("Vector first conv: rows shorter than a tile agree with the portable kernel") {
  ForEachInstructionSet([] {
    Generator random(31);
    for (const Image& image : kImages) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
        PairedOp op(kFirst, "cpu.conv.portable");
        op.AddInput(Random({2, 3, image.height, image.width}, layout, random));
        op.AddInput(Random({kOutputs, 3, 3, 3}, Layout::kRowMajor, random, -0.2F, 0.2F), kConstant);
        op.AddInput(Random({kOutputs}, Layout::kRowMajor, random), kConstant);
        op.AddOutput(OutputDims(image), Layout::kChannelsLast);
        CAPTURE(image.width);
        CHECK(op.Difference(AttributesOf(image), /*threads=*/2) < 1e-5);
      }
    }
  });
}

TEST_CASE("Vector first conv: windows of up to 1024 taps of all channels") {
  ForEachInstructionSet([] {
    Generator random(33);
    for (const Window& window : {Window{8, 3, 39}, Window{16, 7, 9}, Window{11, 1, 93}}) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
        PairedOp op(kFirst, "cpu.conv.portable");
        op.AddInput(Random({1, window.channels, 9, 40}, layout, random));
        op.AddInput(Random({5, window.channels, window.height, window.width}, Layout::kRowMajor,
                           random, -0.1F, 0.1F),
                    kConstant);
        op.AddOutput({1, 5, 9, 40}, Layout::kChannelsLast);
        CAPTURE(window.width);
        CHECK(op.Difference(Padded(window), /*threads=*/2) < 1e-5);
      }
    }
  });
}

TEST_CASE("Vector first conv: takes 1,024 taps of all channels at most") {
  ForEachInstructionSet([] {
    Generator random(34);
    for (const int32_t channels : {2, 3, 5}) {
      PairedOp op(kFirst, "cpu.conv.portable");
      op.AddInput(Random({1, channels, 20, 20}, Layout::kChannelsLast, random));
      op.AddInput(Random({16, channels, 15, 15}, Layout::kRowMajor, random, -0.1F, 0.1F),
                  kConstant);
      op.AddOutput({1, 16, 20, 20}, Layout::kChannelsLast);
      const ConvAttributes attributes = Padded({channels, 15, 15});
      REQUIRE(op.Check(attributes).ok() == (channels * 15 * 15 <= f32::kMostFirstTaps));
      if (op.Check(attributes).ok()) CHECK(op.Difference(attributes, /*threads=*/2) < 1e-5);
    }
  });
}

TEST_CASE("Vector first conv: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    for (const Image& image : kImages) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Generator random(32);
        OpFixture op(FindKernel(kFirst));
        op.AddInput(Random({2, 3, image.height, image.width}, Layout::kRowMajor, random));
        op.AddInput(Random({kOutputs, 3, 3, 3}, Layout::kRowMajor, random), kConstant);
        const Tensor y =
            op.AddOutput(Tensor(DType::kF32, OutputDims(image), Layout::kChannelsLast));
        REQUIRE(op.Run(AttributesOf(image), threads).ok());
        if (threads == 1) first = y.Values<float>();
        CAPTURE(image.width);
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

}  // namespace tenon::cpu::testing
