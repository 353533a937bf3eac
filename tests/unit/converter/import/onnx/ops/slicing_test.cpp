// Operators that cut and join tensors: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("Slice: attributes before opset 10") {
  const auto model = ModelBuilder(9)
                         .Input("x", {2, 3, 4})
                         .Node("Slice", {"x"}, {"y"})
                         .Set("starts", std::vector<int64_t>{1, -3})
                         .Set("ends", std::vector<int64_t>{2, 9})
                         .Set("axes", std::vector<int64_t>{1, 2})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,1,3] = slice(%x) {begins=[0,1,1], sizes=[2,1,3], steps=[1,1,1]} "n"
output %y
)");
}

TEST_CASE("Slice: a negative step walks back, bounds are cut off") {
  const auto model = ModelBuilder(13)
                         .Input("x", {10})
                         .Ints("st", {100})
                         .Ints("en", {-9223372036854775807})
                         .Ints("ax", {0})
                         .Ints("sp", {-3})
                         .Node("Slice", {"x", "st", "en", "ax", "sp"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[10]
%y: f32[4] = slice(%x) {begins=[9], sizes=[4], steps=[-3]} "n"
output %y
)");
}

TEST_CASE("Slice: of everything is nothing") {
  const auto model = ModelBuilder(9)
                         .Input("x", {2, 3, 4})
                         .Node("Slice", {"x"}, {"c"})
                         .Set("starts", std::vector<int64_t>{0})
                         .Set("ends", std::vector<int64_t>{9223372036854775807})
                         .Node("Relu", {"c"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,3,4] = unary(%x) {function=relu} "n"
output %y
)");
}

TEST_CASE("Slice: can be empty") {
  const auto model = ModelBuilder(9)
                         .Input("x", {4})
                         .Node("Slice", {"x"}, {"y"})
                         .Set("starts", std::vector<int64_t>{3})
                         .Set("ends", std::vector<int64_t>{1})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[4]
%y: f32[0] = slice(%x) {begins=[0], sizes=[0], steps=[1]} "n"
output %y
)");
}

TEST_CASE("Slice: a step of 0 is refused") {
  const auto model = ModelBuilder(13)
                         .Input("x", {10})
                         .Ints("st", {0})
                         .Ints("en", {4})
                         .Ints("ax", {0})
                         .Ints("sp", {0})
                         .Node("Slice", {"x", "st", "en", "ax", "sp"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Slice): a step is 0)");
}

TEST_CASE("Split: equal parts are slices") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 6})
                         .Node("Split", {"x"}, {"y", "z"})
                         .Set("axis", -1)
                         .Output("y")
                         .Output("z");

  CHECK(model.Text() == R"(input %x: f32[2,6]
%y: f32[2,3] = slice(%x) {begins=[0,0], sizes=[2,3], steps=[1,1]} "n"
%z: f32[2,3] = slice(%x) {begins=[0,3], sizes=[2,3], steps=[1,1]} "n"
output %y
output %z
)");
}

TEST_CASE("Split: lengths were an attribute before opset 13") {
  const auto model = ModelBuilder(11)
                         .Input("x", {6})
                         .Node("Split", {"x"}, {"y", "z"})
                         .Set("split", std::vector<int64_t>{2, 4})
                         .Output("y")
                         .Output("z");

  CHECK(model.Text() == R"(input %x: f32[6]
%y: f32[2] = slice(%x) {begins=[0], sizes=[2], steps=[1]} "n"
%z: f32[4] = slice(%x) {begins=[2], sizes=[4], steps=[1]} "n"
output %y
output %z
)");
}

TEST_CASE("Split: a part that nothing reads is not made") {
  const auto model = ModelBuilder(13)
                         .Input("x", {6})
                         .Ints("s", {1, 5})
                         .Node("Split", {"x", "s"}, {"y", "z"})
                         .Output("z");

  CHECK(model.Text() == R"(input %x: f32[6]
%z: f32[5] = slice(%x) {begins=[1], sizes=[5], steps=[1]} "n"
output %z
)");
}

TEST_CASE("Split: uneven parts are allowed since opset 18") {
  const auto model = ModelBuilder(18)
                         .Input("x", {5})
                         .Node("Split", {"x"}, {"y", "z"})
                         .Set("num_outputs", 2)
                         .Output("y")
                         .Output("z");

  CHECK(model.Text() == R"(input %x: f32[5]
%y: f32[3] = slice(%x) {begins=[0], sizes=[3], steps=[1]} "n"
%z: f32[2] = slice(%x) {begins=[3], sizes=[2], steps=[1]} "n"
output %y
output %z
)");
}

TEST_CASE("Split: lengths that do not add up are refused") {
  const auto model = ModelBuilder(11)
                         .Input("x", {6})
                         .Node("Split", {"x"}, {"y", "z"})
                         .Set("split", std::vector<int64_t>{2, 3})
                         .Output("y")
                         .Output("z");

  CHECK(model.Text() ==
        R"(error: node 'n' (Split): its parts do not add up to 6 elements in 2 outputs)");
}

TEST_CASE("Gather: keeps the axis") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Ints("i", {0, -1})
                         .Node("Gather", {"x", "i"}, {"y"})
                         .Set("axis", -1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
const %i: i64[2] = [0, -1]
%y: f32[2,3,2] = gather(%x, %i) {axis=2} "n"
output %y
)");
}

TEST_CASE("Gather: one known index is a slice, whose axis goes if the index has none") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .ScalarInt("i", -1)
                         .Ints("j", {1})
                         .Node("Gather", {"x", "i"}, {"y"})
                         .Set("axis", 1)
                         .Node("Gather", {"x", "j"}, {"z"})
                         .Set("axis", 2)
                         .Output("y")
                         .Output("z");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%n/slice: f32[2,1,4] = slice(%x) {begins=[0,2,0], sizes=[2,1,4], steps=[1,1,1]}
%y: f32[2,4] = reshape(%n/slice) {dims=[2,4]} "n"
%n/slice_2: f32[2,3,1] = slice(%x) {begins=[0,0,1], sizes=[2,3,1], steps=[1,1,1]}
output %y
output %n/slice_2 as "z"
)");
}

TEST_CASE("Concat: joins along its axis") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {2, 1})
                         .Node("Concat", {"x", "z"}, {"y"})
                         .Set("axis", -1)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[2,1]
%y: f32[2,4] = concat(%x, %z) {axis=1} "n"
output %y
)");
}

TEST_CASE("Concat: without an axis is refused") {
  const auto model = ModelBuilder(18)
                         .Input("x", {2, 3})
                         .Input("z", {2, 1})
                         .Node("Concat", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(error: node 'n' (Concat): attribute 'axis' is missing)");
}

TEST_CASE("Pad: attributes before opset 11") {
  const auto model = ModelBuilder(9)
                         .Input("x", {2, 3})
                         .Node("Pad", {"x"}, {"y"})
                         .Set("pads", std::vector<int64_t>{1, 0, 2, -1})
                         .Set("value", 3.0F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[5,2] = pad(%x) {value=3, begins=[1,0], ends=[2,-1]} "n"
output %y
)");
}

TEST_CASE("Pad: inputs since opset 11") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Ints("p", {0, 1, 0, 2})
                         .Node("Pad", {"x", "p"}, {"y"})
                         .Set("mode", "reflect")
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,6] = pad(%x) {mode=reflect, begins=[0,1], ends=[0,2]} "n"
output %y
)");
}

TEST_CASE("Pad: axes since opset 18") {
  const auto model = ModelBuilder(18)
                         .Input("x", {2, 3})
                         .Ints("p", {1, 2})
                         .Ints("a", {-1})
                         .Node("Pad", {"x", "p", "", "a"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,6] = pad(%x) {begins=[0,1], ends=[0,2]} "n"
output %y
)");
}

TEST_CASE("Pad: wrap repeats the other end") {
  const auto model = ModelBuilder(19)
                         .Input("x", {3})
                         .Ints("pads", {4, 2})
                         .Node("Pad", {"x", "pads"}, {"y"})
                         .Set("mode", "wrap")
                         .Output("y");
  CheckClose(Run(model, {{1, 2, 3}}), {3, 1, 2, 3, 1, 2, 3, 1, 2});
}

TEST_CASE("Pad: what negative pads remove is not wrapped") {
  const auto row = ModelBuilder(19)
                       .Input("x", {5})
                       .Ints("pads", {-1, 2})
                       .Node("Pad", {"x", "pads"}, {"y"})
                       .Set("mode", "wrap")
                       .Output("y");
  CheckClose(Run(row, {{1, 2, 3, 4, 5}}), {2, 3, 4, 5, 2, 3});
  const auto matrix = ModelBuilder(19)
                          .Input("x", {2, 3})
                          .Ints("pads", {1, -1, 0, 2})
                          .Node("Pad", {"x", "pads"}, {"y"})
                          .Set("mode", "wrap")
                          .Output("y");
  CheckClose(Run(matrix, {{1, 2, 3, 4, 5, 6}}), {5, 6, 5, 6, 2, 3, 2, 3, 5, 6, 5, 6});
}

TEST_CASE("Pad: wrap that removes more than there is, is refused") {
  const auto model = ModelBuilder(19)
                         .Input("x", {3})
                         .Ints("pads", {-2, -2})
                         .Node("Pad", {"x", "pads"}, {"y"})
                         .Set("mode", "wrap")
                         .Output("y");
  CHECK(model.Text() == "error: node 'n' (Pad): its pads remove 4 of 3 elements");
}

namespace {

/// [1, 2] cast to `type`, with `pads` around it of a value given by its bytes.
template <typename T>
std::vector<T> PaddedWith(int type, T value, const std::vector<int64_t>& pads) {
  auto model = ModelBuilder(13).Input("x", {2}).Ints("pads", pads);
  onnx::TensorProto& constant = *model.graph().add_initializer();
  constant.set_name("value");
  constant.set_data_type(type);
  constant.set_raw_data(&value, sizeof(value));
  model.Node("Cast", {"x"}, {"given"}, "cast").Set("to", type);
  model.Node("Pad", {"given", "pads", "value"}, {"y"}).Output("y", type);
  return Run<T>(model, {{1, 2}});
}

}  // namespace

TEST_CASE("Pad: a value that f32 does not hold is padded as it is") {
  CHECK(PaddedWith<int32_t>(onnx::TensorProto::INT32, 16777217, {1, 0}) ==
        std::vector<int32_t>{16777217, 1, 2});
  CHECK(PaddedWith<int64_t>(onnx::TensorProto::INT64, INT64_MAX, {1, -1}) ==
        std::vector<int64_t>{INT64_MAX, 1});
  CHECK(PaddedWith<double>(onnx::TensorProto::DOUBLE, 0.1, {0, 1}) ==
        std::vector<double>{1, 2, 0.1});
}

TEST_CASE("Pad: of opset 1 has paddings") {
  const auto model = ModelBuilder(1)
                         .Input("x", {2})
                         .Node("Pad", {"x"}, {"y"})
                         .Set("paddings", std::vector<int64_t>{1, 0})
                         .Output("y");
  CheckClose(Run(model, {{1, 2}}), {0, 1, 2});
}

TEST_CASE("Compress: the slices of a known condition, and the elements where no axis is said") {
  for (const bool axis : {false, true}) {
    auto model = ModelBuilder(13)
                     .Input("x", {3, 2})
                     .Ints("c", {0, 1, 1})
                     .Node("Cast", {"c"}, {"b"}, "cast")
                     .Set("to", onnx::TensorProto::BOOL)
                     .Node("Compress", {"x", "b"}, {"y"});
    if (axis) model.Set("axis", 0);
    model.Output("y");
    CheckClose(Run(model, {{1, 2, 3, 4, 5, 6}}), axis ? Floats{3, 4, 5, 6} : Floats{2, 3});
  }
}

TEST_CASE("Compress: a condition that is computed or takes too much is refused") {
  const auto computed = ModelBuilder(13)
                            .Input("x", {2})
                            .Input("c", {2}, onnx::TensorProto::BOOL)
                            .Node("Compress", {"x", "c"}, {"y"})
                            .Output("y");
  CHECK(computed.Text().find("--freeze c=FILE.npy") != std::string::npos);
  const auto beyond = ModelBuilder(13)
                          .Input("x", {2})
                          .Ints("c", {0, 0, 1})
                          .Node("Compress", {"x", "c"}, {"y"})
                          .Output("y");
  CHECK(beyond.Text().find("its condition takes element 2 of 2") != std::string::npos);
}

TEST_CASE("NonZero: a scalar is a row of one element") {
  for (const float value : {3.0F, 0.0F}) {
    const auto model = ModelBuilder(13)
                           .Floats("k", {}, {value})
                           .Node("NonZero", {"k"}, {"y"})
                           .Output("y", onnx::TensorProto::INT64);
    CHECK(Run<int64_t>(model, {}) ==
          (value == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{0}));
  }
}

TEST_CASE("NonZero: places of a known tensor, by dimension") {
  auto model = ModelBuilder(13)
                   .Input("x", {2, 3})
                   .Floats("k", {2, 3}, {0, 1, 0, 2, 0, 3})
                   .Node("NonZero", {"k"}, {"p"}, "places")
                   .Node("Transpose", {"p"}, {"t"}, "turned")
                   .Node("GatherND", {"x", "t"}, {"y"})
                   .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 4, 5, 6}}), {2, 4, 6});
}

TEST_CASE(
    "Slice: going back, the largest number as its end leaves nothing, and a warning says so") {
  const auto warnings = [](int64_t end) {
    auto model = ModelBuilder(13).Input("x", {4}).Ints("s", {3}).Ints("e", {end}).Ints("a", {0});
    model.Ints("p", {-1}).Node("Slice", {"x", "s", "e", "a", "p"}, {"y"}).Output("y");
    std::vector<std::string> said;
    ImportOptions options;
    options.warnings = &said;
    const Result<Graph> graph = model.Import(options);
    REQUIRE(graph.ok());
    const Shape shape = graph->tensor(graph->outputs()[0].tensor).shape;
    CHECK(shape == Shape({end == INT64_MIN ? 4 : 0}));
    return said;
  };
  CHECK(warnings(INT64_MAX).size() == 1);
  CHECK(warnings(INT64_MAX)[0].find("ONNX Runtime takes all") != std::string::npos);
  CHECK(warnings(INT64_MIN).empty());
}

}  // namespace tenon::converter::test
