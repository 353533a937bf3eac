#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorGridSample = "cpu.grid_sample.vector";
using Dims = std::vector<int32_t>;

GridSampleAttributes Linear(int padding, int align_corners) {
  return {ResizeMode::kLinear, static_cast<GridPadding>(padding), align_corners};
}

}  // namespace

TEST_CASE("Vector grid_sample: agrees with the portable kernel in every layout and padding") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < RandomCases(300); ++i) {
      const int channels = i % 2 == 0 ? Pick(random, 1, 5) : Pick(random, 6, 70);
      const Dims x = {Pick(random, 1, 3), channels, Pick(random, 1, 9), Pick(random, 1, 12)};
      const Dims grid = {x[0], Pick(random, 1, 9), Pick(random, 1, 90), 2};
      PairedOp op(kVectorGridSample, "cpu.grid_sample.portable");
      op.AddInput(Random(x, kAllLayouts[Pick(random, 0, 4)], random));
      op.AddInput(Random(grid, kAllLayouts[Pick(random, 0, 4)], random, -2.5F, 2.5F));
      op.AddOutput({x[0], x[1], grid[1], grid[2]}, kAllLayouts[Pick(random, 0, 4)]);
      CAPTURE(i);
      CHECK(op.Difference(Linear(i % 3, i / 3 % 2), i % 3 + 1) < 1e-5);
    }
  });
}

TEST_CASE("Vector grid_sample: parts of rows, whose neighbours stay as they are") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (int channels = 1; channels <= 40; ++channels) {
      for (const int points : {1, 2, 63, 64, 65, 130}) {
        PairedOp op(kVectorGridSample, "cpu.grid_sample.portable");
        op.AddInput(Random({1, channels, 4, 5}, Layout::kChannelsLast, random));
        op.AddInput(Random({1, 2, points, 2}, Layout::kRowMajor, random));
        // Rows have a gap behind them, points none.
        const int32_t row = channels * points + 1;
        op.AddOutput({1, channels, 2, points}, Dims{2 * row, 1, row, channels});
        CAPTURE(channels);
        CAPTURE(points);
        CHECK(op.Difference(Linear(0, 1), 1) < 1e-5);
      }
    }
  });
}

TEST_CASE("Vector grid_sample: far away, infinite and NaN points read nothing outside the image") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> far = {1e9F, -1e9F, 3e38F, -3e38F, kInfinity, -kInfinity, std::nanf("")};
  ForEachInstructionSet([&] {
    for (const int channels : {1, 3, 16}) {
      for (int padding = 0; padding < kGridPaddingCount; ++padding) {
        std::vector<float> points;
        for (const float place : far) {
          points.insert(points.end(), {place, 0.1F, -0.2F, place});
        }
        const auto count = static_cast<int32_t>(points.size() / 2);
        // Nothing is said of where in the image they are found, so that all of it is alike.
        PairedOp op(kVectorGridSample, "cpu.grid_sample.portable");
        op.AddInput(Tensor::From(DType::kF32, {1, channels, 3, 4},
                                 std::vector<float>(static_cast<size_t>(channels) * 12, 1.0F),
                                 Layout::kChannelsLast));
        op.AddInput(Tensor::From(DType::kF32, {1, 1, count, 2}, points));
        op.AddOutput({1, channels, 1, count}, Layout::kChannelsLast);
        CAPTURE(channels);
        CAPTURE(padding);
        CHECK(op.Difference(Linear(padding, 0), 1) < 1e-5);
      }
    }
  });
}

TEST_CASE("Vector grid_sample: threads and the place in a block do not change a bit") {
  ForEachInstructionSet([] {
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Generator random(4);
        OpFixture op(FindKernel(kVectorGridSample));
        op.AddInput(Random({2, 9, 20, 30}, layout, random));
        op.AddInput(Random({2, 77, 31, 2}, Layout::kRowMajor, random, -1.2F, 1.2F));
        const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 9, 77, 31}, layout));
        REQUIRE(op.Run(Linear(0, 0), threads).ok());
        if (threads == 1) first = y.Values<float>();
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Vector grid_sample: only linear, and offsets of 32 bits") {
  OpFixture op(FindKernel(kVectorGridSample));
  op.AddInput(Tensor(DType::kF32, {1, 2, 3, 3}));
  op.AddInput(Tensor(DType::kF32, {1, 2, 2, 2}));
  op.AddOutput(Tensor(DType::kF32, {1, 2, 2, 2}));
  CHECK(op.Check(GridSampleAttributes{ResizeMode::kNearest}).code() == StatusCode::kUnsupported);
  CHECK(op.Check(GridSampleAttributes{ResizeMode::kCubic}).code() == StatusCode::kUnsupported);
  CHECK(op.Check(GridSampleAttributes{}).ok());
}

}  // namespace tenon::cpu::testing
