// Functions of several tensors, and reductions: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("Add: broadcasts") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 1, 3})
                         .Input("z", {4, 1})
                         .Node("Add", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,1,3]
input %z: f32[4,1]
%y: f32[2,4,3] = binary(%x, %z) "n"
output %y
)");
}

TEST_CASE("Add: before opset 7 is aligned by axis") {
  const auto model = ModelBuilder(6)
                         .Input("x", {1, 2, 6, 6})
                         .Input("z", {2})
                         .Node("Add", {"x", "z"}, {"y"})
                         .Set("broadcast", 1)
                         .Set("axis", 1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
input %z: f32[2]
%n/reshape: f32[2,1,1] = reshape(%z) {dims=[2,1,1]}
%y: f32[1,2,6,6] = binary(%x, %n/reshape) "n"
output %y
)");
}

TEST_CASE("Less: gives bool") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {3})
                         .Node("Less", {"x", "z"}, {"y"})
                         .Output("y", onnx::TensorProto::BOOL);

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[3]
%y: bool[2,3] = binary(%x, %z) {function=less} "n"
output %y
)");
}

TEST_CASE("Max: of three is two maxima") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {2, 3})
                         .Input("u", {3})
                         .Node("Max", {"x", "z", "u"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[2,3]
input %u: f32[3]
%n/binary: f32[2,3] = binary(%x, %z) {function=max}
%y: f32[2,3] = binary(%n/binary, %u) {function=max} "n"
output %y
)");
}

TEST_CASE("Mean: divides the sum") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {2, 3})
                         .Node("Mean", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[2,3]
const %n/count: f32[] = [2]
%n/binary: f32[2,3] = binary(%x, %z)
%y: f32[2,3] = binary(%n/binary, %n/count) {function=div} "n"
output %y
)");
}

TEST_CASE("Sum: of one is that one") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("Sum", {"x"}, {"c"})
                         .Node("Relu", {"c"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("Pow: the exponent is cast to the type of the base") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {3}, onnx::TensorProto::INT32)
                         .Node("Pow", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: i32[3]
%n/cast: f32[3] = cast(%z)
%y: f32[2,3] = binary(%x, %n/cast) {function=pow} "n"
output %y
)");
}

TEST_CASE("Mod: fmod keeps the sign of the dividend") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {3})
                         .Node("Mod", {"x", "z"}, {"y"})
                         .Set("fmod", 1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[3]
%y: f32[2,3] = binary(%x, %z) {function=fmod} "n"
output %y
)");
}

TEST_CASE("Mod: of floats without fmod is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {3})
                         .Node("Mod", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Mod): fmod must be 1 for floats)");
}

namespace {

using onnx::TensorProto;

/// `op` of two rows that are cast to `type` first, its results as `T`.
template <typename T>
std::vector<T> OfType(int type, const char* op, const Floats& a, const Floats& b,
                      const char* direction = nullptr) {
  const auto size = static_cast<int64_t>(a.size());
  auto model = ModelBuilder(13).Input("a", {size}).Input("b", {size});
  model.Node("Cast", {"a"}, {"x"}, "one").Set("to", type);
  model.Node("Cast", {"b"}, {"y"}, "other").Set("to", type);
  model.Node(op, {"x", "y"}, {"z"});
  if (direction != nullptr) model.Set("direction", direction);
  model.Output("z", static_cast<onnx::TensorProto::DataType>(type));
  return Run<T>(model, {a, b});
}

}  // namespace

TEST_CASE("Integers that no kernel computes with are computed in more bits") {
  CHECK(OfType<uint16_t>(TensorProto::UINT16, "Max", {1, 65535}, {2, 7}) ==
        std::vector<uint16_t>{2, 65535});
  CHECK(OfType<int16_t>(TensorProto::INT16, "Mod", {-7, 7}, {3, -3}) ==
        std::vector<int16_t>{2, -2});
  CHECK(OfType<uint16_t>(TensorProto::UINT16, "Add", {65535, 1}, {2, 7}) ==
        std::vector<uint16_t>{1, 8});
  CHECK(OfType<uint32_t>(TensorProto::UINT32, "Div", {4e9F, 9}, {2, 4}) ==
        std::vector<uint32_t>{2000000000U, 2});
  constexpr uint64_t kTop = uint64_t{1} << 63;
  CHECK(OfType<uint64_t>(TensorProto::UINT64, "Max", {9223372036854775808.0F, 3}, {5, 4}) ==
        std::vector<uint64_t>{kTop, 4});
  CHECK(OfType<uint64_t>(TensorProto::UINT64, "Min", {9223372036854775808.0F, 3}, {5, 4}) ==
        std::vector<uint64_t>{5, 3});
}

namespace {

/// Powers of integers of `type` by an exponent of floats, which is a constant or not.
template <typename T>
std::vector<T> Powers(int type, const Floats& x, float exponent, bool constant) {
  auto model = ModelBuilder(13).Input("a", {static_cast<int64_t>(x.size())});
  if (constant) {
    model.Floats("e", {}, {exponent});
  } else {
    model.Input("e", {});
  }
  model.Node("Cast", {"a"}, {"x"}, "cast").Set("to", type);
  model.Node("Pow", {"x", "e"}, {"y"}).Output("y", type);
  return constant ? Run<T>(model, {x}) : Run<T>(model, {x, {exponent}});
}

}  // namespace

TEST_CASE("Pow: of integers by floats is as exact as f64, by whole constants as integers") {
  for (const bool constant : {true, false}) {
    CHECK(Powers<int32_t>(TensorProto::INT32, {10001, -7, 0}, 2, constant) ==
          std::vector<int32_t>{100020001, 49, 0});
    CHECK(Powers<int32_t>(TensorProto::INT32, {10001, 4, 9}, 1.5F, constant) ==
          std::vector<int32_t>{1000150, 8, 27});
    CHECK(Powers<int32_t>(TensorProto::INT32, {2, 1, -1}, -1, constant) ==
          std::vector<int32_t>{0, 1, -1});
    CHECK(Powers<uint8_t>(TensorProto::UINT8, {3, 1}, 4, constant) == std::vector<uint8_t>{81, 1});
  }
  // More digits than f64 has.
  CHECK(Powers<int64_t>(TensorProto::INT64, {1000003}, 3, true) ==
        std::vector<int64_t>{1000009000027000027});
}

TEST_CASE("Shrink: of integers compares and shifts in floats") {
  const auto shrunk = [](int type, const Floats& x, float lambda, float bias) {
    auto model = ModelBuilder(13).Input("a", {static_cast<int64_t>(x.size())});
    model.Node("Cast", {"a"}, {"x"}, "cast").Set("to", type);
    model.Node("Shrink", {"x"}, {"z"}).Set("lambd", lambda).Set("bias", bias);
    model.Node("Cast", {"z"}, {"y"}, "back").Set("to", TensorProto::FLOAT);
    return Run(model.Output("y"), {x});
  };
  CHECK(shrunk(TensorProto::UINT8, {0, 1, 2, 3, 200}, 1.5F, 1) == Floats{0, 0, 1, 2, 199});
  CHECK(shrunk(TensorProto::INT32, {0, 1, 2, 3, -200}, 1.5F, 1.5F) == Floats{0, 0, 0, 1, -198});
  CHECK(shrunk(TensorProto::INT8, {0, 1, 2, 3, -100}, -1.5F, 0.5F) == Floats{0, 1, 1, 2, -99});
}

TEST_CASE("BitShift: wide shifts of 16 and 32 bits leave nothing") {
  CHECK(OfType<uint16_t>(TensorProto::UINT16, "BitShift", {3, 3, 3}, {2, 15, 16}, "LEFT") ==
        std::vector<uint16_t>{12, 32768, 0});
  CHECK(OfType<uint16_t>(TensorProto::UINT16, "BitShift", {65535, 65535}, {8, 16}, "RIGHT") ==
        std::vector<uint16_t>{255, 0});
  CHECK(OfType<uint32_t>(TensorProto::UINT32, "BitShift", {3, 3, 3}, {31, 32, 40}, "LEFT") ==
        std::vector<uint32_t>{0x80000000U, 0, 0});
  CHECK(OfType<uint32_t>(TensorProto::UINT32, "BitShift", {4e9F, 4e9F}, {31, 32}, "RIGHT") ==
        std::vector<uint32_t>{1, 0});
}

TEST_CASE("Where: is a selection") {
  const auto model = ModelBuilder(13)
                         .Input("c", {2, 3}, onnx::TensorProto::BOOL)
                         .Input("x", {2, 3})
                         .Input("z", {3})
                         .Node("Where", {"c", "x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %c: bool[2,3]
input %x: f32[2,3]
input %z: f32[3]
%y: f32[2,3] = select(%c, %x, %z) "n"
output %y
)");
}

TEST_CASE("Operands that do not broadcast are refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {4})
                         .Node("Mul", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(
      model.Text() ==
      R"(error: node 'n' (Mul): binary "n": the operands' shapes do not broadcast (f32[2,3] and f32[4]))");
}

TEST_CASE("ReduceMean: axes are an attribute before opset 18") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("ReduceMean", {"x"}, {"y"})
                         .Set("axes", std::vector<int64_t>{-1, 0})
                         .Set("keepdims", 0)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[3] = reduce(%x) {function=mean, axes_mask=5, keep_dims=0} "n"
output %y
)");
}

TEST_CASE("ReduceL1 and ReduceSumSquare: of integers, integers") {
  const auto run = [](const char* op) {
    auto model = ModelBuilder(13)
                     .Input("x", {2, 2})
                     .Node("Cast", {"x"}, {"i"}, "a")
                     .Set("to", TensorProto::INT32)
                     .Node(op, {"i"}, {"s"}, "b")
                     .Set("axes", std::vector<int64_t>{1})
                     .Set("keepdims", 0)
                     .Node("Cast", {"s"}, {"y"}, "c")
                     .Set("to", TensorProto::FLOAT);
    return Run(model.Output("y"), {{-1, 2, 3, -4}});
  };
  CHECK(run("ReduceL1") == std::vector<float>{3, 7});
  CHECK(run("ReduceSumSquare") == std::vector<float>{5, 25});
}

TEST_CASE("ReduceMax and ReduceMin: of bools, whether any is or all are true") {
  const auto run = [](const char* op) {
    auto model = ModelBuilder(20)
                     .Input("x", {3, 2})
                     .Ints("a", {1})
                     .Node("Cast", {"x"}, {"b"}, "a")
                     .Set("to", TensorProto::BOOL)
                     .Node(op, {"b", "a"}, {"r"}, "b")
                     .Set("keepdims", 0)
                     .Node("Cast", {"r"}, {"y"}, "c")
                     .Set("to", TensorProto::FLOAT);
    return Run(model.Output("y"), {{1, 0, 0, 0, 2, 3}});
  };
  CHECK(run("ReduceMax") == std::vector<float>{1, 0, 1});
  CHECK(run("ReduceMin") == std::vector<float>{0, 0, 1});
}

TEST_CASE("ReduceMean: axes are an input since opset 18") {
  const auto model = ModelBuilder(18)
                         .Input("x", {2, 3, 4})
                         .Ints("axes", {1})
                         .Node("ReduceMean", {"x", "axes"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,1,4] = reduce(%x) {function=mean, axes_mask=2} "n"
output %y
)");
}

TEST_CASE("ReduceSum: axes are an input since opset 13") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Ints("axes", {1})
                         .Node("ReduceSum", {"x", "axes"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,1,4] = reduce(%x) {axes_mask=2} "n"
output %y
)");
}

TEST_CASE("CumSum: takes its axis from a constant input") {
  const auto model = ModelBuilder(14)
                         .Input("x", {2, 3, 4})
                         .Ints("axis", {-1})
                         .Node("CumSum", {"x", "axis"}, {"y"})
                         .Set("reverse", 1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,3,4] = cum_sum(%x) {axis=2, reverse=1} "n"
output %y
)");
}

TEST_CASE("CumSum: an axis that is not one constant is refused") {
  const auto two = ModelBuilder(14)
                       .Input("x", {2, 3})
                       .Ints("axis", {0, 1})
                       .Node("CumSum", {"x", "axis"}, {"y"})
                       .Output("y");
  CHECK(two.Text() == "error: node 'n' (CumSum): axis has 2 elements instead of 1");
}

TEST_CASE("Atan: is a function of one tensor") {
  const auto model = ModelBuilder(7).Input("x", {2}).Node("Atan", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2]
%y: f32[2] = unary(%x) {function=atan} "n"
output %y
)");
}

TEST_CASE("ReduceSum: no axes are all axes") {
  const auto model =
      ModelBuilder(13).Input("x", {2, 3}).Node("ReduceSum", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[1,1] = reduce(%x) {axes_mask=3} "n"
output %y
)");
}

TEST_CASE("ReduceSum: no axes are nothing with noop_with_empty_axes") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("ReduceSum", {"x"}, {"c"})
                         .Set("noop_with_empty_axes", 1)
                         .Node("Relu", {"c"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("ReduceMax: an axis out of range is refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {2, 3})
                         .Node("ReduceMax", {"x"}, {"y"})
                         .Set("axes", std::vector<int64_t>{2})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (ReduceMax): axis 2 is out of range for 2 dimensions)");
}

}  // namespace tenon::converter::test
