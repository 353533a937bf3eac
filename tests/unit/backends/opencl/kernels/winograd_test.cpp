#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "backends/opencl/caps/conv_caps.hpp"
#include "tests/unit/backends/opencl/conv_cases.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr const char* kWinogradConv = "opencl.conv.winograd";
/// Smaller convolutions are left to tiles.
constexpr int32_t kFewestProducts = 2'500'000;

}  // namespace

TEST_CASE("OpenCL Winograd: agrees with the portable kernel for odd channels, sizes and padding") {
  Generator random(1);
  for (int i = 0; i < 25; ++i) {
    ConvCase c;
    const int32_t inputs = Pick(random, 8, 60);
    c.x = {Pick(random, 1, 2), inputs, Pick(random, 11, 18), Pick(random, 11, 18)};
    for (int32_t& pad : c.attributes.pads) pad = Pick(random, 0, 2);
    c.w = {1, inputs, 3, 3};
    const std::vector<int32_t> y = OutputDims(c);
    c.w[0] = kFewestProducts / (9 * inputs * y[0] * y[2] * y[3]) + Pick(random, 9, 30);
    PickRest(c, random);
    // Bounds that leave sums of some size: what rounding there is belongs to that.
    c.attributes.activation.a = -4.0F;
    c.attributes.activation.b = 6.0F;
    CAPTURE(i);
    CHECK(ConvExcess(kWinogradConv, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL Winograd: a small shape with all that can be fused") {
  Generator random(6);
  ConvCase c = {{1, 37, 9, 14}, {70, 37, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kIsOutput;
  c.y_layout = Layout::kChannelsLastGaps;
  c.attributes.activation.function = UnaryFunction::kRelu;
  CHECK(ConvExcess(kWinogradConv, c, random) <= 1.0);
}

TEST_CASE("OpenCL Winograd: tiles in several pieces, the last one smaller") {
  Generator random(2);
  ConvCase c = {{1, 96, 40, 44}, {80, 96, 3, 3}, Conv(1, 1, 1)};
  c.attributes.activation.function = UnaryFunction::kRelu;
  CHECK(ConvExcess(kWinogradConv, c, random, 2) <= 1.0);
}

TEST_CASE("OpenCL Winograd: every variant that is listed runs") {
  Generator random(5);
  ConvCase c = {{1, 40, 13, 9}, {67, 40, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kSeparate;
  for (const std::string& variant : VariantsOf(kWinogradConv)) {
    CAPTURE(variant);
    CHECK(ConvExcess(kWinogradConv + (":" + variant), c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL Winograd: an activation that is compiled in") {
  Generator random(3);
  ConvCase c = {{1, 41, 11, 11}, {61, 41, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kSeparate;
  c.attributes.activation = {UnaryFunction::kSilu, 0.0F, 0.0F};
  CHECK(ConvExcess(kWinogradConv, c, random) <= 1.0);
}

TEST_CASE(
    "OpenCL Winograd: strides, dilation, groups, nearly empty and few tiles, and few products are "
    "refused") {
  Generator random(4);
  const std::vector<ConvCase> refused = {{{1, 16, 50, 50}, {80, 16, 3, 3}, Conv(1, 2, 1)},
                                         {{1, 16, 50, 50}, {16, 16, 3, 3}, Conv(1, 1, 2, 2)},
                                         {{1, 16, 50, 50}, {16, 8, 3, 3}, Conv(2, 1, 1)},
                                         {{1, 16, 50, 50}, {16, 16, 5, 5}, Conv(1, 1, 2)},
                                         {{1, 16, 3, 900}, {32, 16, 3, 3}, Conv(1, 1, 0)},
                                         {{1, 16, 9, 9}, {16, 16, 3, 3}, Conv(1, 1, 1)},
                                         {{1, 160, 7, 7}, {320, 160, 3, 3}, Conv(1, 1, 1)}};
  for (const ConvCase& c : refused) {
    CHECK(MakeConv(kWinogradConv, c, random).Check(c.attributes).code() ==
          StatusCode::kUnsupported);
  }
}

}  // namespace tenon::opencl::testing
