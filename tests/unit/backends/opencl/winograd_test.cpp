#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backends/opencl/caps/conv_caps.hpp"
#include "tests/unit/backends/opencl/conv_cases.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr const char* kKernel = "opencl.conv.winograd";

}  // namespace

TEST_CASE("OpenCL Winograd: agrees with the portable kernel for odd channels, sizes and padding") {
  Generator random(1);
  for (int i = 0; i < 40; ++i) {
    ConvCase c;
    const int32_t inputs = Pick(random, 8, 40);
    c.x = {Pick(random, 1, 2), inputs, Pick(random, 4, 14), Pick(random, 4, 14)};
    c.w = {Pick(random, 8, 50), inputs, 3, 3};
    for (int32_t& pad : c.attributes.pads) pad = Pick(random, 0, 2);
    if (c.x[2] + c.attributes.pads[0] + c.attributes.pads[2] < 5) c.attributes.pads[0] += 2;
    if (c.x[3] + c.attributes.pads[1] + c.attributes.pads[3] < 5) c.attributes.pads[1] += 2;
    PickRest(c, random);
    if (!MakeConv(kKernel, c, random).Check(c.attributes).ok()) continue;
    CAPTURE(i);
    CHECK(ConvExcess(kKernel, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL Winograd: tiles in several pieces, the last one smaller") {
  Generator random(2);
  ConvCase c = {{1, 96, 40, 44}, {80, 96, 3, 3}, Conv(1, 1, 1)};
  c.attributes.activation.function = UnaryFunction::kRelu;
  CHECK(ConvExcess(kKernel, c, random, 2) <= 1.0);
}

TEST_CASE("OpenCL Winograd: every variant that is listed runs") {
  Generator random(5);
  ConvCase c = {{1, 20, 13, 9}, {37, 20, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kSeparate;
  for (const std::string& variant : VariantsOf(kKernel)) {
    CAPTURE(variant);
    CHECK(ConvExcess(kKernel + (":" + variant), c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL Winograd: an activation that is compiled in") {
  Generator random(3);
  ConvCase c = {{1, 9, 8, 8}, {17, 9, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kSeparate;
  c.attributes.activation = {UnaryFunction::kSilu, 0.0F, 0.0F};
  CHECK(ConvExcess(kKernel, c, random) <= 1.0);
}

TEST_CASE("OpenCL Winograd: strides, dilation, groups and nearly empty tiles are refused") {
  Generator random(4);
  const std::vector<ConvCase> refused = {{{1, 16, 9, 9}, {16, 16, 3, 3}, Conv(1, 2, 1)},
                                         {{1, 16, 9, 9}, {16, 16, 3, 3}, Conv(1, 1, 2, 2)},
                                         {{1, 16, 9, 9}, {16, 8, 3, 3}, Conv(2, 1, 1)},
                                         {{1, 16, 9, 9}, {16, 16, 5, 5}, Conv(1, 1, 2)},
                                         {{1, 16, 3, 3}, {16, 16, 3, 3}, Conv(1, 1, 0)}};
  for (const ConvCase& c : refused) {
    CHECK(MakeConv(kKernel, c, random).Check(c.attributes).code() == StatusCode::kUnsupported);
  }
}

}  // namespace tenon::opencl::testing
