#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/backends/opencl/conv_cases.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr const char* kDepthwiseConv = "opencl.conv.depthwise";

/// Channels: whole blocks, a rest of fours, a rest of ones.
constexpr int32_t kChannels[] = {2, 7, 16, 24, 35};

}  // namespace

TEST_CASE("OpenCL depthwise: square kernels with stride 1 and 2") {
  Generator random(1);
  for (const int32_t channels : kChannels) {
    for (const int32_t taps : {3, 5}) {
      for (const int32_t stride : {1, 2}) {
        ConvCase c = {{2, channels, 9, 11}, {channels, 1, taps, taps}, {}};
        c.attributes = Conv(channels, stride, Pick(random, 0, taps / 2));
        PickRest(c, random);
        CAPTURE(channels);
        CAPTURE(taps);
        CAPTURE(stride);
        CHECK(ConvExcess(kDepthwiseConv, c, random) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL depthwise: any kernel, stride, padding and dilation") {
  Generator random(2);
  for (int i = 0; i < 60; ++i) {
    const int32_t channels = kChannels[Pick(random, 0, 4)];
    ConvCase c;
    c.x = {Pick(random, 1, 2), channels, Pick(random, 1, 12), Pick(random, 1, 12)};
    c.w = {channels, 1, Pick(random, 1, 4), Pick(random, 1, 4)};
    c.attributes.group = channels;
    for (int k = 0; k < 2; ++k) {
      const auto at = static_cast<size_t>(2 + k);
      c.attributes.strides[k] = Pick(random, 1, 3);
      c.attributes.dilations[k] = Pick(random, 1, 3);
      const int32_t reach = (c.w[at] - 1) * c.attributes.dilations[k] + 1;
      c.attributes.pads[k] = Pick(random, 0, reach);
      c.attributes.pads[2 + k] = Pick(random, 0, 3);
      const int32_t missing = reach - c.x[at] - c.attributes.pads[k] - c.attributes.pads[2 + k];
      if (missing > 0) c.attributes.pads[2 + k] += missing;
    }
    PickRest(c, random);
    CAPTURE(i);
    CHECK(ConvExcess(kDepthwiseConv, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL depthwise: small shapes of every kind") {
  Generator random(6);
  for (const int32_t dilation : {1, 2}) {
    ConvCase c = {{2, 23, 3, 6}, {23, 1, 3, 3}, Conv(23, 1, dilation, dilation)};
    c.residual = Residual::kIsOutput;
    c.y_layout = Layout::kChannelsLastGaps;
    CHECK(ConvExcess(kDepthwiseConv, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL depthwise: rows narrower than a tile, and a single pixel") {
  Generator random(3);
  for (const int32_t width : {1, 2, 3, 5}) {
    ConvCase c = {{1, 16, 3, width}, {16, 1, 3, 3}, Conv(16, 1, 1)};
    CAPTURE(width);
    CHECK(ConvExcess(kDepthwiseConv, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL depthwise: an activation that is compiled in") {
  Generator random(4);
  ConvCase c = {{1, 21, 6, 6}, {21, 1, 3, 3}, Conv(21, 1, 1)};
  c.attributes.activation = {UnaryFunction::kHardSwish, 0.0F, 0.0F};
  CHECK(ConvExcess(kDepthwiseConv, c, random) <= 1.0);
}

TEST_CASE("OpenCL depthwise: several outputs per channel are left to tiles") {
  Generator random(5);
  const ConvCase c = {{1, 4, 5, 5}, {8, 1, 3, 3}, Conv(4, 1, 1)};
  CHECK(MakeConv(kDepthwiseConv, c, random).Check(c.attributes).code() == StatusCode::kUnsupported);
  CHECK(ConvExcess("opencl.conv.tile", c, random) <= 1.0);
}

}  // namespace tenon::opencl::testing
