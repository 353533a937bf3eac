// Resize and Upsample: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {
namespace {

/// The corners of 4 x 6 pixels by a scale that gives no whole length.
ModelBuilder CornersByOddScale() {
  return ModelBuilder(13)
      .Input("x", {1, 1, 4, 6})
      .Floats("s", {4}, {1, 1, 0.75F, 0.6F})
      .Node("Resize", {"x", "", "s"}, {"y"})
      .Set("mode", "linear")
      .Set("coordinate_transformation_mode", "align_corners")
      .Output("y");
}

}  // namespace

TEST_CASE("Upsample: of opset 7 has scales as an attribute") {
  const auto model = ModelBuilder(7)
                         .Input("x", {1, 1, 4, 6})
                         .Node("Upsample", {"x"}, {"y"})
                         .Set("scales", std::vector<float>{1, 1, 2, 3})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,8,18] = resize(%x) {coordinates=asymmetric, nearest=floor, sizes=[1,1,8,18], scales=[1,1,2,3]} "n"
output %y
)");
}

TEST_CASE("Upsample: of opset 9 has scales as an input") {
  const auto model = ModelBuilder(9)
                         .Input("x", {1, 1, 4, 6})
                         .Floats("s", {4}, {1, 1, 2, 2})
                         .Node("Upsample", {"x", "s"}, {"y"})
                         .Set("mode", "linear")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,8,12] = resize(%x) {mode=linear, coordinates=asymmetric, nearest=floor, sizes=[1,1,8,12], scales=[1,1,2,2]} "n"
output %y
)");
}

TEST_CASE("Resize: of opset 10 takes the element above when shrinking") {
  const auto model = ModelBuilder(10)
                         .Input("x", {1, 1, 4, 6})
                         .Floats("s", {4}, {1, 1, 0.5F, 0.6F})
                         .Node("Resize", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,2,3] = resize(%x) {coordinates=asymmetric, nearest=ceil, sizes=[1,1,2,3], scales=[1,1,0.5,0.6]} "n"
output %y
)");
}

TEST_CASE("Upsample: of opset 1 has a scale for each side of an image") {
  const auto model = ModelBuilder(1)
                         .Input("x", {1, 1, 2, 2})
                         .Node("Upsample", {"x"}, {"y"})
                         .Set("height_scale", 1.0F)
                         .Set("width_scale", 2.0F)
                         .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4}}), {1, 1, 2, 2, 3, 3, 4, 4});
}

namespace {

/// [1, 1, 3, 4] of 1 to 12 by Resize of opset 10.
Floats OldResize(const Floats& scales, const char* mode) {
  const auto model = ModelBuilder(10)
                         .Input("x", {1, 1, 3, 4})
                         .Floats("s", {4}, scales)
                         .Node("Resize", {"x", "s"}, {"y"})
                         .Set("mode", mode)
                         .Output("y");
  return Run(model, {{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}});
}

}  // namespace

TEST_CASE("Resize: of opset 10 may grow one dimension and shrink another") {
  CheckClose(OldResize({1, 1, 2, 0.5F}, "nearest"), {1, 3, 1, 3, 5, 7, 5, 7, 9, 11, 9, 11});
  CheckClose(OldResize({1, 1, 0.7F, 1.5F}, "nearest"), {1, 1, 2, 3, 3, 4, 9, 9, 10, 11, 11, 12});
  CheckClose(OldResize({1, 1, 2, 0.5F}, "linear"), {1, 3, 3, 5, 5, 7, 7, 9, 9, 11, 9, 11});
}

TEST_CASE("Resize: linear of integers is that of floats, cut off to whole numbers") {
  for (const int type : {onnx::TensorProto::INT8, onnx::TensorProto::INT32}) {
    auto model = ModelBuilder(13).Input("a", {1, 1, 2, 2}).Floats("s", {4}, {1, 1, 2, 2});
    model.Node("Cast", {"a"}, {"x"}, "cast").Set("to", type);
    model.Node("Resize", {"x", "", "s"}, {"z"}).Set("mode", "linear");
    model.Node("Cast", {"z"}, {"y"}, "back").Set("to", onnx::TensorProto::FLOAT).Output("y");
    CHECK(Run(model, {{-128, -1, 50, 127}}) ==
          Floats{-128, -96, -32, -1, -83, -54, 2, 31, 5, 27, 72, 95, 50, 69, 107, 127});
  }
}

TEST_CASE("Resize: sizes give scales") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 4, 6})
                         .Ints("s", {1, 1, 8, 9})
                         .Node("Resize", {"x", "", "", "s"}, {"y"})
                         .Set("mode", "linear")
                         .Set("coordinate_transformation_mode", "align_corners")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,8,9] = resize(%x) {mode=linear, coordinates=align_corners, sizes=[1,1,8,9], scales=[1,1,2,1.5]} "n"
output %y
)");
}

TEST_CASE("Resize: scales are kept as given") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 1, 4, 6})
                         .Floats("roi", {0}, {})
                         .Floats("s", {4}, {1, 1, 1.3F, 2})
                         .Node("Resize", {"x", "roi", "s"}, {"y"})
                         .Set("mode", "cubic")
                         .Set("cubic_coeff_a", -0.5F)
                         .Set("coordinate_transformation_mode", "pytorch_half_pixel")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,5,12] = resize(%x) {mode=cubic, coordinates=pytorch_half_pixel, cubic_a=-0.5, sizes=[1,1,5,12], scales=[1,1,1.3,2]} "n"
output %y
)");
}

TEST_CASE("Resize: align_corners by a scale that gives no whole length is asymmetric") {
  const ModelBuilder model = CornersByOddScale();

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,3,3] = resize(%x) {mode=linear, coordinates=asymmetric, sizes=[1,1,3,3], scales=[1,1,0.6666667,0.52000004]} "n"
output %y
)");
}

TEST_CASE("Resize: align_corners by such a scale warns, and takes the whole length if asked") {
  const ModelBuilder model = CornersByOddScale();
  std::vector<std::string> warnings;
  ImportOptions options;
  options.warnings = &warnings;
  REQUIRE(model.Import(options).ok());
  REQUIRE(warnings.size() == 1);
  CHECK(warnings[0].find("--align-corners=sizes") != std::string::npos);

  warnings.clear();
  options.corners_by_sizes = true;
  REQUIRE(model.Import(options).ok());
  CHECK(warnings.empty());
  CHECK(model.Text(options) == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,3,3] = resize(%x) {mode=linear, coordinates=align_corners, sizes=[1,1,3,3], scales=[1,1,0.75,0.6]} "n"
output %y
)");
}

TEST_CASE("Resize: linear over other dimensions than the last two moves them there and back") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 4, 6, 3})
                         .Floats("s", {4}, {1, 2, 2, 1})
                         .Node("Resize", {"x", "", "s"}, {"y"})
                         .Set("mode", "linear")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,4,6,3]
%n/transpose: f32[1,3,4,6] = transpose(%x) {permutation=[0,3,1,2]}
%n/reshape: f32[3,1,4,6] = reshape(%n/transpose) {dims=[3,1,4,6]}
%n/resize: f32[3,1,8,12] = resize(%n/reshape) {mode=linear, sizes=[3,1,8,12], scales=[1,1,2,2]}
%n/reshape_2: f32[1,3,8,12] = reshape(%n/resize) {dims=[1,3,8,12]}
%y: f32[1,8,12,3] = transpose(%n/reshape_2) {permutation=[0,2,3,1]} "n"
output %y
)");
}

TEST_CASE("Resize: linear over three dimensions is that over two, then over the third") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 2, 2})
                         .Floats("s", {3}, {1.5F, 1.5F, 1.5F})
                         .Node("Resize", {"x", "", "s"}, {"y"})
                         .Set("mode", "linear")
                         .Set("coordinate_transformation_mode", "align_corners")
                         .Output("y");
  // Corners 0 to 7 by the bits of their places, so that element (i, j, k) is 2 i + j + k / 2.
  Floats expected;
  for (int i = 0; i < 27; ++i) {
    expected.push_back(static_cast<float>(i / 9) * 2.0F + static_cast<float>(i / 3 % 3) +
                       static_cast<float>(i % 3) / 2.0F);
  }
  CheckClose(Run(model, {{0, 1, 2, 3, 4, 5, 6, 7}}), expected);
}

TEST_CASE("Resize: one scale for both dimensions keeps an image's shape, halves rounded up") {
  for (const bool larger : {false, true}) {
    const auto model = ModelBuilder(18)
                           .Input("x", {1, 1, 4, 6})
                           .Ints("s", {7, 12})
                           .Node("Resize", {"x", "", "", "s"}, {"y"})
                           .Set("axes", std::vector<int64_t>{2, 3})
                           .Set("keep_aspect_ratio_policy", larger ? "not_smaller" : "not_larger")
                           .Output("y");

    const char* sizes =
        larger ? "sizes=[1,1,8,12], scales=[1,1,2,2]" : "sizes=[1,1,7,11], scales=[1,1,1.75,1.75]";
    CHECK(model.Text().find(sizes) != std::string::npos);
  }
}

TEST_CASE("Resize: axes of opset 18 leave the other dimensions alone") {
  const auto model = ModelBuilder(18)
                         .Input("x", {1, 1, 4, 6})
                         .Ints("s", {8, 12})
                         .Node("Resize", {"x", "", "", "s"}, {"y"})
                         .Set("axes", std::vector<int64_t>{2, 3})
                         .Set("nearest_mode", "floor")
                         .Set("coordinate_transformation_mode", "asymmetric")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,4,6]
%y: f32[1,1,8,12] = resize(%x) {coordinates=asymmetric, nearest=floor, sizes=[1,1,8,12], scales=[1,1,2,2]} "n"
output %y
)");
}

TEST_CASE("Resize: antialias is refused") {
  const auto model = ModelBuilder(18)
                         .Input("x", {1, 1, 4, 6})
                         .Ints("s", {1, 1, 2, 3})
                         .Node("Resize", {"x", "", "", "s"}, {"y"})
                         .Set("antialias", 1)
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Resize): antialias is not supported)");
}

TEST_CASE(
    "Resize: half_pixel_symmetric by a scale that gives no whole size goes about the middle") {
  const auto model = ModelBuilder(19)
                         .Input("x", {1, 1, 1, 6})
                         .Floats("s", {4}, {1, 1, 1, 0.6F})
                         .Node("Resize", {"x", "", "s"}, {"y"})
                         .Set("mode", "linear")
                         .Set("coordinate_transformation_mode", "half_pixel_symmetric")
                         .Output("y");
  // Three positions 1 / 0.6 apart, the second in the middle, 2.5.
  CheckClose(Run(model, {{0, 1, 2, 3, 4, 5}}), {2.5F - 1.0F / 0.6F, 2.5F, 2.5F + 1.0F / 0.6F});
}

TEST_CASE("Resize: half_pixel_symmetric takes the nearest element of such positions") {
  const auto model = ModelBuilder(19)
                         .Input("x", {1, 1, 1, 6})
                         .Floats("s", {4}, {1, 1, 1, 0.6F})
                         .Node("Resize", {"x", "", "s"}, {"y"})
                         .Set("coordinate_transformation_mode", "half_pixel_symmetric")
                         .Output("y");
  CheckClose(Run(model, {{0, 1, 2, 3, 4, 5}}), {1, 2, 4});
}

TEST_CASE("Resize: crop and resize takes the region, and a value for what lies outside") {
  for (const bool linear : {false, true}) {
    const auto model = ModelBuilder(13)
                           .Input("x", {1, 1, 1, 5})
                           .Floats("roi", {8}, {0, 0, 0, 0.5F, 1, 1, 1, 1.5F})
                           .Ints("s", {1, 1, 1, 5})
                           .Node("Resize", {"x", "roi", "", "s"}, {"y"})
                           .Set("mode", linear ? "linear" : "nearest")
                           .Set("extrapolation_value", 9.0F)
                           .Set("coordinate_transformation_mode", "tf_crop_and_resize")
                           .Output("y");
    CheckClose(Run(model, {{10, 20, 30, 40, 50}}), {30, 40, 50, 9, 9});
  }
}

TEST_CASE("Resize: crop and resize without a region for each dimension is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 1, 1, 5})
                         .Floats("roi", {2}, {0, 1})
                         .Ints("s", {1, 1, 1, 5})
                         .Node("Resize", {"x", "roi", "", "s"}, {"y"})
                         .Set("coordinate_transformation_mode", "tf_crop_and_resize")
                         .Output("y");
  CHECK(model.Text() == "error: node 'n' (Resize): 2 bounds of regions for 4 dimensions");
}

}  // namespace tenon::converter::test
