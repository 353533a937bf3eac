// Gemm and MatMul: the graphs that ONNX nodes become.
#include <doctest/doctest.h>

#include "tests/unit/converter/import/onnx/model_builder.hpp"

namespace tenon::converter::test {

TEST_CASE("Gemm: transposition, alpha and beta go into constants") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("w", {2, 3})
                         .Floats("c", {2})
                         .Node("Gemm", {"x", "w", "c"}, {"y"})
                         .Set("transB", 1)
                         .Set("alpha", 2.0F)
                         .Set("beta", 0.5F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
const %n/scaled: f32[2,3] = [2, 4, 6, 8, 10, 12]
const %n/scaled_2: f32[2] = [0.5, 1]
%y: f32[2,2] = matmul(%x, %n/scaled, %n/scaled_2) {transpose_b=1} "n"
output %y
)");
}

TEST_CASE("Gemm: alpha is a product where no operand is constant") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Input("z", {3, 2})
                         .Node("Gemm", {"x", "z"}, {"y"})
                         .Set("alpha", 2.0F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
input %z: f32[3,2]
const %n/factor: f32[] = [2]
%n/binary: f32[3,2] = binary(%z, %n/factor) {function=mul}
%y: f32[2,2] = matmul(%x, %n/binary) "n"
output %y
)");
}

TEST_CASE("Gemm: beta of 0 drops the addend") {
  const auto model = ModelBuilder(13)
                         .Input("x", {2, 3})
                         .Floats("w", {3, 2})
                         .Floats("c", {2})
                         .Node("Gemm", {"x", "w", "c"}, {"y"})
                         .Set("beta", 0.0F)
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[2,3]
const %w: f32[3,2] = [1, 2, 3, 4, 5, 6]
%y: f32[2,2] = matmul(%x, %w) "n"
output %y
)");
}

TEST_CASE("MatMul: batches are taken as they are") {
  const auto model = ModelBuilder(13)
                         .Input("x", {4, 2, 3})
                         .Input("z", {3, 5})
                         .Node("MatMul", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[4,2,3]
input %z: f32[3,5]
%y: f32[4,2,5] = matmul(%x, %z) "n"
output %y
)");
}

TEST_CASE("MatMul: a vector on the left is a row") {
  const auto model = ModelBuilder(13)
                         .Input("x", {3})
                         .Input("z", {4, 3, 5})
                         .Node("MatMul", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[3]
input %z: f32[4,3,5]
%n/reshape: f32[1,3] = reshape(%x) {dims=[1,3]}
%n/matmul: f32[4,1,5] = matmul(%n/reshape, %z)
%y: f32[4,5] = reshape(%n/matmul) {dims=[4,5]} "n"
output %y
)");
}

TEST_CASE("MatMul: a vector on the right is a column") {
  const auto model = ModelBuilder(13)
                         .Input("x", {4, 5, 3})
                         .Input("z", {3})
                         .Node("MatMul", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[4,5,3]
input %z: f32[3]
%n/reshape: f32[3,1] = reshape(%z) {dims=[3,1]}
%n/matmul: f32[4,5,1] = matmul(%x, %n/reshape)
%y: f32[4,5] = reshape(%n/matmul) {dims=[4,5]} "n"
output %y
)");
}

TEST_CASE("MatMul: two vectors give a scalar") {
  const auto model = ModelBuilder(13)
                         .Input("x", {3})
                         .Input("z", {3})
                         .Node("MatMul", {"x", "z"}, {"y"})
                         .Output("y");

  CHECK(model.Text() == R"(input %x: f32[3]
input %z: f32[3]
%n/reshape: f32[1,3] = reshape(%x) {dims=[1,3]}
%n/reshape_2: f32[3,1] = reshape(%z) {dims=[3,1]}
%n/matmul: f32[1,1] = matmul(%n/reshape, %n/reshape_2)
%y: f32[] = reshape(%n/matmul) "n"
output %y
)");
}

TEST_CASE("Gemm and MatMul: operands that no kernel multiplies are refused in one way") {
  const auto error = [](const char* op, int type) {
    return ModelBuilder(13)
        .Input("x", {2, 3}, type)
        .Input("z", {3, 2}, type)
        .Node(op, {"x", "z"}, {"y"})
        .Output("y", type)
        .Text();
  };
  for (const char* op : {"Gemm", "MatMul"}) {
    const std::string node = std::string("error: node 'n' (") + op + "): its operands are ";
    const std::string rest = ": only products of f32 and f16 are computed (put a Cast before it)";
    CHECK(error(op, onnx::TensorProto::INT32) == node + "i32" + rest);
    CHECK(error(op, onnx::TensorProto::DOUBLE) == node + "f64" + rest);
  }
}

TEST_CASE("MatMul: sums of no products are 0") {
  ImportOptions options;
  options.shapes["x"] = {2, 0};
  const auto model = ModelBuilder(13)
                         .Input("x", {2, -1})
                         .Floats("w", {0, 3}, {})
                         .Node("MatMul", {"x", "w"}, {"y"})
                         .Output("y");
  CHECK(model.Text(options).find("%y: f32[2,3] = matmul(%n/expand, %n/expand_2)") !=
        std::string::npos);
}

}  // namespace tenon::converter::test
