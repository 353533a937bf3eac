#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

OpTester Conv(const std::vector<int32_t>& x, const std::vector<int32_t>& w) {
  return OpTester(kConvRow).Input(kF32, x).Input(kF32, w);
}

/// Error of a 3x3 convolution of a 6-channel 8x8 image with these attributes.
std::string ErrorOf(const ConvAttributes& attributes) {
  return Conv({1, 6, 8, 8}, {4, 6, 3, 3}).Infer(attributes);
}

TEST_CASE("Conv: without padding the output loses kernel - 1") {
  CHECK(Conv({2, 3, 8, 9}, {5, 3, 3, 2}).Infer() == "f32[2,5,6,8]");
}

TEST_CASE("Conv: pads are top, left, bottom, right") {
  ConvAttributes attributes;
  attributes.pads[0] = 1;
  attributes.pads[1] = 2;
  attributes.pads[2] = 3;
  attributes.pads[3] = 4;
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Infer(attributes) == "f32[1,5,10,12]");
}

TEST_CASE("Conv: strides round down, dilations widen the window") {
  ConvAttributes attributes;
  attributes.strides[0] = 2;
  attributes.dilations[1] = 3;
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Infer(attributes) == "f32[1,5,3,2]");
}

TEST_CASE("Conv: padding may be larger than the kernel") {
  ConvAttributes attributes;
  attributes.pads[0] = 5;
  CHECK(Conv({1, 3, 2, 2}, {5, 3, 1, 1}).Infer(attributes) == "f32[1,5,7,2]");
}

TEST_CASE("Conv: depthwise weights have one input channel per group") {
  ConvAttributes attributes;
  attributes.group = 6;
  CHECK(Conv({1, 6, 8, 8}, {12, 1, 3, 3}).Infer(attributes) == "f32[1,12,6,6]");
}

TEST_CASE("Conv: every compute float type is taken, others and mixtures are not") {
  for (const DType dtype : {DType::kF32, DType::kF16, DType::kF64}) {
    const OpTester conv = OpTester(kConvRow).Input(dtype, {1, 1, 3, 3}).Input(dtype, {1, 1, 3, 3});
    CHECK(conv.Infer() == std::string(DTypeName(dtype)) + "[1,1,1,1]");
  }
  for (const DType dtype : {DType::kBf16, DType::kI8, DType::kBool}) {
    const OpTester conv = OpTester(kConvRow).Input(dtype, {1, 1, 3, 3}).Input(dtype, {1, 1, 3, 3});
    CHECK(conv.Infer() == "error: operands must be f32, f16 or f64");
  }
  const OpTester mixed =
      OpTester(kConvRow).Input(kF32, {1, 1, 3, 3}).Input(DType::kF64, {1, 1, 3, 3});
  CHECK(mixed.Infer() == "error: input 1 has another dtype than input 0");
}

/// A convolution of 6 to 4 channels whose x and w are stored so.
OpTester Stored(DType x, DType w) {
  return OpTester(kConvRow).Input(x, {1, 6, 8, 8}).Input(w, {4, 6, 3, 3}).Input(kF32, {4}).Absent();
}

TEST_CASE("Conv: weights may be stored as f16, or as i8 with a scale for each output channel") {
  CHECK(Stored(kF32, DType::kF16).Infer() == "f32[1,4,6,6]");
  CHECK(Stored(kF32, DType::kI8).Input(kF32, {4}).Infer() == "f32[1,4,6,6]");
  CHECK(Stored(kF32, DType::kI8).Infer() == "error: weights of i8 need a scale (input 4)");
  CHECK(Stored(kF32, DType::kI8).Input(kF32, {6}).Infer() ==
        "error: input 4 must be a vector of 4 elements of f32");
  CHECK(Stored(kF32, DType::kI8).Input(DType::kF16, {4}).Infer() ==
        "error: input 4 must be a vector of 4 elements of f32");
  CHECK(Stored(kF32, DType::kF16).Input(kF32, {4}).Infer() ==
        "error: a scale of the weights (input 4) goes with weights of i8 only");
  CHECK(Stored(kF32, DType::kU8).Infer() == "error: input 1 has another dtype than input 0");
  CHECK(Stored(kF32, DType::kBf16).Infer() == "error: input 1 has another dtype than input 0");
}

TEST_CASE("Conv: only products in f32 have stored weights") {
  const auto conv = [](DType dtype, DType w) {
    return OpTester(kConvRow).Input(dtype, {1, 6, 8, 8}).Input(w, {4, 6, 3, 3});
  };
  CHECK(conv(DType::kF64, DType::kF16).Infer() == "error: input 1 has another dtype than input 0");
  CHECK(conv(DType::kF16, DType::kI8).Absent().Absent().Input(kF32, {4}).Infer() ==
        "error: weights of i8 are for products in f32");
}

TEST_CASE("Conv: an input of bytes has a mean for each channel, and gives f32") {
  CHECK(Stored(DType::kU8, kF32).Absent().Input(kF32, {6}).Infer() == "f32[1,4,6,6]");
  CHECK(Stored(DType::kU8, DType::kI8).Input(kF32, {4}).Input(kF32, {6}).Infer() == "f32[1,4,6,6]");
  CHECK(Stored(DType::kU8, kF32).Infer() == "error: operands must be f32, f16 or f64");
  CHECK(Stored(DType::kU8, kF32).Absent().Input(kF32, {1}).Infer() ==
        "error: input 5 must be a vector of 6 elements of f32");
  CHECK(Stored(kF32, kF32).Absent().Input(kF32, {6}).Infer() ==
        "error: a mean of the input (input 5) goes with an input of u8 only");
  CHECK(Stored(DType::kI8, kF32).Absent().Input(kF32, {6}).Infer() ==
        "error: a mean of the input (input 5) goes with an input of u8 only");
}

TEST_CASE("Conv: only rank 4 is taken") {
  CHECK(Conv({1, 3, 8}, {5, 3, 3, 3}).Infer() ==
        "error: input and weights must have rank 4, not 3 and 4");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3}).Infer() ==
        "error: input and weights must have rank 4, not 4 and 3");
}

TEST_CASE("Conv: no channels are refused, an empty batch is not") {
  CHECK(Conv({1, 0, 8, 8}, {5, 0, 3, 3}).Infer() == "error: there must be at least 1 channel");
  CHECK(Conv({1, 3, 8, 8}, {0, 3, 3, 3}).Infer() == "error: there must be at least 1 channel");
  CHECK(Conv({0, 3, 8, 8}, {5, 3, 3, 3}).Infer() == "f32[0,5,6,6]");
}

TEST_CASE("Conv: groups must divide the channels on both sides") {
  ConvAttributes attributes;
  attributes.group = 0;
  CHECK(ErrorOf(attributes) == "error: group must be at least 1, not 0");
  attributes.group = INT32_MIN;
  CHECK(ErrorOf(attributes) == "error: group must be at least 1, not -2147483648");
  attributes.group = 4;
  CHECK(ErrorOf(attributes) == "error: 6 input channels cannot be cut into 4 groups");
  attributes.group = 3;
  CHECK(ErrorOf(attributes) == "error: 4 output channels cannot be cut into 3 groups");
  attributes.group = 2;
  CHECK(ErrorOf(attributes) ==
        "error: weights are for 6 input channels per group, the input has 3");
}

TEST_CASE("Conv: strides and dilations start at 1 and are bounded") {
  for (const int32_t bad : std::initializer_list<int32_t>{0, -1, INT32_MIN, INT32_MAX}) {
    ConvAttributes attributes;
    attributes.strides[1] = bad;
    CHECK(ErrorOf(attributes) ==
          "error: strides must be at least 1 and at most 2^28, not " + std::to_string(bad));
    attributes = {};
    attributes.dilations[0] = bad;
    CHECK(ErrorOf(attributes) ==
          "error: dilations must be at least 1 and at most 2^28, not " + std::to_string(bad));
  }
}

TEST_CASE("Conv: negative and huge pads are refused") {
  for (int side = 0; side < 4; ++side) {
    ConvAttributes attributes;
    attributes.pads[side] = -1;
    CHECK(ErrorOf(attributes) == "error: pads must not be negative");
    attributes.pads[side] = INT32_MAX;
    CHECK(ErrorOf(attributes) == "error: the padded input must not be longer than 2^28");
  }
}

TEST_CASE("Conv: a window larger than the padded input is refused") {
  ConvAttributes attributes;
  attributes.dilations[1] = 4;
  CHECK(ErrorOf(attributes) == "error: a window of 9 does not fit into a padded input of 8");
  attributes.pads[3] = 1;
  CHECK(ErrorOf(attributes) == "f32[1,4,6,1]");
}

TEST_CASE("Conv: an empty image or kernel is refused") {
  CHECK(Conv({1, 3, 0, 8}, {5, 3, 3, 3}).Infer() == "error: height and width must be at least 1");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 0}).Infer() == "error: the kernel must be at least 1, not 0");
}

TEST_CASE("Conv: bias is one value per output channel") {
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Input(kF32, {5}).Infer() == "f32[1,5,6,6]");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Input(kF32, {4}).Infer() ==
        "error: the bias must be a vector of 5 elements");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Input(kF32, {1, 5}).Infer() ==
        "error: the bias must be a vector of 5 elements");
}

TEST_CASE("Conv: the residual has exactly the output's shape, with or without a bias") {
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Absent().Input(kF32, {1, 5, 6, 6}).Infer() ==
        "f32[1,5,6,6]");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Input(kF32, {5}).Input(kF32, {1, 5, 1, 1}).Infer() ==
        "error: the residual must have the output's shape");
  CHECK(Conv({1, 3, 8, 8}, {5, 3, 3, 3}).Absent().Input(DType::kF16, {1, 5, 6, 6}).Infer() ==
        "error: input 3 has another dtype than input 0");
}

TEST_CASE("Conv: the activation must exist and take floats") {
  ConvAttributes attributes;
  attributes.activation.function = static_cast<UnaryFunction>(kUnaryFunctionCount);
  CHECK(ErrorOf(attributes) ==
        "error: there is no function " + std::to_string(kUnaryFunctionCount));
  attributes.activation.function = static_cast<UnaryFunction>(-1);
  CHECK(ErrorOf(attributes) == "error: there is no function -1");
  attributes.activation.function = UnaryFunction::kNot;
  CHECK(ErrorOf(attributes) == "error: not does not take this dtype");
}

TEST_CASE("Conv: an output of 2^31 elements is refused") {
  CHECK(Conv({32768, 1, 1, 1}, {65536, 1, 1, 1}).Infer() ==
        "error: the output would have a negative dimension or 2^31 or more elements");
  CHECK(Conv({32767, 1, 1, 1}, {65536, 1, 1, 1}).Infer() == "f32[32767,65536,1,1]");
}

}  // namespace
}  // namespace tenon
