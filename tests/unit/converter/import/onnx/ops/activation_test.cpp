// Functions of one tensor: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("Relu: is a unary function") {
  const auto model = ModelBuilder(13).Input("x", {2, 3}).Node("Relu", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("LeakyRelu: alpha is 0.01 unless given") {
  const auto model =
      ModelBuilder(13).Input("x", {2, 3}).Node("LeakyRelu", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=leaky_relu, a=0.01} "n"
output %y
)");
}

TEST_CASE("HardSigmoid: alpha and beta become a and b") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("HardSigmoid", {"x"}, {"y"})
                         .Set("beta", 0.25F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=hard_sigmoid, a=0.2, b=0.25} "n"
output %y
)");
}

TEST_CASE("Selu: alpha becomes a, gamma b") {
  const auto model = ModelBuilder(13).Input("x", {2, 3}).Node("Selu", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=selu, a=1.6732632, b=1.050701} "n"
output %y
)");
}

TEST_CASE("Clip: bounds are inputs since opset 11") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("low", {}, {0})
                         .Floats("high", {}, {6})
                         .Node("Clip", {"x", "low", "high"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=clip, b=6} "n"
output %y
)");
}

TEST_CASE("Clip: bounds were attributes before opset 11") {
  const auto model = ModelBuilder(10)
                         .Input("x", {2, 3})
                         .Node("Clip", {"x"}, {"y"})
                         .Set("max", 6.0F)
                         .Set("min", -1.0F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=clip, a=-1, b=6} "n"
output %y
)");
}

TEST_CASE("Clip: a missing bound is infinite") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("high", {}, {6})
                         .Node("Clip", {"x", "", "high"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=clip, a=-inf, b=6} "n"
output %y
)");
}

TEST_CASE("Clip: bounds known only at run time become maximum and minimum") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("low", {})
                         .Input("high", {})
                         .Node("Clip", {"x", "low", "high"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %low: f32[]
input %high: f32[]
%n/binary: f32[2,3] = binary(%x, %low) {function=max}
%y: f32[2,3] = binary(%n/binary, %high) {function=min} "n"
output %y
)");
}

TEST_CASE("Clip: without bounds is nothing") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Clip", {"x"}, {"c"})
                         .Node("Relu", {"c"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("PRelu: is binary") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("slope", {2, 1, 1})
                         .Node("PRelu", {"x", "slope"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %slope: f32[2,1,1] = [1, 2]
%y: f32[1,2,6,6] = binary(%x, %slope) {function=prelu} "n"
output %y
)");
}

TEST_CASE("PRelu: before opset 7 has one slope per channel") {
  const auto model = ModelBuilder(6)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("slope", {2})
                         .Node("PRelu", {"x", "slope"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %slope/reshaped: f32[2,1,1] = [1, 2]
%y: f32[1,2,6,6] = binary(%x, %slope/reshaped) {function=prelu} "n"
output %y
)");
}

TEST_CASE("ThresholdedRelu: selects what lies above alpha") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("ThresholdedRelu", {"x"}, {"y"})
                         .Set("alpha", 2.0F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
const %n/threshold: f32[] = [2]
const %n/zero: f32[] = [0]
%n/binary: bool[2,3] = binary(%x, %n/threshold) {function=greater}
%y: f32[2,3] = select(%n/binary, %x, %n/zero) "n"
output %y
)");
}

TEST_CASE("Celu: with alpha 1 is Elu") {
  const auto model = ModelBuilder(13).Input("x", {2, 3}).Node("Celu", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=elu, a=1} "n"
output %y
)");
}

TEST_CASE("Celu: a negative alpha bends what is negative upwards") {
  const auto model =
      ModelBuilder(13).Input("x", {7}).Node("Celu", {"x"}, {"y"}).Set("alpha", -0.5F).Output("y");
  CheckClose(Run(model, {{-2, -0.6118F, -1e-3F, 0, 1e-3F, 0.7F, 3}}),
             {-26.799074F, -1.1997018F, -0.0010010004F, 0, 1e-3F, 0.7F, 3});
}

TEST_CASE("Cast: before opset 6 names the type") {
  auto model = ModelBuilder(5).Input("x", {2}).Node("Cast", {"x"}, {"y"}).Set("to", "INT32");
  CHECK(model.Output("y", onnx::TensorProto::INT32).Text() == R"(input %x: f32[2]
%y: i32[2] = cast(%x) {to=i32} "n"
output %y
)");
}

TEST_CASE("Cast: converts") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Cast", {"x"}, {"y"})
                         .Set("to", 7)
                         .Output("y", onnx::TensorProto::INT64);

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: i64[2,3] = cast(%x) {to=i64} "n"
output %y
)");
}

TEST_CASE("Cast: to the same type is nothing") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Cast", {"x"}, {"c"})
                         .Set("to", 1)
                         .Node("Relu", {"c"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("Cast: strings are refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Cast", {"x"}, {"y"})
                         .Set("to", 8)
                         .Output("y", onnx::TensorProto::STRING);

  CHECK(model.Text() == R"(error: node 'n' (Cast): element type STRING is not supported)");
}

TEST_CASE("Cast: a number far from every element type is refused by its number") {
  // Numbers of newer types have names: how far this one is from them is no int.
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Cast", {"x"}, {"y"})
                         .Set("to", INT32_MIN)
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Cast): element type -2147483648 is not supported)");
}

TEST_CASE("An attribute that the lowering does not know is refused") {
  const auto model =
      ModelBuilder(18).Input("x", {2, 3}).Node("Relu", {"x"}, {"y"}).Set("slope", 1.0F).Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Relu): attribute 'slope' is not known)");
}

}  // namespace tenon::converter::test
