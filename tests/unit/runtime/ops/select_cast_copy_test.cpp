#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

TEST_CASE("Select: all three operands broadcast") {
  CHECK(OpTester(kSelectRow)
            .Input(DType::kBool, {4, 1, 1})
            .Input(DType::kI8, {3})
            .Input(DType::kI8, {2, 1})
            .Infer() == "i8[4,2,3]");
}

TEST_CASE("Select: operands that do not broadcast are refused") {
  CHECK(OpTester(kSelectRow)
            .Input(DType::kBool, {2})
            .Input(DType::kF32, {3})
            .Input(DType::kF32, {3})
            .Infer() == "error: the operands' shapes do not broadcast");
  CHECK(OpTester(kSelectRow)
            .Input(DType::kBool, {1})
            .Input(DType::kF32, {3})
            .Input(DType::kF32, {2})
            .Infer() == "error: the operands' shapes do not broadcast");
}

TEST_CASE("Select: the condition is bool and both choices have one dtype") {
  CHECK(OpTester(kSelectRow)
            .Input(DType::kU8, {2})
            .Input(DType::kF32, {2})
            .Input(DType::kF32, {2})
            .Infer() == "error: the condition must be bool");
  CHECK(OpTester(kSelectRow)
            .Input(DType::kBool, {2})
            .Input(DType::kF32, {2})
            .Input(DType::kF64, {2})
            .Infer() == "error: both choices must have the same dtype");
}

TEST_CASE("Cast: goes between any two dtypes") {
  for (int32_t from = 0; from < kDTypeCount; ++from) {
    for (int32_t to = 0; to < kDTypeCount; ++to) {
      const OpTester cast = OpTester(kCastRow).Input(static_cast<DType>(from), {2, 3});
      CHECK(cast.Infer(CastAttributes{to}) ==
            std::string(DTypeName(static_cast<DType>(to))) + "[2,3]");
    }
  }
}

TEST_CASE("Cast: a dtype out of range is refused") {
  for (const int32_t bad : std::initializer_list<int32_t>{-1, kDTypeCount, 256, INT32_MIN}) {
    CHECK(OpTester(kCastRow).Input(DType::kF32, {2}).Infer(CastAttributes{bad}) ==
          "error: there is no dtype " + std::to_string(bad));
  }
}

TEST_CASE("Copy: keeps dtype and shape") {
  CHECK(OpTester(kCopyRow).Input(DType::kBf16, {2, 0, 3}).Infer() == "bf16[2,0,3]");
}

}  // namespace
}  // namespace tenon
