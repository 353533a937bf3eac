// Softmax and LRN.
#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Softmax(const std::vector<int32_t>& x, const SoftmaxAttributes& attributes) {
  return OpTester(kSoftmaxRow).Input(DType::kF32, x).Infer(attributes);
}

std::string Lrn(const LrnAttributes& attributes) {
  return OpTester(kLrnRow).Input(DType::kF32, {1, 8, 2, 2}).Infer(attributes);
}

TEST_CASE("Softmax: keeps the shape for any axis") {
  for (int32_t axis = 0; axis < 3; ++axis) {
    CHECK(Softmax({2, 3, 4}, {axis, 0}) == "f32[2,3,4]");
    CHECK(Softmax({2, 3, 4}, {axis, 1}) == "f32[2,3,4]");
  }
}

TEST_CASE("Softmax: an axis out of range is refused") {
  CHECK(Softmax({2, 3}, {2, 0}) == "error: there is no axis 2 in a tensor of rank 2");
  CHECK(Softmax({2, 3}, {-1, 0}) == "error: there is no axis -1 in a tensor of rank 2");
  CHECK(Softmax({}, {0, 0}) == "error: there is no axis 0 in a tensor of rank 0");
}

TEST_CASE("Softmax: an empty axis is refused, an empty batch is not") {
  CHECK(Softmax({2, 0}, {1, 0}) == "error: axis 1 is empty");
  CHECK(Softmax({0, 2}, {1, 0}) == "f32[0,2]");
}

TEST_CASE("Softmax: log is 0 or 1, and the dtype a float") {
  CHECK(Softmax({2}, {0, 2}) == "error: log must be 0 or 1");
  CHECK(OpTester(kSoftmaxRow).Input(DType::kI32, {2}).Infer() ==
        "error: operands must be f32, f16 or f64");
}

TEST_CASE("LRN: keeps the shape; the window may be wider than the channels") {
  CHECK(Lrn({5, 1e-4F, 0.75F, 2.0F}) == "f32[1,8,2,2]");
  CHECK(Lrn({99, 1e-4F, 0.75F, 2.0F}) == "f32[1,8,2,2]");
}

TEST_CASE("LRN: size starts at 1 and is bounded") {
  for (const int32_t bad : std::initializer_list<int32_t>{0, -3, INT32_MAX, INT32_MIN}) {
    CHECK(Lrn({bad, 1e-4F, 0.75F, 2.0F}) ==
          "error: size must be at least 1 and at most 2^28, not " + std::to_string(bad));
  }
}

TEST_CASE("LRN: alpha, beta and bias are finite") {
  for (const float bad : {kNan, kInfinity, -kInfinity}) {
    CHECK(Lrn({5, bad, 0.75F, 2.0F}) == "error: alpha, beta and bias must be finite");
    CHECK(Lrn({5, 1e-4F, bad, 2.0F}) == "error: alpha, beta and bias must be finite");
    CHECK(Lrn({5, 1e-4F, 0.75F, bad}) == "error: alpha, beta and bias must be finite");
  }
}

TEST_CASE("LRN: needs a channel axis of bearable length, and floats") {
  CHECK(OpTester(kLrnRow).Input(DType::kF32, {8}).Infer() ==
        "error: the input must have rank 2 or more, not 1");
  CHECK(OpTester(kLrnRow).Input(DType::kF32, {1, 1 << 29}).Infer() ==
        "error: there must not be more than 2^28 channels");
  CHECK(OpTester(kLrnRow).Input(DType::kU8, {1, 8}).Infer() ==
        "error: operands must be f32, f16 or f64");
}

}  // namespace
}  // namespace tenon
