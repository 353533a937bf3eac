#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {

TEST_CASE("OpenCL grid_sample: every mode and padding in every layout") {
  Generator random(1);
  for (int i = 0; i < 18; ++i) {
    const GridSampleAttributes attributes = {static_cast<ResizeMode>(i % 3),
                                             static_cast<GridPadding>(i / 3 % 3), i / 9};
    for (const Layout layout : TestedLayouts()) {
      for (const int channels : {1, 3, 37}) {
        PairedOp op("opencl.grid_sample.any");
        op.AddInput(Random({2, channels, 5, 7}, layout, random));
        op.AddInput(Random({2, 4, 9, 2}, layout, random, -2.0F, 2.0F));
        op.AddOutput({2, channels, 4, 9}, layout);
        CAPTURE(i);
        CAPTURE(channels);
        CHECK(op.Excess(attributes) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL grid_sample: far away, infinite and NaN points read nothing outside the image") {
  std::vector<float> points;
  for (const float place : {1e9F, -1e9F, 3e38F, INFINITY, -INFINITY, std::nanf("")}) {
    points.insert(points.end(), {place, 0.1F, -0.2F, place});
  }
  const auto count = static_cast<int32_t>(points.size() / 2);
  for (int i = 0; i < 18; ++i) {
    // Nothing is said of where in the image they are found, so that all of it is alike.
    PairedOp op("opencl.grid_sample.any");
    op.AddInput(Tensor::From(DType::kF32, {1, 3, 3, 4}, std::vector<float>(36, 1.0F),
                             Layout::kChannelsLast));
    op.AddInput(Tensor::From(DType::kF32, {1, 1, count, 2}, points));
    op.AddOutput({1, 3, 1, count}, Layout::kChannelsLast);
    CAPTURE(i);
    CHECK(op.Excess(GridSampleAttributes{static_cast<ResizeMode>(i % 3),
                                         static_cast<GridPadding>(i / 3 % 3), i / 9}) <= 1.0);
  }
}

}  // namespace tenon::opencl::testing
