// Several unary and binary ops in one.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

/// Of an op with an x, an operand per channel and one for all.
std::string TypeOf(const ElementwiseAttributes& attributes) {
  return OpTester(kElementwiseRow)
      .Input(kF32, {2, 3, 4})
      .Input(kF32, {3, 1})
      .Input(kF32, {})
      .Infer(attributes);
}

ElementwiseAttributes StepsOf(std::initializer_list<int32_t> operands) {
  ElementwiseAttributes attributes;
  attributes.steps = static_cast<int32_t>(operands.size());
  std::copy(operands.begin(), operands.end(), attributes.operands);
  return attributes;
}

TEST_CASE("Elementwise: the output is as x, whatever its operands are like") {
  CHECK(TypeOf(StepsOf({0})) == "f32[2,3,4]");
  CHECK(TypeOf(StepsOf({1, -2, 0, -1})) == "f32[2,3,4]");
  CHECK(TypeOf(StepsOf({1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2})) == "f32[2,3,4]");
  CHECK(OpTester(kElementwiseRow).Input(DType::kF16, {}).Infer(StepsOf({0})) == "f16[]");
  CHECK(OpTester(kElementwiseRow).Input(kF32, {0, 5}).Infer(StepsOf({0})) == "f32[0,5]");
}

TEST_CASE("Elementwise: operands broadcast to x, and x never to them") {
  const auto infer = [](const std::vector<int32_t>& dims) {
    return OpTester(kElementwiseRow).Input(kF32, {2, 1}).Input(kF32, dims).Infer(StepsOf({1}));
  };
  CHECK(infer({2, 1}) == "f32[2,1]");
  CHECK(infer({1, 1}) == "f32[2,1]");
  CHECK(infer({2, 3}) == "error: input 1 does not broadcast to x");
  CHECK(infer({1, 2, 1}) == "error: input 1 does not broadcast to x");
  CHECK(infer({3, 1}) == "error: input 1 does not broadcast to x");
}

TEST_CASE("Elementwise: steps read inputs that are there") {
  CHECK(TypeOf(StepsOf({3})) == "error: step 0 reads input 3, which is not there");
  CHECK(TypeOf(StepsOf({1, -3})) == "error: step 1 reads input 3, which is not there");
  CHECK(TypeOf(StepsOf({INT32_MIN})) == "error: step 0 reads input 2147483648, which is not there");
  CHECK(OpTester(kElementwiseRow).Input(kF32, {2}).Absent().Infer(StepsOf({1})) ==
        "error: step 0 reads input 1, which is not there");
}

TEST_CASE("Elementwise: 1 to 12 steps, and what stands beyond them means nothing") {
  ElementwiseAttributes attributes = StepsOf({1});
  for (const int32_t steps : std::vector<int32_t>{0, -1, 13, INT32_MAX, INT32_MIN}) {
    attributes.steps = steps;
    CHECK(TypeOf(attributes) == "error: there are 1 to 12 steps, not " + std::to_string(steps));
  }
  attributes.steps = 1;
  attributes.operands[1] = 77;
  attributes.functions[1] = static_cast<BinaryFunction>(-5);
  attributes.activations[7] = static_cast<UnaryFunction>(1000);
  attributes.a[2] = kNan;
  CHECK(TypeOf(attributes) == "f32[2,3,4]");
}

TEST_CASE("Elementwise: functions that give a float, with parameters that their ops take") {
  ElementwiseAttributes attributes = StepsOf({1});
  attributes.functions[0] = BinaryFunction::kLess;
  CHECK(TypeOf(attributes) == "error: step 0: less gives no float");
  attributes.functions[0] = static_cast<BinaryFunction>(99);
  CHECK(TypeOf(attributes) == "error: step 0: there is no function 99");
  attributes.operands[0] = 0;  // then the function is not read
  CHECK(TypeOf(attributes) == "f32[2,3,4]");
  attributes.activations[0] = UnaryFunction::kNot;
  CHECK(TypeOf(attributes) == "error: not does not take this dtype");
  attributes.activations[0] = UnaryFunction::kClip;
  attributes.b[0] = kInfinity;
  CHECK(TypeOf(attributes) == "f32[2,3,4]");
  attributes.a[0] = kNan;
  CHECK(TypeOf(attributes) == "error: the bounds of a clip must not be NaN");
}

TEST_CASE("Elementwise: operands of one float type") {
  CHECK(
      OpTester(kElementwiseRow).Input(DType::kI32, {2}).Infer(StepsOf({0})).starts_with("error: "));
  CHECK(OpTester(kElementwiseRow)
            .Input(kF32, {2})
            .Input(DType::kF16, {2})
            .Infer(StepsOf({1}))
            .starts_with("error: "));
}

}  // namespace
}  // namespace tenon
