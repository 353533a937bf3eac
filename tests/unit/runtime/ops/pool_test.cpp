#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string MaxPool(const std::vector<int32_t>& x, const PoolAttributes& attributes) {
  return OpTester(kMaxPoolRow).Input(DType::kF32, x).Infer(attributes);
}

PoolAttributes Square(int32_t kernel, int32_t stride, int32_t pad) {
  PoolAttributes attributes;
  for (int i = 0; i < 2; ++i) {
    attributes.kernel[i] = kernel;
    attributes.strides[i] = stride;
  }
  for (int32_t& value : attributes.pads) value = pad;
  return attributes;
}

TEST_CASE("Pool: the channels stay, height and width follow the windows") {
  CHECK(MaxPool({2, 3, 112, 112}, Square(3, 2, 1)) == "f32[2,3,56,56]");
  PoolAttributes attributes;
  attributes.kernel[0] = 3;
  attributes.kernel[1] = 2;
  attributes.dilations[0] = 2;
  CHECK(MaxPool({1, 1, 8, 8}, attributes) == "f32[1,1,4,7]");
}

TEST_CASE("Pool: ceil_mode keeps the rest in one more window") {
  PoolAttributes attributes = Square(3, 2, 0);
  CHECK(MaxPool({1, 1, 8, 7}, attributes) == "f32[1,1,3,3]");
  attributes.ceil_mode = 1;
  CHECK(MaxPool({1, 1, 8, 7}, attributes) == "f32[1,1,4,3]");
}

TEST_CASE("Pool: ceil_mode drops a window that would start in the end padding") {
  PoolAttributes attributes = Square(2, 3, 1);
  attributes.ceil_mode = 1;
  // Padded 5: windows at 0 and 3; position 3 is input (element 2).
  CHECK(MaxPool({1, 1, 3, 3}, attributes) == "f32[1,1,2,2]");
  // Padded 4: position 3 is end padding.
  CHECK(MaxPool({1, 1, 2, 2}, attributes) == "f32[1,1,1,1]");
}

TEST_CASE("Pool: a window that could see padding only is refused") {
  CHECK(MaxPool({1, 1, 8, 8}, Square(3, 1, 3)) ==
        "error: pads must be smaller than the window of 3");
  CHECK(MaxPool({1, 1, 8, 8}, Square(3, 1, 2)) == "f32[1,1,10,10]");
  PoolAttributes attributes = Square(2, 1, 1);
  attributes.dilations[0] = 2;
  CHECK(MaxPool({1, 1, 1, 8}, attributes) == "error: a dilation of 2 jumps over an input of 1");
}

TEST_CASE("Pool: kernel, strides, dilations and pads are checked") {
  CHECK(MaxPool({1, 1, 8, 8}, Square(0, 1, 0)) == "error: the kernel must be at least 1, not 0");
  CHECK(MaxPool({1, 1, 8, 8}, Square(2, 0, 0)) ==
        "error: strides must be at least 1 and at most 2^28, not 0");
  CHECK(MaxPool({1, 1, 8, 8}, Square(2, 1, -1)) == "error: pads must not be negative");
  CHECK(MaxPool({1, 1, 8, 8}, Square(9, 1, 0)) ==
        "error: a window of 9 does not fit into a padded input of 8");
  CHECK(MaxPool({1, 1, 8, 8}, Square(INT32_MAX, 1, 0)) ==
        "error: a window of 2147483647 does not fit into a padded input of 8");
  PoolAttributes attributes;
  attributes.dilations[1] = 0;
  CHECK(MaxPool({1, 1, 8, 8}, attributes) ==
        "error: dilations must be at least 1 and at most 2^28, not 0");
}

TEST_CASE("Pool: flags are 0 or 1") {
  PoolAttributes attributes;
  attributes.ceil_mode = 2;
  CHECK(MaxPool({1, 1, 8, 8}, attributes) ==
        "error: ceil_mode and count_include_pad must be 0 or 1");
  attributes.ceil_mode = 0;
  attributes.count_include_pad = -1;
  CHECK(MaxPool({1, 1, 8, 8}, attributes) ==
        "error: ceil_mode and count_include_pad must be 0 or 1");
}

TEST_CASE("Pool: only rank 4 and no empty images") {
  CHECK(MaxPool({1, 8, 8}, {}) == "error: the input must have rank 4, not 3");
  CHECK(MaxPool({1, 1, 0, 8}, {}) == "error: height and width must be at least 1");
}

TEST_CASE("MaxPool: takes integers, not bool") {
  CHECK(OpTester(kMaxPoolRow).Input(DType::kU8, {1, 1, 2, 2}).Infer() == "u8[1,1,2,2]");
  for (const DType dtype : {DType::kBool, DType::kBf16}) {
    CHECK(OpTester(kMaxPoolRow).Input(dtype, {1, 1, 2, 2}).Infer() ==
          "error: the input must be f32, f16, f64 or an integer type");
  }
}

TEST_CASE("AveragePool: takes floats only") {
  CHECK(OpTester(kAveragePoolRow).Input(DType::kF16, {1, 1, 2, 2}).Infer() == "f16[1,1,2,2]");
  CHECK(OpTester(kAveragePoolRow).Input(DType::kI8, {1, 1, 2, 2}).Infer() ==
        "error: operands must be f32, f16 or f64");
}

TEST_CASE("AveragePool: windows are counted as in a maximum") {
  CHECK(OpTester(kAveragePoolRow).Input(DType::kF32, {2, 3, 112, 112}).Infer(Square(3, 2, 1)) ==
        "f32[2,3,56,56]");
}

}  // namespace
}  // namespace tenon
