#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

/// Slices a vector of 10 elements.
std::string Slice10(int32_t begin, int32_t size, int32_t step) {
  SliceAttributes attributes;
  attributes.rank = 1;
  attributes.begins[0] = begin;
  attributes.sizes[0] = size;
  attributes.steps[0] = step;
  return OpTester(kSliceRow).Input(DType::kI16, {10}).Infer(attributes);
}

const char* const kOutside = "error: dimension 0 is sliced outside its 10 elements";

TEST_CASE("Slice: the sizes are the output's dimensions") {
  SliceAttributes attributes;
  attributes.rank = 2;
  attributes.begins[1] = 2;
  attributes.sizes[0] = 4;
  attributes.sizes[1] = 2;
  attributes.steps[0] = 1;
  attributes.steps[1] = 3;
  CHECK(OpTester(kSliceRow).Input(DType::kF32, {4, 8}).Infer(attributes) == "f32[4,2]");
}

TEST_CASE("Slice: steps may be negative") {
  CHECK(Slice10(9, 10, -1) == "i16[10]");
  CHECK(Slice10(9, 4, -3) == "i16[4]");
}

TEST_CASE("Slice: the last element must lie inside") {
  CHECK(Slice10(0, 4, 3) == "i16[4]");
  CHECK(Slice10(1, 4, 3) == kOutside);
  CHECK(Slice10(8, 4, -3) == kOutside);
  CHECK(Slice10(0, INT32_MAX, INT32_MAX) == kOutside);
  CHECK(Slice10(9, INT32_MAX, INT32_MIN) == kOutside);
}

TEST_CASE("Slice: the first element must lie inside") {
  CHECK(Slice10(-1, 1, 1) == kOutside);
  CHECK(Slice10(10, 1, 1) == kOutside);
  CHECK(Slice10(INT32_MIN, 2, INT32_MAX) == kOutside);
}

TEST_CASE("Slice: one element does not care how wide the step is") {
  CHECK(Slice10(5, 1, 100) == "i16[1]");
}

TEST_CASE("Slice: an empty slice may begin at the end, not beyond") {
  CHECK(Slice10(10, 0, 1) == "i16[0]");
  CHECK(Slice10(11, 0, 1) == kOutside);
  CHECK(Slice10(-1, 0, 1) == kOutside);
}

TEST_CASE("Slice: a step of 0 and a negative size are refused") {
  CHECK(Slice10(0, 1, 0) == "error: the step of dimension 0 is 0");
  CHECK(Slice10(0, -1, 1) == "error: the size of dimension 0 is negative");
}

TEST_CASE("Slice: the rank is the input's") {
  SliceAttributes attributes;
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 0, 2, 99, INT32_MIN}) {
    attributes.rank = bad;
    CHECK(OpTester(kSliceRow).Input(DType::kF32, {4}).Infer(attributes) ==
          "error: the slice has rank " + std::to_string(bad) + ", the input has rank 1");
  }
}

}  // namespace
}  // namespace tenon
