#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

ResizeAttributes Attributes(ResizeMode mode, const std::vector<int32_t>& from,
                            const std::vector<int32_t>& to) {
  ResizeAttributes attributes;
  attributes.mode = mode;
  attributes.rank = static_cast<int32_t>(to.size());
  for (size_t k = 0; k < to.size(); ++k) {
    attributes.sizes[k] = to[k];
    attributes.scales[k] = static_cast<float>(to[k]) / static_cast<float>(from[k]);
  }
  return attributes;
}

template <typename Body>
void ForEachCoordinate(const Body& body) {
  for (int i = 0; i < kCoordinateModeCount; ++i) body(static_cast<CoordinateMode>(i));
}

const std::vector<int32_t> kFrom = {2, 21, 5, 7};
const std::vector<std::vector<int32_t>> kImageSizes = {
    {2, 21, 10, 14}, {2, 21, 3, 4}, {2, 21, 5, 20}, {2, 21, 1, 7}};

}  // namespace

TEST_CASE("OpenCL resize: the nearest element by every rule, in every dimension") {
  Generator random(1);
  for (const std::vector<int32_t>& to :
       {std::vector<int32_t>{2, 21, 10, 14}, std::vector<int32_t>{3, 40, 4, 3},
        std::vector<int32_t>{1, 21, 15, 7}}) {
    ForEachCoordinate([&](CoordinateMode coordinates) {
      for (int rule = 0; rule < kNearestModeCount; ++rule) {
        ResizeAttributes attributes = Attributes(ResizeMode::kNearest, kFrom, to);
        attributes.coordinates = coordinates;
        attributes.nearest = static_cast<NearestMode>(rule);
        for (const Layout layout : TestedLayouts()) {
          PairedOp op("opencl.resize.any");
          op.AddInput(Random(kFrom, layout, random));
          op.AddOutput(to, layout);
          CHECK(op.Equal<float>(attributes));
        }
      }
    });
  }
}

TEST_CASE("OpenCL resize: linear in any layout") {
  Generator random(2);
  for (const std::vector<int32_t>& to : kImageSizes) {
    ForEachCoordinate([&](CoordinateMode coordinates) {
      ResizeAttributes attributes = Attributes(ResizeMode::kLinear, kFrom, to);
      attributes.coordinates = coordinates;
      for (const Layout layout : TestedLayouts()) {
        PairedOp op("opencl.resize.any");
        op.AddInput(Random(kFrom, layout, random));
        op.AddOutput(to, Layout::kChannelsLast);
        CHECK(op.Excess(attributes) <= 1.0);
      }
    });
  }
}

TEST_CASE("OpenCL resize: cubic, with and without what lies outside") {
  Generator random(3);
  for (const std::vector<int32_t>& to : kImageSizes) {
    ForEachCoordinate([&](CoordinateMode coordinates) {
      for (const int32_t exclude : {0, 1}) {
        ResizeAttributes attributes = Attributes(ResizeMode::kCubic, kFrom, to);
        attributes.coordinates = coordinates;
        attributes.exclude_outside = exclude;
        PairedOp op("opencl.resize.any");
        op.AddInput(Random(kFrom, Layout::kChannelsLast, random));
        op.AddOutput(to, Layout::kChannelsLast);
        CHECK(op.Excess(attributes) <= 1.0);
      }
    });
  }
}

TEST_CASE("OpenCL resize: fewer dimensions than four") {
  Generator random(4);
  PairedOp op("opencl.resize.any");
  op.AddInput(Random({3, 20}, Layout::kRowMajor, random));
  op.AddOutput({6, 33}, Layout::kRowMajor);
  CHECK(op.Equal<float>(Attributes(ResizeMode::kNearest, {3, 20}, {6, 33})));
}

}  // namespace tenon::opencl::testing
