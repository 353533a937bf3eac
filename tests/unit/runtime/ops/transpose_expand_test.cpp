#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Transpose(const std::vector<int32_t>& x, const std::vector<int32_t>& permutation) {
  TransposeAttributes attributes;
  attributes.rank = static_cast<int32_t>(permutation.size());
  for (size_t i = 0; i < permutation.size(); ++i) attributes.permutation[i] = permutation[i];
  return OpTester(kTransposeRow).Input(DType::kI32, x).Infer(attributes);
}

std::string Expand(const std::vector<int32_t>& x, const std::vector<int32_t>& dims) {
  ExpandAttributes attributes;
  attributes.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) attributes.dims[i] = dims[i];
  return OpTester(kExpandRow).Input(DType::kI32, x).Infer(attributes);
}

TEST_CASE("Transpose: output dimension k is input dimension permutation[k]") {
  CHECK(Transpose({2, 3, 4}, {2, 0, 1}) == "i32[4,2,3]");
  CHECK(Transpose({}, {}) == "i32[]");
}

TEST_CASE("Transpose: what is no permutation is refused") {
  CHECK(Transpose({2, 3}, {0, 0}) ==
        "error: entry 1 of the permutation is out of range or there twice");
  CHECK(Transpose({2, 3}, {2, 0}) ==
        "error: entry 0 of the permutation is out of range or there twice");
  CHECK(Transpose({2, 3}, {0, -1}) ==
        "error: entry 1 of the permutation is out of range or there twice");
  CHECK(Transpose({2, 3}, {INT32_MAX, INT32_MIN}) ==
        "error: entry 0 of the permutation is out of range or there twice");
}

TEST_CASE("Transpose: the rank is the input's") {
  TransposeAttributes attributes;
  for (const int32_t bad : {-1, 0, 2, 99}) {
    attributes.rank = bad;
    CHECK(OpTester(kTransposeRow).Input(DType::kF32, {4}).Infer(attributes) ==
          "error: the permutation has rank " + std::to_string(bad) + ", the input has rank 1");
  }
}

TEST_CASE("Expand: ones and missing dimensions are repeated") {
  CHECK(Expand({3, 1}, {2, 3, 4}) == "i32[2,3,4]");
  CHECK(Expand({}, {2}) == "i32[2]");
  CHECK(Expand({1}, {0}) == "i32[0]");
}

TEST_CASE("Expand: what does not broadcast to the shape is refused") {
  CHECK(Expand({3}, {4}) == "error: the input does not broadcast to the wanted shape");
  CHECK(Expand({3}, {1}) == "error: the input does not broadcast to the wanted shape");
  CHECK(Expand({1, 3}, {3}) == "error: the input does not broadcast to the wanted shape");
}

TEST_CASE("Expand: shapes that no tensor may have are refused") {
  const char* const bad_shape =
      "error: the output would have a negative dimension or 2^31 or more elements";
  CHECK(Expand({1}, {-1}) == bad_shape);
  CHECK(Expand({1}, {INT32_MAX, 2}) == bad_shape);
  ExpandAttributes attributes;
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 99, INT32_MIN}) {
    attributes.rank = bad;
    CHECK(OpTester(kExpandRow).Input(DType::kF32, {1}).Infer(attributes) == bad_shape);
  }
}

}  // namespace
}  // namespace tenon
