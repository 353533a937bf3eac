#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

/// Attributes that resize from `from` to `to`, with the scales that follow.
ResizeAttributes ResizeTo(ResizeMode mode, const std::vector<int32_t>& from,
                          const std::vector<int32_t>& to) {
  ResizeAttributes attributes;
  attributes.mode = mode;
  attributes.rank = static_cast<int32_t>(to.size());
  for (size_t i = 0; i < to.size(); ++i) {
    attributes.sizes[i] = to[i];
    attributes.scales[i] = static_cast<float>(to[i]) / static_cast<float>(from[i]);
  }
  return attributes;
}

std::string Resize(const std::vector<int32_t>& x, const ResizeAttributes& attributes,
                   DType dtype = DType::kF32) {
  return OpTester(kResizeRow).Input(dtype, x).Infer(attributes);
}

/// A linear resize of a [1, 2, 4, 4] image to twice its size.
ResizeAttributes Doubling() { return ResizeTo(ResizeMode::kLinear, {1, 2, 4, 4}, {1, 2, 8, 8}); }
std::string ErrorOf(const ResizeAttributes& attributes) { return Resize({1, 2, 4, 4}, attributes); }

TEST_CASE("Resize: the sizes are the output's dimensions") {
  CHECK(ErrorOf(Doubling()) == "f32[1,2,8,8]");
  CHECK(ErrorOf(ResizeTo(ResizeMode::kCubic, {1, 2, 4, 4}, {1, 2, 1, 9})) == "f32[1,2,1,9]");
}

TEST_CASE("Resize: nearest may change any dimension of any rank") {
  CHECK(Resize({2, 3}, ResizeTo(ResizeMode::kNearest, {2, 3}, {5, 1})) == "f32[5,1]");
}

TEST_CASE("Resize: nearest copies integers, nothing interpolates them") {
  CHECK(Resize({2}, ResizeTo(ResizeMode::kNearest, {2}, {4}), DType::kU8) == "u8[4]");
  CHECK(Resize({1, 2, 4, 4}, Doubling(), DType::kU8) ==
        "error: the input must be f32, f16, f64 or, for nearest, an integer type");
  CHECK(Resize({2}, ResizeTo(ResizeMode::kNearest, {2}, {4}), DType::kBool) ==
        "error: the input must be f32, f16, f64 or, for nearest, an integer type");
}

TEST_CASE("Resize: linear and cubic change the last two of four dimensions only") {
  CHECK(Resize({2, 4, 4}, ResizeTo(ResizeMode::kLinear, {2, 4, 4}, {2, 8, 8})) ==
        "error: linear and cubic need an input of rank 4, not 3");
  CHECK(ErrorOf(ResizeTo(ResizeMode::kLinear, {1, 2, 4, 4}, {1, 4, 4, 4})) ==
        "error: linear and cubic cannot resize dimension 1");
  ResizeAttributes attributes = Doubling();
  attributes.scales[0] = 2.0F;
  CHECK(ErrorOf(attributes) == "error: linear and cubic cannot resize dimension 0");
}

TEST_CASE("Resize: scales are positive, finite, and not too small") {
  for (const float bad : {0.0F, -1.0F, kNan, kInfinity}) {
    ResizeAttributes attributes = Doubling();
    attributes.scales[3] = bad;
    CHECK(ErrorOf(attributes) == "error: the scale of dimension 3 must be positive and finite");
  }
  ResizeAttributes attributes = Doubling();
  attributes.scales[2] = 1e-30F;
  CHECK(ErrorOf(attributes) == "error: the scale of dimension 2 is too small for its size");
}

TEST_CASE("Resize: negative sizes are refused, and empty stays empty") {
  ResizeAttributes attributes = Doubling();
  attributes.sizes[2] = -8;
  CHECK(ErrorOf(attributes) == "error: the size of dimension 2 is negative");
  attributes.sizes[2] = 0;
  CHECK(ErrorOf(attributes) == "error: dimension 2 cannot become 0 from 4");
  CHECK(Resize({1, 2, 0, 4}, Doubling()) == "error: dimension 2 cannot become 8 from 0");
  CHECK(Resize({0, 4}, ResizeTo(ResizeMode::kNearest, {1, 4}, {1, 8})) ==
        "error: dimension 0 cannot become 1 from 0");
  attributes = ResizeTo(ResizeMode::kNearest, {1, 4}, {1, 8});
  attributes.sizes[0] = 0;
  CHECK(Resize({0, 4}, attributes) == "f32[0,8]");
}

TEST_CASE("Resize: modes out of range are refused") {
  ResizeAttributes attributes = Doubling();
  attributes.mode = static_cast<ResizeMode>(kResizeModeCount);
  CHECK(ErrorOf(attributes) == "error: there is no resize mode 3");
  attributes = Doubling();
  attributes.coordinates = static_cast<CoordinateMode>(-1);
  CHECK(ErrorOf(attributes) == "error: there is no coordinate mode -1");
  attributes = Doubling();
  attributes.nearest = static_cast<NearestMode>(kNearestModeCount);
  CHECK(ErrorOf(attributes) == "error: there is no nearest mode 4");
}

TEST_CASE("Resize: cubic_a is finite and exclude_outside a flag") {
  ResizeAttributes attributes = Doubling();
  attributes.cubic_a = kNan;
  CHECK(ErrorOf(attributes) == "error: cubic_a must be finite");
  attributes = Doubling();
  attributes.exclude_outside = 2;
  CHECK(ErrorOf(attributes) == "error: exclude_outside must be 0 or 1");
}

TEST_CASE("Resize: the rank is the input's") {
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 3, 5, 99, INT32_MIN}) {
    ResizeAttributes attributes = Doubling();
    attributes.rank = bad;
    CHECK(ErrorOf(attributes) ==
          "error: the sizes have rank " + std::to_string(bad) + ", the input has rank 4");
  }
}

TEST_CASE("Resize: an output of 2^31 elements is refused") {
  CHECK(ErrorOf(ResizeTo(ResizeMode::kNearest, {1, 2, 4, 4}, {1, 2, 32768, 32768})) ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

}  // namespace
}  // namespace tenon
