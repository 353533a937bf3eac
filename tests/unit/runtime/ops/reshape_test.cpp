#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Reshape(const std::vector<int32_t>& x, const std::vector<int32_t>& dims) {
  ReshapeAttributes attributes;
  attributes.rank = static_cast<int32_t>(dims.size());
  for (size_t i = 0; i < dims.size() && i < kMaxRank; ++i) attributes.dims[i] = dims[i];
  return OpTester(kReshapeRow).Input(DType::kU16, x).Infer(attributes);
}

const char* const kBadShape =
    "error: the output would have a negative dimension or 2^31 or more elements";

TEST_CASE("Reshape: any dimensions with as many elements") {
  CHECK(Reshape({2, 3, 4}, {6, 4}) == "u16[6,4]");
  CHECK(Reshape({1}, {}) == "u16[]");
  CHECK(Reshape({}, {1, 1}) == "u16[1,1]");
  CHECK(Reshape({0, 5}, {3, 0}) == "u16[3,0]");
}

TEST_CASE("Reshape: another number of elements is refused") {
  CHECK(Reshape({2, 3}, {5}) == "error: 6 elements cannot become 5 elements");
  CHECK(Reshape({2, 3}, {0}) == "error: 6 elements cannot become 0 elements");
}

TEST_CASE("Reshape: dimensions and ranks out of range are refused") {
  CHECK(Reshape({4}, {-2, -2}) == kBadShape);
  CHECK(Reshape({0}, {INT32_MAX, INT32_MAX, INT32_MAX, 0}) == kBadShape);
  CHECK(Reshape({1}, std::vector<int32_t>(9, 1)) == kBadShape);
  ReshapeAttributes attributes;
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 99, INT32_MAX, INT32_MIN}) {
    attributes.rank = bad;
    CHECK(OpTester(kReshapeRow).Input(DType::kF32, {1}).Infer(attributes) == kBadShape);
  }
}

}  // namespace
}  // namespace tenon
