#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/dynamic_range.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

OpTester DynamicMatMul(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return OpTester(kDynamicMatMulRow).Input(kF32, a).Input(kI8, b);
}

TEST_CASE("DynamicMatMul: the columns of b take the place of the last dimension") {
  CHECK(DynamicMatMul({5, 3}, {3, 7}).Absent().Input(kF32, {1}).Infer() == "f32[5,7]");
  CHECK(DynamicMatMul({2, 0, 5, 3}, {3, 7}).Input(kF32, {5, 1}).Input(kF32, {7}).Infer() ==
        "f32[2,0,5,7]");
  CHECK(DynamicMatMul({5, 3}, {3, 7}).Absent().Input(kF32, {7}).Input(kI8, {7}).Infer() ==
        "f32[5,7]");
}

TEST_CASE("DynamicMatMul: refuses other ranks, depths and dtypes") {
  const auto infer = [](OpTester op) { return op.Absent().Input(kF32, {1}).Infer(); };
  CHECK(infer(DynamicMatMul({3}, {3, 7})) ==
        "error: a must have rank 2 or more, and b rank 2, not 1 and 2");
  CHECK(infer(DynamicMatMul({5, 3}, {1, 3, 7})) ==
        "error: a must have rank 2 or more, and b rank 2, not 2 and 3");
  CHECK(infer(DynamicMatMul({5, 3}, {4, 7})) ==
        "error: inner dimensions must be equal and at least 1, not 3 and 4");
  CHECK(infer(DynamicMatMul({5, 0}, {0, 7})) ==
        "error: inner dimensions must be equal and at least 1, not 0 and 0");
  CHECK(infer(OpTester(kDynamicMatMulRow).Input(DType::kF64, {5, 3}).Input(kI8, {3, 7})) ==
        "error: a must be f32, and b i8 or u8");
  CHECK(infer(OpTester(kDynamicMatMulRow).Input(kF32, {5, 3}).Input(kF32, {3, 7})) ==
        "error: a must be f32, and b i8 or u8");
}

TEST_CASE(
    "DynamicMatMul: scale and zero point are one or one for each column, and of their types") {
  const OpTester op = DynamicMatMul({5, 3}, {3, 7}).Absent();
  CHECK(OpTester(op).Infer() == "error: b needs a scale (input 3)");
  CHECK(OpTester(op).Input(kF32, {3}).Infer().find("error") == 0);
  CHECK(OpTester(op).Input(DType::kF16, {1}).Infer() == "error: input 3 has the wrong dtype");
  CHECK(OpTester(op).Input(kF32, {1}).Input(DType::kU8, {1}).Infer() ==
        "error: input 4 has the wrong dtype");
  CHECK(OpTester(op).Input(kF32, {1}).Input(kI8, {2}).Infer().find("error") == 0);
}

TEST_CASE("DynamicMatMul: the bias is f32 and broadcasts to the output") {
  const char* const refusal = "error: the bias must be f32 and broadcast to the output";
  const OpTester op = DynamicMatMul({5, 3}, {3, 7});
  CHECK(OpTester(op).Input(kF32, {3}).Input(kF32, {1}).Infer() == refusal);
  CHECK(OpTester(op).Input(kF32, {1, 5, 7}).Input(kF32, {1}).Infer() == refusal);
  CHECK(OpTester(op).Input(DType::kF64, {7}).Input(kF32, {1}).Infer() == refusal);
}

TEST_CASE("DynamicRange: as DynamicQuantizeLinear defines it") {
  // The example of ONNX's text.
  DynamicRange range = DynamicRangeOf(-2.5F, 3.0F);
  CHECK(range.scale == 5.5F / 255.0F);
  CHECK(range.zero_point == 116);
  CHECK(QuantizeByRange(0.0F, range) == 116);
  CHECK(QuantizeByRange(-2.5F, range) == 0);
  CHECK(QuantizeByRange(3.0F, range) == 255);
  CHECK(QuantizeByRange(kNan, range) == 116);
  range = DynamicRangeOf(0.0F, 0.0F);
  CHECK(range.scale == 1.0F);
  CHECK(range.zero_point == 0);
  CHECK(DynamicRangeOf(-4.0F, 0.0F).zero_point == 255);
  CHECK(DynamicRangeOf(0.0F, 4.0F).zero_point == 0);
  CHECK(DynamicRangeOf(-kInfinity, kInfinity).zero_point == 0);
}

}  // namespace
}  // namespace tenon
