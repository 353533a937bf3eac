// Convolution and pooling: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/unit/converter/import/onnx/model_builder.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("Conv: strides, dilations, pads, group and bias are taken over") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("w", {4, 1, 3, 3})
                         .Floats("b", {4})
                         .Node("Conv", {"x", "w", "b"}, {"y"})
                         .Set("strides", std::vector<int64_t>{2, 1})
                         .Set("dilations", std::vector<int64_t>{1, 2})
                         .Set("pads", std::vector<int64_t>{1, 2, 0, 3})
                         .Set("group", 2)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %w: f32[4,1,3,3] = bytes(144, crc32c=BFEE0125)
const %b: f32[4] = [1, 2, 3, 4]
%y: f32[1,4,3,7] = conv(%x, %w, %b) {group=2, strides=[2,1], dilations=[1,2], pads=[1,2,0,3]} "n"
output %y
)");
}

TEST_CASE("Conv: SAME_UPPER puts the odd element of padding after") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("w", {1, 2, 2, 2})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Set("auto_pad", "SAME_UPPER")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %w: f32[1,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8]
%y: f32[1,1,6,6] = conv(%x, %w) {pads=[0,0,1,1]} "n"
output %y
)");
}

TEST_CASE("Conv: SAME_LOWER puts the odd element of padding before") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("w", {1, 2, 2, 2})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Set("auto_pad", "SAME_LOWER")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %w: f32[1,2,2,2] = [1, 2, 3, 4, 5, 6, 7, 8]
%y: f32[1,1,6,6] = conv(%x, %w) {pads=[1,1,0,0]} "n"
output %y
)");
}

TEST_CASE("Conv: SAME counts strides and dilations") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 1, 7, 7})
                         .Floats("w", {1, 1, 3, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Set("auto_pad", "SAME_UPPER")
                         .Set("strides", std::vector<int64_t>{2, 1})
                         .Set("dilations", std::vector<int64_t>{1, 2})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,1,7,7]
const %w: f32[1,1,3,3] = [1, 2, 3, 4, 5, 6, 7, 8, 9]
%y: f32[1,1,4,7] = conv(%x, %w) {strides=[2,1], dilations=[1,2], pads=[1,2,1,2]} "n"
output %y
)");
}

TEST_CASE("Conv: one dimension becomes two with height 1") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 8})
                         .Floats("w", {1, 2, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Set("pads", std::vector<int64_t>{1, 2})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,8]
const %w/reshaped: f32[1,2,1,3] = [1, 2, 3, 4, 5, 6]
%n/reshape: f32[1,2,1,8] = reshape(%x) {dims=[1,2,1,8]}
%n/conv: f32[1,1,1,9] = conv(%n/reshape, %w/reshaped) {pads=[0,1,0,2]}
%y: f32[1,1,9] = reshape(%n/conv) {dims=[1,1,9]} "n"
output %y
)");
}

TEST_CASE("Conv: four spatial dimensions are refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 1, 4, 4, 4, 4})
                         .Floats("w", {1, 1, 3, 3, 3, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Output("y");

  CHECK(
      model.Text() ==
      R"(error: node 'n' (Conv): its input has 6 dimensions; only up to three spatial ones are supported)");
}

TEST_CASE("Conv: a kernel_shape that is not the weights' is refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("w", {1, 2, 3, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Set("kernel_shape", std::vector<int64_t>{5, 5})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Conv): kernel_shape is not that of its weights)");
}

TEST_CASE("Conv: weights for another number of channels are refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("w", {1, 3, 3, 3})
                         .Node("Conv", {"x", "w"}, {"y"})
                         .Output("y");

  CHECK(
      model.Text() ==
      R"(error: node 'n' (Conv): conv "n": weights are for 3 input channels per group, the input has 2)");
}

TEST_CASE("MaxPool: window and ceil_mode are taken over") {
  const auto model = ModelBuilder(12)
                         .Input("x", {1, 2, 6, 6})
                         .Node("MaxPool", {"x"}, {"y"})
                         .Set("kernel_shape", std::vector<int64_t>{3, 2})
                         .Set("strides", std::vector<int64_t>{2, 2})
                         .Set("ceil_mode", 1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
%y: f32[1,2,3,3] = max_pool(%x) {kernel=[3,2], strides=[2,2], ceil_mode=1} "n"
output %y
)");
}

TEST_CASE("Pools: with ceil_mode a window stands over an image that is smaller than it") {
  const auto small = [](const char* kind, int count_include_pad, int side) {
    ModelBuilder model(12);
    model.Input("x", {1, 1, side, side}).Node(kind, {"x"}, {"y"});
    model.Set("kernel_shape", std::vector<int64_t>{3, 3})
        .Set("strides", std::vector<int64_t>{2, 2});
    model.Set("ceil_mode", 1);
    if (count_include_pad != 0) model.Set("count_include_pad", 1);
    model.Output("y");
    return model;
  };
  CheckClose(Run(small("MaxPool", 0, 2), {{1, 4, 3, 2}}), {4});
  CheckClose(Run(small("AveragePool", 0, 2), {{1, 4, 3, 2}}), {2.5});
  // Padding would count, or the window would reach too far.
  for (const std::string& text :
       {small("AveragePool", 1, 2).Text(), small("MaxPool", 0, 1).Text()}) {
    CHECK(text.find("does not fit into a padded input") != std::string::npos);
  }
}

TEST_CASE("MaxPool: unused indices do no harm") {
  const auto model = ModelBuilder(12)
                         .Input("x", {1, 2, 6, 6})
                         .Node("MaxPool", {"x"}, {"y", "indices"})
                         .Set("kernel_shape", std::vector<int64_t>{2, 2})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
%y: f32[1,2,5,5] = max_pool(%x) {kernel=[2,2]} "n"
output %y
)");
}

TEST_CASE("MaxPool: indices are of elements where those are as low as the padding") {
  const float low = -std::numeric_limits<float>::infinity();
  for (const auto type : {onnx::TensorProto::FLOAT, onnx::TensorProto::UINT8}) {
    const auto model = ModelBuilder(13)
                           .Input("x", {1, 1, 2, 2})
                           .Node("Cast", {"x"}, {"c"}, "cast")
                           .Set("to", type)
                           .Node("MaxPool", {"c"}, {"y", "places"})
                           .Set("kernel_shape", std::vector<int64_t>{2, 2})
                           .Set("pads", std::vector<int64_t>{1, 1, 0, 0})
                           .Output("places", onnx::TensorProto::INT64);
    const float lowest = type == onnx::TensorProto::FLOAT ? low : 0.0F;
    const Floats x = {lowest, lowest, 3, lowest};
    CHECK(Run<int64_t>(model, {x}) == std::vector<int64_t>{0, 0, 2, 2});
  }
}

TEST_CASE("MaxPool: indices of one spatial dimension are refused") {
  const auto model = ModelBuilder(12)
                         .Input("x", {1, 2, 6})
                         .Node("MaxPool", {"x"}, {"y", "indices"})
                         .Set("kernel_shape", std::vector<int64_t>{2})
                         .Output("y")
                         .Output("indices", onnx::TensorProto::INT64);

  CHECK(model.Text() ==
        "error: node 'n' (MaxPool): its indices are not supported for an input of rank 3");
}

TEST_CASE("AveragePool: count_include_pad and pads are taken over") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 6, 6})
                         .Node("AveragePool", {"x"}, {"y"})
                         .Set("kernel_shape", std::vector<int64_t>{3, 3})
                         .Set("pads", std::vector<int64_t>{1, 1, 0, 0})
                         .Set("count_include_pad", 1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
%y: f32[1,2,5,5] = average_pool(%x) {kernel=[3,3], pads=[1,1,0,0], count_include_pad=1} "n"
output %y
)");
}

TEST_CASE("AveragePool: one dimension becomes two") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 2, 8})
                         .Node("AveragePool", {"x"}, {"y"})
                         .Set("kernel_shape", std::vector<int64_t>{2})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,8]
%n/reshape: f32[1,2,1,8] = reshape(%x) {dims=[1,2,1,8]}
%n/average_pool: f32[1,2,1,7] = average_pool(%n/reshape) {kernel=[1,2]}
%y: f32[1,2,7] = reshape(%n/average_pool) {dims=[1,2,7]} "n"
output %y
)");
}

TEST_CASE("GlobalAveragePool: is a mean over the spatial dimensions") {
  const auto model =
      ModelBuilder(11).Input("x", {1, 2, 6, 6}).Node("GlobalAveragePool", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
%y: f32[1,2,1,1] = reduce(%x) {function=mean, axes_mask=12} "n"
output %y
)");
}

TEST_CASE("GlobalMaxPool: is a maximum over the spatial dimensions") {
  const auto model =
      ModelBuilder(11).Input("x", {1, 2, 5}).Node("GlobalMaxPool", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,5]
%y: f32[1,2,1] = reduce(%x) {function=max, axes_mask=4} "n"
output %y
)");
}

TEST_CASE("LpPool: norms over windows, where padding and what lies beyond the last window are 0") {
  const auto run = [](int64_t p, int64_t stride, const std::vector<int64_t>& pads, bool ceil_mode) {
    auto model = ModelBuilder(18)
                     .Input("x", {1, 1, 4})
                     .Node("LpPool", {"x"}, {"y"})
                     .Set("p", p)
                     .Set("kernel_shape", std::vector<int64_t>{2})
                     .Set("strides", std::vector<int64_t>{stride})
                     .Set("pads", pads)
                     .Set("ceil_mode", ceil_mode ? 1 : 0);
    return Run(model.Output("y"), {{1, -2, 2, -3}});
  };
  CheckClose(run(1, 1, {0, 0}, false), {3, 4, 5});
  CheckClose(run(2, 1, {0, 0}, false), {std::sqrt(5.0F), std::sqrt(8.0F), std::sqrt(13.0F)});
  CheckClose(run(3, 2, {1, 0}, true), {1, std::cbrt(16.0F), 3});
  CheckClose(run(3, 2, {1, 0}, false), {1, std::cbrt(16.0F)});
}

TEST_CASE("LpPool: over images and volumes") {
  const Floats x = {1, 2, 3, 4, 5, 6, 7, 8};
  auto image = ModelBuilder(18)
                   .Input("x", {1, 1, 2, 4})
                   .Node("LpPool", {"x"}, {"y"})
                   .Set("p", 1)
                   .Set("kernel_shape", std::vector<int64_t>{2, 2})
                   .Set("dilations", std::vector<int64_t>{1, 2});
  CheckClose(Run(image.Output("y"), {x}), {1 + 3 + 5 + 7, 2 + 4 + 6 + 8});
  auto volume = ModelBuilder(18)
                    .Input("x", {1, 1, 2, 2, 2})
                    .Node("LpPool", {"x"}, {"y"})
                    .Set("kernel_shape", std::vector<int64_t>{2, 2, 2});
  CheckClose(Run(volume.Output("y"), {x}), {std::sqrt(204.0F)});
}

TEST_CASE("GlobalLpPool: a norm over the spatial dimensions") {
  const auto run = [](int64_t p) {
    auto model =
        ModelBuilder(11).Input("x", {1, 2, 2}).Node("GlobalLpPool", {"x"}, {"y"}).Set("p", p);
    return Run(model.Output("y"), {{3, -4, 1, 2}});
  };
  CheckClose(run(1), {7, 3});
  CheckClose(run(2), {5, std::sqrt(5.0F)});
  CheckClose(run(3), {std::cbrt(91.0F), std::cbrt(9.0F)});
}

}  // namespace tenon::converter::test
