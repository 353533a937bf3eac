#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Gather(const std::vector<int32_t>& x, const std::vector<int32_t>& indices, int32_t axis,
                   DType index_dtype = DType::kI64) {
  return OpTester(kGatherRow)
      .Input(DType::kF32, x)
      .Input(index_dtype, indices)
      .Infer(GatherAttributes{axis});
}

TEST_CASE("Gather: the indices' dimensions take the axis' place") {
  CHECK(Gather({2, 3, 4}, {5, 6}, 1) == "f32[2,5,6,4]");
  CHECK(Gather({2, 3, 4}, {}, 0) == "f32[3,4]");
  CHECK(Gather({2, 3, 4}, {7}, 2) == "f32[2,3,7]");
}

TEST_CASE("Gather: indices are i32 or i64") {
  CHECK(Gather({2}, {1}, 0, DType::kI32) == "f32[1]");
  for (const DType bad : {DType::kF32, DType::kU32, DType::kI16, DType::kBool}) {
    CHECK(Gather({2}, {1}, 0, bad) == "error: indices must be i32 or i64");
  }
}

TEST_CASE("Gather: an axis out of range is refused") {
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 2, INT32_MAX, INT32_MIN}) {
    CHECK(Gather({2, 3}, {1}, bad) ==
          "error: there is no axis " + std::to_string(bad) + " in a tensor of rank 2");
  }
  CHECK(Gather({}, {1}, 0) == "error: there is no axis 0 in a tensor of rank 0");
}

TEST_CASE("Gather: a rank past the largest is refused") {
  CHECK(Gather({1, 1, 1, 1, 1}, {1, 1, 1, 1}, 0) == "f32[1,1,1,1,1,1,1,1]");
  CHECK(Gather({1, 1, 1, 1, 1}, {1, 1, 1, 1, 1}, 0) == "error: the output would have rank 9");
}

TEST_CASE("Gather: an output of 2^31 elements is refused") {
  CHECK(Gather({2, 32768}, {65536}, 0) ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

}  // namespace
}  // namespace tenon
