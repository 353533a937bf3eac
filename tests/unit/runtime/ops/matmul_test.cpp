#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

OpTester MatMul(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return OpTester(kMatMulRow).Input(kF32, a).Input(kF32, b);
}

TEST_CASE("MatMul: [M, K] by [K, N] gives [M, N]") {
  CHECK(MatMul({2, 3}, {3, 5}).Infer() == "f32[2,5]");
}

TEST_CASE("MatMul: each operand can be transposed") {
  MatMulAttributes attributes;
  attributes.transpose_a = 1;
  CHECK(MatMul({3, 2}, {3, 5}).Infer(attributes) == "f32[2,5]");
  attributes.transpose_b = 1;
  CHECK(MatMul({3, 2}, {5, 3}).Infer(attributes) == "f32[2,5]");
  attributes.transpose_a = 0;
  CHECK(MatMul({2, 3}, {5, 3}).Infer(attributes) == "f32[2,5]");
}

TEST_CASE("MatMul: batch dimensions broadcast") {
  CHECK(MatMul({7, 1, 2, 3}, {4, 3, 5}).Infer() == "f32[7,4,2,5]");
  CHECK(MatMul({7, 2, 3}, {3, 5}).Infer() == "f32[7,2,5]");
  CHECK(MatMul({7, 2, 3}, {4, 3, 5}).Infer() == "error: batch dimensions do not broadcast");
}

TEST_CASE("MatMul: inner dimensions must be equal and not empty") {
  CHECK(MatMul({2, 3}, {4, 5}).Infer() ==
        "error: inner dimensions must be equal and at least 1, not 3 and 4");
  CHECK(MatMul({2, 0}, {0, 5}).Infer() ==
        "error: inner dimensions must be equal and at least 1, not 0 and 0");
}

TEST_CASE("MatMul: vectors are refused") {
  CHECK(MatMul({3}, {3, 5}).Infer() == "error: operands must have rank 2 or more, not 1 and 2");
  CHECK(MatMul({2, 3}, {3}).Infer() == "error: operands must have rank 2 or more, not 2 and 1");
}

TEST_CASE("MatMul: the bias broadcasts to the output, never beyond it") {
  CHECK(MatMul({2, 3}, {3, 5}).Input(kF32, {5}).Infer() == "f32[2,5]");
  CHECK(MatMul({2, 3}, {3, 5}).Input(kF32, {2, 1}).Infer() == "f32[2,5]");
  CHECK(MatMul({2, 3}, {3, 5}).Input(kF32, {}).Infer() == "f32[2,5]");
  CHECK(MatMul({2, 3}, {3, 5}).Input(kF32, {4}).Infer() ==
        "error: the bias does not broadcast to the output");
  CHECK(MatMul({1, 3}, {3, 5}).Input(kF32, {2, 5}).Infer() ==
        "error: the bias does not broadcast to the output");
  CHECK(MatMul({2, 3}, {3, 5}).Input(kF32, {1, 2, 5}).Infer() ==
        "error: the bias does not broadcast to the output");
}

TEST_CASE("MatMul: transpose flags are 0 or 1") {
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 2, INT32_MAX, INT32_MIN}) {
    MatMulAttributes attributes;
    attributes.transpose_a = bad;
    CHECK(MatMul({2, 2}, {2, 2}).Infer(attributes) ==
          "error: transpose_a and transpose_b must be 0 or 1");
    attributes = {};
    attributes.transpose_b = bad;
    CHECK(MatMul({2, 2}, {2, 2}).Infer(attributes) ==
          "error: transpose_a and transpose_b must be 0 or 1");
  }
}

TEST_CASE("MatMul: dtypes are one float type") {
  CHECK(OpTester(kMatMulRow).Input(DType::kI32, {2, 3}).Input(DType::kI32, {3, 5}).Infer() ==
        "error: operands must be f32, f16 or f64");
  CHECK(MatMul({2, 3}, {3, 5}).Input(DType::kF64, {5}).Infer() ==
        "error: input 2 has another dtype than input 0");
}

TEST_CASE("MatMul: b may be stored as f16, or as one i8 matrix with a scale for each column") {
  const auto stored = [](DType b, const std::vector<int32_t>& dims) {
    return OpTester(kMatMulRow).Input(kF32, {2, 4, 3}).Input(b, dims).Input(kF32, {5});
  };
  CHECK(stored(DType::kF16, {3, 5}).Infer() == "f32[2,4,5]");
  CHECK(stored(DType::kF16, {2, 3, 5}).Infer() == "f32[2,4,5]");
  CHECK(stored(DType::kI8, {3, 5}).Input(kF32, {5}).Infer() == "f32[2,4,5]");
  CHECK(stored(DType::kI8, {3, 5}).Infer() == "error: weights of i8 need a scale (input 3)");
  CHECK(stored(DType::kI8, {3, 5}).Input(kF32, {3}).Infer() ==
        "error: input 3 must be a vector of 5 elements of f32");
  CHECK(stored(DType::kI8, {2, 3, 5}).Input(kF32, {5}).Infer() ==
        "error: b with a scale must be one matrix, not of rank 3");
  CHECK(stored(kF32, {3, 5}).Input(kF32, {5}).Infer() ==
        "error: a scale of the weights (input 3) goes with weights of i8 only");
}

TEST_CASE("MatMul: the activation is checked") {
  MatMulAttributes attributes;
  attributes.activation.function = UnaryFunction::kLeakyRelu;
  attributes.activation.a = kNan;
  CHECK(MatMul({2, 3}, {3, 5}).Infer(attributes) ==
        "error: the parameters of a function must be finite");
}

TEST_CASE("MatMul: an output of 2^31 elements is refused") {
  CHECK(MatMul({32768, 1}, {1, 65536}).Infer() ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

}  // namespace
}  // namespace tenon
