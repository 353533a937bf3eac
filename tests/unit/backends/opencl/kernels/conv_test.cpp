#include <doctest/doctest.h>

#include <limits>
#include <set>
#include <string>
#include <vector>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "tests/unit/backends/opencl/conv_cases.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr const char* kConvTile = "opencl.conv.tile";

/// Any geometry: odd channels, unequal strides, pads and dilations, batches, one or more groups.
ConvCase PickCase(Generator& random) {
  ConvCase c;
  const int32_t groups = Pick(random, 0, 3) == 0 ? Pick(random, 2, 3) : 1;
  const int32_t inputs = Pick(random, 1, 20);
  c.w = {groups * Pick(random, 1, 40), inputs, Pick(random, 1, 4), Pick(random, 1, 4)};
  c.x = {Pick(random, 1, 2), groups * inputs, Pick(random, 1, 9), Pick(random, 1, 9)};
  c.attributes.group = groups;
  for (int i = 0; i < 2; ++i) {
    const auto at = static_cast<size_t>(2 + i);
    c.attributes.strides[i] = Pick(random, 1, 3);
    c.attributes.dilations[i] = Pick(random, 1, 2);
    const int32_t reach = (c.w[at] - 1) * c.attributes.dilations[i] + 1;
    c.attributes.pads[i] = Pick(random, 0, reach);
    c.attributes.pads[2 + i] = Pick(random, 0, 2);
    const int32_t missing = reach - c.x[at] - c.attributes.pads[i] - c.attributes.pads[2 + i];
    if (missing > 0) c.attributes.pads[2 + i] += missing;
  }
  PickRest(c, random);
  return c;
}

}  // namespace

TEST_CASE("OpenCL conv: tiles agree with the portable kernel on any geometry") {
  Generator random(1);
  for (int i = 0; i < 150; ++i) {
    const ConvCase c = PickCase(random);
    CAPTURE(i);
    CHECK(ConvExcess(kConvTile, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL conv: 1x1 without padding is a product of pixels at equal distances") {
  Generator random(2);
  for (const int32_t outputs : {1, 7, 16, 24, 33}) {
    for (const int32_t size : {1, 3, 7}) {
      ConvCase c = {{2, 13, size, size}, {outputs, 13, 1, 1}, Conv(1, 1, 0)};
      PickRest(c, random);
      CAPTURE(outputs);
      CAPTURE(size);
      CHECK(ConvExcess(kConvTile, c, random) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL conv: every variant that is listed runs, and they give different programs") {
  Generator random(3);
  ConvCase c = {{1, 19, 6, 5}, {37, 19, 3, 3}, Conv(1, 1, 1)};
  c.residual = Residual::kSeparate;
  const ConvCase pointwise = {{1, 19, 6, 5}, {37, 19, 1, 1}, Conv(1, 1, 0)};
  std::set<const TileShape*> tiles;
  for (const std::string& variant : VariantsOf(kConvTile)) {
    CAPTURE(variant);
    tiles.insert(FindTile(variant.c_str()));
    CHECK(ConvExcess(kConvTile + (":" + variant), c, random) <= 1.0);
    CHECK(ConvExcess(kConvTile + (":" + variant), pointwise, random) <= 1.0);
    CHECK(ConvExcess("opencl.conv.first:" + variant, {{2, 3, 9, 8}, {20, 3, 3, 3}, Conv(1, 2, 1)},
                     random) <= 1.0);
  }
  CHECK(tiles.size() == TileShapes().size());
  CHECK(tiles.count(nullptr) == 0);
}

TEST_CASE("OpenCL conv: a variant that is unknown changes nothing") {
  Generator random(4);
  const ConvCase c = {{1, 5, 4, 4}, {9, 5, 3, 3}, Conv(1, 1, 1)};
  for (const std::string variant : {":9x9", ":", ":7x16x", ":7x1"}) {
    CHECK(FindTile(VariantIn((kConvTile + variant).c_str())) == nullptr);
    CHECK(ConvExcess(kConvTile + variant, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL conv: activations beyond clips are compiled in") {
  Generator random(5);
  for (const UnaryFunction function :
       {UnaryFunction::kLeakyRelu, UnaryFunction::kHardSwish, UnaryFunction::kSigmoid,
        UnaryFunction::kSilu, UnaryFunction::kGelu}) {
    ConvCase c = {{1, 6, 5, 5}, {21, 6, 3, 3}, Conv(1, 2, 1)};
    c.residual = Residual::kSeparate;
    c.attributes.activation = {function, 0.125F, 0.5F};
    CAPTURE(static_cast<int>(function));
    CHECK(ConvExcess(kConvTile, c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL conv: NaN and infinity pass through relu as on the CPU") {
  ConvCase c = {{1, 1, 2, 4}, {1, 1, 1, 1}, Conv(1, 1, 0)};
  c.attributes.activation.function = UnaryFunction::kRelu;
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  PairedOp op(kConvTile);
  op.AddInput(Tensor::From<float>(DType::kF32, c.x, {1, -1, kNan, kInfinity, -kInfinity, 0, 2, -3},
                                  Layout::kChannelsLast));
  op.AddInput(Tensor::From<float>(DType::kF32, c.w, {1}), kConstant);
  op.AddOutput(OutputDims(c), Layout::kChannelsLast);
  CHECK(op.Excess(c.attributes) <= 1.0);
}

TEST_CASE("OpenCL conv: a first layer takes and gives any layout") {
  Generator random(6);
  for (const Layout x : kAllLayouts) {
    for (const Layout y : kAllLayouts) {
      ConvCase c = {{1, 3, 9, 8}, {20, 3, 3, 3}, Conv(1, 2, 1)};
      c.x_layout = x;
      c.y_layout = y;
      c.residual = Residual::kSeparate;
      CHECK(ConvExcess("opencl.conv.first", c, random) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL conv: small shapes of every kind") {
  Generator random(9);
  ConvCase padded = {{2, 5, 4, 5}, {2 * 19, 5, 3, 2}, Conv(1, 1, 1)};
  padded.residual = Residual::kIsOutput;
  padded.y_layout = Layout::kChannelsLastGaps;
  CHECK(ConvExcess(kConvTile, padded, random) <= 1.0);
  CHECK(ConvExcess("opencl.conv.reference", padded, random) <= 1.0);
  ConvCase grouped = {{1, 6, 6, 3}, {34, 3, 2, 2}, Conv(2, 2, 0)};
  grouped.x_layout = Layout::kChannelsLastGaps;
  CHECK(ConvExcess(kConvTile, grouped, random) <= 1.0);
  const ConvCase pointwise = {{1, 9, 3, 3}, {18, 9, 1, 1}, Conv(1, 1, 0)};
  CHECK(ConvExcess(kConvTile, pointwise, random) <= 1.0);
  ConvCase first = {{1, 3, 5, 6}, {17, 3, 3, 3}, Conv(1, 2, 1)};
  first.x_layout = Layout::kRowMajor;
  first.y_layout = Layout::kRowMajorGaps;
  CHECK(ConvExcess("opencl.conv.first", first, random) <= 1.0);
}

TEST_CASE("OpenCL conv: the reference kernel takes any layout and variable weights") {
  Generator random(7);
  for (int i = 0; i < 40; ++i) {
    ConvCase c = PickCase(random);
    c.x_layout = kAllLayouts[Pick(random, 0, 4)];
    c.y_layout = kAllLayouts[Pick(random, 0, 4)];
    c.constant_weights = Pick(random, 0, 1) == 0;
    if (!c.constant_weights) c.w_layout = kAllLayouts[Pick(random, 0, 4)];
    CAPTURE(i);
    CHECK(ConvExcess("opencl.conv.reference", c, random) <= 1.0);
  }
}

TEST_CASE("OpenCL conv: tiles refuse weights that are no constants") {
  Generator random(8);
  ConvCase c = {{1, 4, 5, 5}, {8, 4, 3, 3}, Conv(1, 1, 1)};
  c.constant_weights = false;
  CHECK(MakeConv(kConvTile, c, random).Check(c.attributes).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::opencl::testing
