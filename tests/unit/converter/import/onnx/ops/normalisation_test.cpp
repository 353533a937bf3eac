// Normalisations and softmax: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "tests/unit/converter/import/onnx/evaluate.hpp"
#include "tests/unit/converter/import/onnx/run_model.hpp"

namespace tenon::converter::test {

TEST_CASE("BatchNormalization: is one product and one sum per channel") {
  const auto model = ModelBuilder(15)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("s", {2}, {1, 2})
                         .Floats("b", {2}, {0, 1})
                         .Floats("m", {2}, {4, 8})
                         .Floats("v", {2}, {3, 15})
                         .Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
                         .Set("epsilon", 1.0F)
                         .Set("momentum", 0.9F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %n/scale: f32[2,1,1] = [0.5, 0.5]
const %n/shift: f32[2,1,1] = [-2, -3]
%n/binary: f32[1,2,6,6] = binary(%x, %n/scale) {function=mul}
%y: f32[1,2,6,6] = binary(%n/binary, %n/shift) "n"
output %y
)");
}

TEST_CASE("BatchNormalization: training normalises by the batch, and moves the running values") {
  const auto model = ModelBuilder(15)
                         .Input("x", {4, 2})
                         .Floats("s", {2}, {1, 2})
                         .Floats("b", {2}, {0, 1})
                         .Floats("m", {2}, {4, 8})
                         .Floats("v", {2}, {3, 15})
                         .Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y", "rm", "rv"})
                         .Set("epsilon", 1.0F)
                         .Set("momentum", 0.75F)
                         .Set("training_mode", 1)
                         .Output("y")
                         .Output("rm")
                         .Output("rv");

  const Result<Graph> graph = model.Import();
  REQUIRE(graph.ok());
  // Columns (0, 2, 4, 6) and (1, 1, 1, 1): means 3 and 1, variances 5 and 0.
  const std::vector<float> x = {0, 1, 2, 1, 4, 1, 6, 1};
  std::vector<TensorId> wanted;
  for (const auto& port : graph->outputs()) wanted.push_back(port.tensor);
  const auto* bytes = reinterpret_cast<const std::byte*>(x.data());
  Values values = {{graph->inputs()[0].tensor, {bytes, bytes + x.size() * sizeof(float)}}};
  REQUIRE(Evaluate(*graph, wanted, values).ok());
  const auto value = [&](size_t output, size_t i) {
    float at = 0;
    std::memcpy(&at, values.at(wanted[output]).data() + i * sizeof at, sizeof at);
    return at;
  };

  CHECK(value(0, 0) == doctest::Approx(-3 / std::sqrt(6.0)));
  CHECK(value(0, 6) == doctest::Approx(3 / std::sqrt(6.0)));
  CHECK(value(0, 7) == doctest::Approx(1));
  CHECK(value(1, 0) == doctest::Approx(4 * 0.75 + 3 * 0.25));
  CHECK(value(1, 1) == doctest::Approx(8 * 0.75 + 1 * 0.25));
  CHECK(value(2, 0) == doctest::Approx(3 * 0.75 + 5 * 0.25));
  CHECK(value(2, 1) == doctest::Approx(15 * 0.75));
}

TEST_CASE("BatchNormalization: a wrong number of channels is refused") {
  const auto model = ModelBuilder(15)
                         .Input("x", {1, 3, 4, 4})
                         .Floats("s", {2}, {1, 2})
                         .Floats("b", {2}, {0, 1})
                         .Floats("m", {2}, {4, 8})
                         .Floats("v", {2}, {3, 15})
                         .Node("BatchNormalization", {"x", "s", "b", "m", "v"}, {"y"})
                         .Output("y");

  CHECK(model.Text() ==
        R"(error: node 'n' (BatchNormalization): its input 1 has 2 values for 3 channels)");
}

TEST_CASE("InstanceNormalization: is put together from reductions") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 2, 6, 6})
                         .Floats("s", {2})
                         .Floats("b", {2})
                         .Node("InstanceNormalization", {"x", "s", "b"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
const %n/epsilon: f32[] = [1e-05]
const %s/reshaped: f32[2,1,1] = [1, 2]
const %b/reshaped: f32[2,1,1] = [1, 2]
%n/reduce: f32[1,2,1,1] = reduce(%x) {function=mean, axes_mask=12}
%n/binary: f32[1,2,6,6] = binary(%x, %n/reduce) {function=sub}
%n/binary_2: f32[1,2,6,6] = binary(%n/binary, %n/binary) {function=mul}
%n/reduce_2: f32[1,2,1,1] = reduce(%n/binary_2) {function=mean, axes_mask=12}
%n/binary_3: f32[1,2,1,1] = binary(%n/reduce_2, %n/epsilon)
%n/unary: f32[1,2,1,1] = unary(%n/binary_3) {function=sqrt}
%n/binary_4: f32[1,2,6,6] = binary(%n/binary, %n/unary) {function=div}
%n/binary_5: f32[1,2,6,6] = binary(%n/binary_4, %s/reshaped) {function=mul}
%y: f32[1,2,6,6] = binary(%n/binary_5, %b/reshaped) "n"
output %y
)");
}

TEST_CASE("GroupNormalization: may say the type of its statistics since opset 21") {
  const auto model = ModelBuilder(21)
                         .Input("x", {1, 2, 2})
                         .Floats("s", {2}, {1, 2})
                         .Floats("b", {2}, {0, 1})
                         .Node("GroupNormalization", {"x", "s", "b"}, {"y"})
                         .Set("num_groups", 1)
                         .Set("stash_type", 1)
                         .Output("y");
  CheckClose(Run(model, {{1, 2, 3, 6}}), {-1.0690434F, -0.5345217F, 1.0F, 4.2071304F});
}

TEST_CASE("LayerNormalization: reduces over the last dimensions") {
  const auto model = ModelBuilder(17)
                         .Input("x", {2, 3, 4})
                         .Floats("s", {4})
                         .Floats("b", {4})
                         .Node("LayerNormalization", {"x", "s", "b"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
const %s: f32[4] = [1, 2, 3, 4]
const %n/epsilon: f32[] = [1e-05]
const %b: f32[4] = [1, 2, 3, 4]
%n/reduce: f32[2,3,1] = reduce(%x) {function=mean, axes_mask=4}
%n/binary: f32[2,3,4] = binary(%x, %n/reduce) {function=sub}
%n/binary_2: f32[2,3,4] = binary(%n/binary, %n/binary) {function=mul}
%n/reduce_2: f32[2,3,1] = reduce(%n/binary_2) {function=mean, axes_mask=4}
%n/binary_3: f32[2,3,1] = binary(%n/reduce_2, %n/epsilon)
%n/unary: f32[2,3,1] = unary(%n/binary_3) {function=sqrt}
%n/binary_4: f32[2,3,4] = binary(%n/binary, %n/unary) {function=div}
%n/binary_5: f32[2,3,4] = binary(%n/binary_4, %s) {function=mul}
%y: f32[2,3,4] = binary(%n/binary_5, %b) "n"
output %y
)");
}

TEST_CASE("LayerNormalization: half precision is normalised in single precision") {
  const auto model = ModelBuilder(17)
                         .Input("x", {2, 4}, onnx::TensorProto::FLOAT16)
                         .Input("s", {4}, onnx::TensorProto::FLOAT16)
                         .Node("LayerNormalization", {"x", "s"}, {"y"})
                         .Output("y", onnx::TensorProto::FLOAT16);

  CHECK(model.Text() == R"(input %x: f16[2,4]
input %s: f16[4]
const %n/epsilon: f32[] = [1e-05]
%n/cast: f32[2,4] = cast(%x)
%n/reduce: f32[2,1] = reduce(%n/cast) {function=mean, axes_mask=2}
%n/binary: f32[2,4] = binary(%n/cast, %n/reduce) {function=sub}
%n/binary_2: f32[2,4] = binary(%n/binary, %n/binary) {function=mul}
%n/reduce_2: f32[2,1] = reduce(%n/binary_2) {function=mean, axes_mask=2}
%n/binary_3: f32[2,1] = binary(%n/reduce_2, %n/epsilon)
%n/unary: f32[2,1] = unary(%n/binary_3) {function=sqrt}
%n/binary_4: f32[2,4] = binary(%n/binary, %n/unary) {function=div}
%n/cast_2: f16[2,4] = cast(%n/binary_4) {to=f16}
%y: f16[2,4] = binary(%n/cast_2, %s) {function=mul} "n"
output %y
)");
}

TEST_CASE("LpNormalization: divides by the norm along its axis, unless that is 0") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Node("LpNormalization", {"x"}, {"y"})
                         .Set("p", 1)
                         .Set("axis", 0)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
const %n/zero: f32[] = [0]
const %n/one: f32[] = [1]
%n/reduce: f32[1,3] = reduce(%x) {function=l1, axes_mask=1}
%n/binary: bool[1,3] = binary(%n/reduce, %n/zero) {function=equal}
%n/select: f32[1,3] = select(%n/binary, %n/one, %n/reduce)
%y: f32[2,3] = binary(%x, %n/select) {function=div} "n"
output %y
)");
}

TEST_CASE("LRN: attributes are taken over") {
  const auto model = ModelBuilder(13)
                         .Input("x", {1, 2, 6, 6})
                         .Node("LRN", {"x"}, {"y"})
                         .Set("size", 3)
                         .Set("alpha", 0.5F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[1,2,6,6]
%y: f32[1,2,6,6] = lrn(%x) {size=3, alpha=0.5} "n"
output %y
)");
}

TEST_CASE("Softmax: of opset 13 has one axis") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3, 4})
                         .Node("Softmax", {"x"}, {"y"})
                         .Set("axis", -2)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%y: f32[2,3,4] = softmax(%x) {axis=1} "n"
output %y
)");
}

TEST_CASE("Softmax: before opset 13 flattens to a matrix") {
  const auto model =
      ModelBuilder(11).Input("x", {2, 3, 4}).Node("Softmax", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,4]
%n/reshape: f32[2,12] = reshape(%x) {dims=[2,12]}
%n/softmax: f32[2,12] = softmax(%n/reshape) {axis=1}
%y: f32[2,3,4] = reshape(%n/softmax) {dims=[2,3,4]} "n"
output %y
)");
}

TEST_CASE("Softmax: before opset 13 needs no matrix where one dimension holds all columns") {
  const auto model =
      ModelBuilder(7).Input("x", {2, 3, 1, 1}).Node("Softmax", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3,1,1]
%y: f32[2,3,1,1] = softmax(%x) {axis=1} "n"
output %y
)");
}

TEST_CASE("LogSoftmax: is a softmax with a logarithm") {
  const auto model =
      ModelBuilder(13).Input("x", {2, 3}).Node("LogSoftmax", {"x"}, {"y"}).Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
%y: f32[2,3] = softmax(%x) {axis=1, log=1} "n"
output %y
)");
}

TEST_CASE("Softmax and Hardmax: of nothing are nothing") {
  for (const char* op : {"Softmax", "LogSoftmax", "Hardmax"}) {
    ImportOptions options;
    options.shapes["x"] = {2, 0};
    const auto model =
        ModelBuilder(13).Input("x", {2, -1}).Node(op, {"x"}, {"y"}).Set("axis", 1).Output("y");
    CHECK(model.Text(options) == "input %x: f32[2,0]\n%y: f32[2,0] = copy(%x)\noutput %y\n");
  }
}

}  // namespace tenon::converter::test
