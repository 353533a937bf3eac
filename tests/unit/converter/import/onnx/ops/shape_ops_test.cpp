// Operators that move elements: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("Reshape: 0 copies a dimension, -1 takes the rest") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Ints("s", {0, -1})
                         .Node("Reshape", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,12] = reshape(%x) {dims=[2,12]} "n"
output %y
)");
}

TEST_CASE("Reshape: before opset 5 the shape is an attribute") {
  const auto model = ModelBuilder(4)
                         .Input("x", {2, 3, 4})
                         .Node("Reshape", {"x"}, {"y"})
                         .Set("shape", std::vector<int64_t>{4, 6})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[4,6] = reshape(%x) {dims=[4,6]} "n"
output %y
)");
}

TEST_CASE("Reshape: a shape with other elements is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Ints("s", {5, -1})
                         .Node("Reshape", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Reshape): 24 elements cannot be split into [5, -1])");
}

TEST_CASE("Reshape: a shape that would overflow is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Ints("s", {2147483647, 2147483647, 2147483647})
                         .Node("Reshape", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Reshape): the shape is too large)");
}

TEST_CASE("Reshape: a shape computed from constants is folded") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("Shape", {"x"}, {"s"})
                         .Ints("i", {2, 0, 1})
                         .Node("Gather", {"s", "i"}, {"g"})
                         .Node("Reshape", {"x", "g"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[4,2,3] = reshape(%x) {dims=[4,2,3]} "n"
output %y
)");
}

TEST_CASE("Reshape: a shape that depends on an input is refused, and --freeze named") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Input("s", {2}, onnx::TensorProto::INT64)
                         .Node("Reshape", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(
      model.Text() ==
      R"(error: node 'n' (Reshape): 's' must be known at conversion, but it depends on the input 's' (a data-dependent shape); --freeze s=FILE.npy makes that a constant)");
}

TEST_CASE("Flatten: makes a matrix") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("Flatten", {"x"}, {"y"})
                         .Set("axis", -1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[6,4] = reshape(%x) {dims=[6,4]} "n"
output %y
)");
}

TEST_CASE("Squeeze: axes were an attribute before opset 13") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 3, 1})
                         .Node("Squeeze", {"x"}, {"y"})
                         .Set("axes", std::vector<int64_t>{-1})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,3,1]
%y: f32[1,3] = reshape(%x) {dims=[1,3]} "n"
output %y
)");
}

TEST_CASE("Squeeze: axes are an input since opset 13") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 3, 1})
                         .Ints("a", {0})
                         .Node("Squeeze", {"x", "a"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,3,1]
%y: f32[3,1] = reshape(%x) {dims=[3,1]} "n"
output %y
)");
}

TEST_CASE("Squeeze: without axes drops every dimension of size 1") {
  const auto model =
      ModelBuilder(13).Input("x", {1, 3, 1}).Node("Squeeze", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,3,1]
%y: f32[3] = reshape(%x) {dims=[3]} "n"
output %y
)");
}

TEST_CASE("Squeeze: a longer dimension is refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {1, 3, 1})
                         .Node("Squeeze", {"x"}, {"y"})
                         .Set("axes", std::vector<int64_t>{1})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Squeeze): dimension 1 is 3, not 1)");
}

TEST_CASE("Unsqueeze: axes count in the result") {
  const auto model = ModelBuilder(11)
                         .Input("x", {2, 3})
                         .Node("Unsqueeze", {"x"}, {"y"})
                         .Set("axes", std::vector<int64_t>{-1, 0})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[1,2,3,1] = reshape(%x) {dims=[1,2,3,1]} "n"
output %y
)");
}

TEST_CASE("Transpose: reverses unless told otherwise") {
  const auto model =
      ModelBuilder(13).Input("x", {2, 3, 4}).Node("Transpose", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[4,3,2] = transpose(%x) {permutation=[2,1,0]} "n"
output %y
)");
}

TEST_CASE("Transpose: a perm that names an axis twice is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("Transpose", {"x"}, {"y"})
                         .Set("perm", std::vector<int64_t>{0, 1, 1})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Transpose): axis 1 is given twice)");
}

TEST_CASE("Expand: broadcasts in both directions") {
  const auto model = ModelBuilder(13)
                         .Input("x", {3, 1})
                         .Ints("s", {2, 1, 4})
                         .Node("Expand", {"x", "s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[3,1]
%y: f32[2,3,4] = expand(%x) {dims=[2,3,4]} "n"
output %y
)");
}

TEST_CASE("Tile: repeats by expanding") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Ints("r", {1, 2})
                         .Node("Tile", {"x", "r"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%n/reshape: f32[2,1,3] = reshape(%x) {dims=[2,1,3]}
%n/expand: f32[2,2,3] = expand(%n/reshape) {dims=[2,2,3]}
%y: f32[2,6] = reshape(%n/expand) {dims=[2,6]} "n"
output %y
)");
}

TEST_CASE("Tile: before opset 6 repeats one dimension") {
  const auto model = ModelBuilder(5)
                         .Input("x", {2, 2})
                         .Floats("tiles", {}, {2})
                         .Floats("axis", {}, {1})
                         .Node("Tile", {"x", "tiles", "axis"}, {"y"})
                         .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4}}), {1, 2, 1, 2, 3, 4, 3, 4});
}

TEST_CASE("DepthToSpace: depth first") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 8, 2, 3})
                         .Node("DepthToSpace", {"x"}, {"y"})
                         .Set("blocksize", 2)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,8,2,3]
%n/reshape: f32[1,2,2,2,2,3] = reshape(%x) {dims=[1,2,2,2,2,3]}
%n/transpose: f32[1,2,2,2,3,2] = transpose(%n/reshape) {permutation=[0,3,4,1,5,2]}
%y: f32[1,2,4,6] = reshape(%n/transpose) {dims=[1,2,4,6]} "n"
output %y
)");
}

TEST_CASE("DepthToSpace: column first") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 8, 2, 3})
                         .Node("DepthToSpace", {"x"}, {"y"})
                         .Set("blocksize", 2)
                         .Set("mode", "CRD")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,8,2,3]
%n/reshape: f32[1,2,2,2,2,3] = reshape(%x) {dims=[1,2,2,2,2,3]}
%n/transpose: f32[1,2,2,2,3,2] = transpose(%n/reshape) {permutation=[0,1,4,2,5,3]}
%y: f32[1,2,4,6] = reshape(%n/transpose) {dims=[1,2,4,6]} "n"
output %y
)");
}

TEST_CASE("SpaceToDepth: is a transpose between reshapes") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 2, 4, 6})
                         .Node("SpaceToDepth", {"x"}, {"y"})
                         .Set("blocksize", 2)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,4,6]
%n/reshape: f32[1,2,2,2,3,2] = reshape(%x) {dims=[1,2,2,2,3,2]}
%n/transpose: f32[1,2,2,2,2,3] = transpose(%n/reshape) {permutation=[0,3,5,1,2,4]}
%y: f32[1,8,2,3] = reshape(%n/transpose) {dims=[1,8,2,3]} "n"
output %y
)");
}

TEST_CASE("Identity and Dropout: are nothing") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("ratio", {}, {0.5F})
                         .Node("Identity", {"x"}, {"a"})
                         .Node("Dropout", {"a", "ratio"}, {"b", "mask"})
                         .Node("Relu", {"b"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("An input that is passed through is copied to the output") {
  const auto model = ModelBuilder(13).Input("x", {2, 3}).Node("Identity", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = copy(%x)
output %y
)");
}

}  // namespace tenon::converter::test
