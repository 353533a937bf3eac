// Unary and binary ops, and the functions fused into others.
#include <doctest/doctest.h>

#include <cmath>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Unary(DType dtype, const UnaryAttributes& attributes) {
  return OpTester(kUnaryRow).Input(dtype, {2, 3}).Infer(attributes);
}

std::string Binary(BinaryFunction function, DType dtype) {
  BinaryAttributes attributes;
  attributes.function = function;
  return OpTester(kBinaryRow).Input(dtype, {2, 1}).Input(dtype, {3}).Infer(attributes);
}

bool IsError(const std::string& answer) { return answer.rfind("error: ", 0) == 0; }

TEST_CASE("Unary: keeps shape and dtype for every float function") {
  for (int32_t i = 0; i < kUnaryFunctionCount; ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    if (function == UnaryFunction::kNot) continue;
    CHECK(Unary(DType::kF16, {function, 0.0F, 1.0F}) == "f16[2,3]");
  }
}

TEST_CASE("Unary: sigmoid and tanh of i16 say how many bits stand before the point") {
  CHECK(Unary(DType::kI16, {UnaryFunction::kSigmoid, 3.0F}) == "i16[2,3]");
  CHECK(Unary(DType::kI16, {UnaryFunction::kTanh, 0.0F}) == "i16[2,3]");
  CHECK(Unary(DType::kI16, {UnaryFunction::kTanh, 6.0F}) == "i16[2,3]");
  for (const float bits : {-1.0F, 7.0F, 2.5F, 1e30F, std::nanf("")}) {
    CHECK(Unary(DType::kI16, {UnaryFunction::kTanh, bits}) ==
          "error: a fixed-point number of i16 has 0 to 6 bits before the point");
  }
  CHECK(Unary(DType::kI16, {UnaryFunction::kSigmoid, 4.0F}) ==
        "error: the sigmoid of i16 takes 3 bits before the point");
  CHECK(Unary(DType::kI32, {UnaryFunction::kTanh, 3.0F}) == "error: tanh does not take this dtype");
}

TEST_CASE("Unary: not is for bool, and bool takes nothing else but identity") {
  for (int32_t i = 0; i < kUnaryFunctionCount; ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    const bool allowed = function == UnaryFunction::kNot || function == UnaryFunction::kIdentity;
    CHECK(IsError(Unary(DType::kBool, {function, 0.0F, 0.0F})) == !allowed);
  }
  CHECK(Unary(DType::kF32, {UnaryFunction::kNot, 0.0F, 0.0F}) ==
        "error: not does not take this dtype");
}

TEST_CASE("Unary: signed integers take what needs no fractions") {
  for (const auto function : {UnaryFunction::kAbs, UnaryFunction::kNeg, UnaryFunction::kSign,
                              UnaryFunction::kRelu, UnaryFunction::kClip}) {
    CHECK(Unary(DType::kI64, {function, 0.0F, 6.0F}) == "i64[2,3]");
    CHECK(IsError(Unary(DType::kU8, {function, 0.0F, 6.0F})));
    CHECK(IsError(Unary(DType::kBf16, {function, 0.0F, 6.0F})));
  }
  CHECK(IsError(Unary(DType::kI32, {UnaryFunction::kSigmoid, 0.0F, 0.0F})));
}

TEST_CASE("Unary: a function out of range is refused") {
  for (const int32_t bad :
       std::initializer_list<int32_t>{-1, kUnaryFunctionCount, INT32_MAX, INT32_MIN}) {
    CHECK(Unary(DType::kF32, {static_cast<UnaryFunction>(bad), 0.0F, 0.0F}) ==
          "error: there is no function " + std::to_string(bad));
  }
}

TEST_CASE("Unary: clip takes infinite bounds, but no NaN") {
  CHECK(Unary(DType::kF32, {UnaryFunction::kClip, -kInfinity, kInfinity}) == "f32[2,3]");
  CHECK(Unary(DType::kF32, {UnaryFunction::kClip, kNan, 1.0F}) ==
        "error: the bounds of a clip must not be NaN");
  CHECK(Unary(DType::kF32, {UnaryFunction::kClip, 0.0F, kNan}) ==
        "error: the bounds of a clip must not be NaN");
}

TEST_CASE("Unary: other parameters must be finite") {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    CHECK(Unary(DType::kF32, {UnaryFunction::kElu, bad, 0.0F}) ==
          "error: the parameters of a function must be finite");
    CHECK(Unary(DType::kF32, {UnaryFunction::kSelu, 1.0F, bad}) ==
          "error: the parameters of a function must be finite");
  }
}

TEST_CASE("Unary: scalars and empty tensors are taken") {
  CHECK(OpTester(kUnaryRow).Input(DType::kF32, {}).Infer() == "f32[]");
  CHECK(OpTester(kUnaryRow).Input(DType::kF32, {0, 4}).Infer() == "f32[0,4]");
}

TEST_CASE("Binary: shapes broadcast from the right") {
  const auto shape = [](const std::vector<int32_t>& x, const std::vector<int32_t>& y) {
    return OpTester(kBinaryRow).Input(DType::kF32, x).Input(DType::kF32, y).Infer();
  };
  CHECK(shape({2, 3}, {2, 3}) == "f32[2,3]");
  CHECK(shape({4, 1, 3}, {5, 1}) == "f32[4,5,3]");
  CHECK(shape({}, {2, 3}) == "f32[2,3]");
  CHECK(shape({0, 3}, {1, 3}) == "f32[0,3]");
  CHECK(shape({2, 3}, {2, 4}) == "error: the operands' shapes do not broadcast");
  CHECK(shape({0, 3}, {2, 3}) == "error: the operands' shapes do not broadcast");
}

TEST_CASE("Binary: an output of 2^31 elements is refused") {
  const OpTester outer =
      OpTester(kBinaryRow).Input(DType::kF32, {32768, 1}).Input(DType::kF32, {65536});
  CHECK(outer.Infer() ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

TEST_CASE("Binary: arithmetic keeps the dtype of floats and integers") {
  for (int32_t i = 0; i < static_cast<int32_t>(BinaryFunction::kEqual); ++i) {
    const auto function = static_cast<BinaryFunction>(i);
    CHECK(Binary(function, DType::kF32) == "f32[2,3]");
    CHECK(Binary(function, DType::kU8) == "u8[2,3]");
    CHECK(IsError(Binary(function, DType::kBool)));
    CHECK(IsError(Binary(function, DType::kBf16)));
  }
}

TEST_CASE("Binary: comparisons give bool") {
  for (const auto function : {BinaryFunction::kLess, BinaryFunction::kLessOrEqual,
                              BinaryFunction::kGreater, BinaryFunction::kGreaterOrEqual}) {
    CHECK(Binary(function, DType::kI64) == "bool[2,3]");
    CHECK(IsError(Binary(function, DType::kBool)));
  }
  CHECK(Binary(BinaryFunction::kEqual, DType::kF16) == "bool[2,3]");
  CHECK(Binary(BinaryFunction::kEqual, DType::kBool) == "bool[2,3]");
}

TEST_CASE("Binary: logic is for bool") {
  for (const auto function : {BinaryFunction::kAnd, BinaryFunction::kOr, BinaryFunction::kXor}) {
    CHECK(Binary(function, DType::kBool) == "bool[2,3]");
    CHECK(IsError(Binary(function, DType::kF32)));
    CHECK(IsError(Binary(function, DType::kI32)));
  }
}

TEST_CASE("Binary: operands have one dtype") {
  CHECK(OpTester(kBinaryRow).Input(DType::kF32, {2}).Input(DType::kF16, {2}).Infer() ==
        "error: both operands must have the same dtype");
}

TEST_CASE("Binary: a function out of range is refused") {
  for (const int32_t bad :
       std::initializer_list<int32_t>{-1, kBinaryFunctionCount, INT32_MAX, INT32_MIN}) {
    CHECK(Binary(static_cast<BinaryFunction>(bad), DType::kF32) ==
          "error: there is no function " + std::to_string(bad));
  }
}

TEST_CASE("Binary: the activation must take the result's dtype") {
  BinaryAttributes attributes;
  attributes.activation.function = UnaryFunction::kRelu;
  const OpTester f32 = OpTester(kBinaryRow).Input(DType::kF32, {2}).Input(DType::kF32, {2});
  const OpTester u8 = OpTester(kBinaryRow).Input(DType::kU8, {2}).Input(DType::kU8, {2});
  CHECK(f32.Infer(attributes) == "f32[2]");
  CHECK(u8.Infer(attributes) == "error: relu does not take this dtype");
  attributes.function = BinaryFunction::kLess;
  CHECK(f32.Infer(attributes) == "error: relu does not take this dtype");
}

}  // namespace
}  // namespace tenon
