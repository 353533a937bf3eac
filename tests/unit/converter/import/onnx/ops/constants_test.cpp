// Operators known at conversion: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {

TEST_CASE("Constant: numbers of every form") {
  const auto model = ModelBuilder(13)
                         .Node("Constant", {}, {"a"})
                         .Set("value_float", 1.5F)
                         .Node("Constant", {}, {"b"})
                         .Set("value_floats", std::vector<float>{2, 3})
                         .Node("Add", {"a", "b"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(const %a: f32[] = [1.5]
const %b: f32[2] = [2, 3]
%y: f32[2] = binary(%a, %b) "n"
output %y
)");
}

TEST_CASE("Constant: integers of every form") {
  const auto model = ModelBuilder(13)
                         .Node("Constant", {}, {"a"})
                         .Set("value_int", 4)
                         .Node("Constant", {}, {"b"})
                         .Set("value_ints", std::vector<int64_t>{5, 6})
                         .Node("Add", {"a", "b"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(const %a: i64[] = [4]
const %b: i64[2] = [5, 6]
%y: i64[2] = binary(%a, %b) "n"
output %y
)");
}

TEST_CASE("Constant: text is refused") {
  const auto model = ModelBuilder(13)
                         .Node("Constant", {}, {"y"})
                         .Set("value_string", "a")
                         .Output("y", onnx::TensorProto::STRING);

  CHECK(model.Text() == R"(error: node 'n' (Constant): only numbers are supported as its value)");
}

TEST_CASE("Shape: is a constant") {
  const auto model = ModelBuilder(15)
                         .Input("x", {2, 3, 4})
                         .Node("Shape", {"x"}, {"y"})
                         .Set("start", -2)
                         .Set("end", 3)
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
const %y: i64[2] = [3, 4]
%y/copy: i64[2] = copy(%y)
output %y/copy as "y"
)");
}

TEST_CASE("Size: is a constant") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("Size", {"x"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
const %y: i64[] = [24]
%y/copy: i64[] = copy(%y)
output %y/copy as "y"
)");
}

TEST_CASE("Range: counts") {
  const auto model = ModelBuilder(13)
                         .ScalarInt("a", 7)
                         .ScalarInt("b", 0)
                         .ScalarInt("d", -3)
                         .Node("Range", {"a", "b", "d"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(const %y: i64[3] = [7, 4, 1]
%y/copy: i64[3] = copy(%y)
output %y/copy as "y"
)");
}

TEST_CASE("Range: that never ends is refused") {
  const auto model = ModelBuilder(13)
                         .ScalarInt("a", 7)
                         .ScalarInt("b", 0)
                         .ScalarInt("d", 0)
                         .Node("Range", {"a", "b", "d"}, {"y"})
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(error: node 'n' (Range): its delta is 0)");
}

TEST_CASE("ConstantOfShape: small ones are stored") {
  const auto model =
      ModelBuilder(13).Ints("s", {2, 2}).Node("ConstantOfShape", {"s"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(const %y: f32[2,2] = [0, 0, 0, 0]
%y/copy: f32[2,2] = copy(%y)
output %y/copy as "y"
)");
}

TEST_CASE("ConstantOfShape: large ones are expanded, not stored") {
  const auto model = ModelBuilder(13)
                         .Ints("s", {1000, 1000, 1000})
                         .Node("ConstantOfShape", {"s"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(const %n/value: f32[] = [0]
%y: f32[1000,1000,1000] = expand(%n/value) {dims=[1000,1000,1000]} "n"
output %y
)");
}

}  // namespace tenon::converter::test
