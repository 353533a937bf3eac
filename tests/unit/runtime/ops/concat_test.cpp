#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

TEST_CASE("Concat: the axis adds up over any number of inputs") {
  CHECK(OpTester(kConcatRow)
            .Input(kF32, {2, 3})
            .Input(kF32, {2, 0})
            .Input(kF32, {2, 4})
            .Infer(ConcatAttributes{1}) == "f32[2,7]");
  CHECK(OpTester(kConcatRow).Input(DType::kBool, {2, 3}).Infer(ConcatAttributes{0}) == "bool[2,3]");
}

TEST_CASE("Concat: an axis out of range is refused") {
  const OpTester concat = OpTester(kConcatRow).Input(kF32, {2, 3}).Input(kF32, {2, 3});
  for (const int32_t bad : std::initializer_list<int32_t>{-1, 2, INT32_MAX, INT32_MIN}) {
    CHECK(concat.Infer(ConcatAttributes{bad}) ==
          "error: there is no axis " + std::to_string(bad) + " in a tensor of rank 2");
  }
  CHECK(OpTester(kConcatRow).Input(kF32, {}).Infer() ==
        "error: there is no axis 0 in a tensor of rank 0");
}

TEST_CASE("Concat: other dimensions, rank and dtype must agree") {
  CHECK(OpTester(kConcatRow).Input(kF32, {2, 3}).Input(kF32, {1, 3}).Infer(ConcatAttributes{1}) ==
        "error: input 1 does not agree with input 0 outside axis 1");
  CHECK(OpTester(kConcatRow).Input(kF32, {2, 3}).Input(kF32, {2}).Infer(ConcatAttributes{0}) ==
        "error: input 1 does not agree with input 0 outside axis 0");
  CHECK(OpTester(kConcatRow).Input(kF32, {2}).Input(DType::kI32, {2}).Infer() ==
        "error: input 1 has another dtype than input 0");
}

TEST_CASE("Concat: a sum past 2^31 is refused") {
  CHECK(OpTester(kConcatRow).Input(kF32, {1 << 30}).Input(kF32, {1 << 30}).Infer() ==
        "error: axis 0 would pass 2^31");
  CHECK(OpTester(kConcatRow)
            .Input(kF32, {2, 1 << 29})
            .Input(kF32, {2, 1 << 29})
            .Infer(ConcatAttributes{0}) ==
        "error: the output would have a negative dimension or 2^31 or more elements");
}

TEST_CASE("Concat: no input may be absent") {
  CHECK(OpTester(kConcatRow).Input(kF32, {2}).Absent().Infer() == "error: input 1 is missing");
  CHECK(OpTester(kConcatRow).Infer() == "error: 0 inputs, but 1 are needed");
}

}  // namespace
}  // namespace tenon
