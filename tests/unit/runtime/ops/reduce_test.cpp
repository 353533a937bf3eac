#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Reduce(const std::vector<int32_t>& x, const ReduceAttributes& attributes,
                   DType dtype = DType::kF32) {
  return OpTester(kReduceRow).Input(dtype, x).Infer(attributes);
}

TEST_CASE("Reduce: axes become 1 or go") {
  CHECK(Reduce({2, 3, 4}, {ReduceFunction::kMean, 0b101, 1}) == "f32[1,3,1]");
  CHECK(Reduce({2, 3, 4}, {ReduceFunction::kMean, 0b101, 0}) == "f32[3]");
  CHECK(Reduce({2, 3, 4}, {ReduceFunction::kMean, 0b111, 0}) == "f32[]");
  CHECK(Reduce({2, 3, 4}, {ReduceFunction::kMean, 0, 0}) == "f32[2,3,4]");
}

TEST_CASE("Reduce: all eight axes can be named") {
  CHECK(Reduce({1, 1, 1, 1, 1, 1, 1, 2}, {ReduceFunction::kSum, 0xFF, 0}) == "f32[]");
}

TEST_CASE("Reduce: axes that are not there are refused") {
  CHECK(Reduce({2, 3}, {ReduceFunction::kSum, 0b100, 1}) ==
        "error: axes_mask 4 names axes that a tensor of rank 2 does not have");
  CHECK(Reduce({2, 3}, {ReduceFunction::kSum, -1, 1}) ==
        "error: axes_mask -1 names axes that a tensor of rank 2 does not have");
  CHECK(Reduce({}, {ReduceFunction::kSum, 1, 1}) ==
        "error: axes_mask 1 names axes that a tensor of rank 0 does not have");
}

TEST_CASE("Reduce: maximum, minimum and mean of nothing are refused, sums are not") {
  for (const auto function : {ReduceFunction::kMax, ReduceFunction::kMin, ReduceFunction::kMean}) {
    CHECK(Reduce({2, 0}, {function, 0b10, 1}) == "error: axis 1 has no elements to reduce");
    CHECK(Reduce({2, 0}, {function, 0b01, 1}) == "f32[1,0]");
  }
  CHECK(Reduce({2, 0}, {ReduceFunction::kSum, 0b10, 1}) == "f32[2,1]");
}

TEST_CASE("Reduce: integers take what stays an integer") {
  for (int32_t i = 0; i < kReduceFunctionCount; ++i) {
    const auto function = static_cast<ReduceFunction>(i);
    const std::string expected =
        function <= ReduceFunction::kProd
            ? "i64[1]"
            : "error: " + std::string(kReduceFunctionNames[i]) + " does not take this dtype";
    CHECK(Reduce({3}, {function, 1, 1}, DType::kI64) == expected);
    CHECK(Reduce({3}, {function, 1, 1}, DType::kF64) == "f64[1]");
  }
}

TEST_CASE("Reduce: bool and bf16 are refused") {
  CHECK(Reduce({3}, {ReduceFunction::kMax, 1, 1}, DType::kBool) ==
        "error: max does not take this dtype");
  CHECK(Reduce({3}, {ReduceFunction::kMax, 1, 1}, DType::kBf16) ==
        "error: max does not take this dtype");
}

TEST_CASE("Reduce: function and keep_dims are checked") {
  for (const int32_t bad : std::initializer_list<int32_t>{-1, kReduceFunctionCount, INT32_MAX}) {
    CHECK(Reduce({3}, {static_cast<ReduceFunction>(bad), 1, 1}) ==
          "error: there is no reduction " + std::to_string(bad));
  }
  CHECK(Reduce({3}, {ReduceFunction::kSum, 1, 2}) == "error: keep_dims must be 0 or 1");
}

std::string CumSum(const std::vector<int32_t>& x, const CumSumAttributes& attributes,
                   DType dtype = DType::kF32) {
  return OpTester(kCumSumRow).Input(dtype, x).Infer(attributes);
}

TEST_CASE("CumSum: has the shape and dtype of its input") {
  CHECK(CumSum({2, 3}, {1, 0, 0}) == "f32[2,3]");
  CHECK(CumSum({2, 3}, {0, 1, 1}, DType::kU16) == "u16[2,3]");
  CHECK(CumSum({2, 0}, {1, 0, 0}, DType::kF16) == "f16[2,0]");
}

TEST_CASE("CumSum: axes and forms that are not there, bool and bf16 are refused") {
  CHECK(CumSum({2, 3}, {2, 0, 0}) == "error: there is no axis 2 in a tensor of rank 2");
  CHECK(CumSum({2, 3}, {-1, 0, 0}) == "error: there is no axis -1 in a tensor of rank 2");
  CHECK(CumSum({2, 3}, {0, 2, 0}) == "error: exclusive and reverse must be 0 or 1");
  CHECK(CumSum({2, 3}, {0, 0, -1}) == "error: exclusive and reverse must be 0 or 1");
  for (const DType dtype : {DType::kBool, DType::kBf16}) {
    CHECK(CumSum({2, 3}, {0, 0, 0}, dtype) ==
          "error: the input must be f32, f16, f64 or an integer type");
  }
}

}  // namespace
}  // namespace tenon
