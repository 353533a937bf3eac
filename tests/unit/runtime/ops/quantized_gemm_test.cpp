// Shape rules of the quantized convolution and matrix product.
#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

QuantizedConvAttributes Conv(Rounding rounding, DType to = kI8) {
  QuantizedConvAttributes attributes;
  attributes.output.rounding = rounding;
  attributes.output.to = static_cast<int32_t>(to);
  return attributes;
}

/// A 3x3 convolution of a 6-channel 8x8 image to 4 channels, with no further inputs.
OpTester GemmOperands(DType x = kI8, DType w = kI8) {
  return OpTester(kQuantizedConvRow).Input(x, {1, 6, 8, 8}).Input(w, {4, 6, 3, 3});
}

/// The same with a bias, multipliers and shifts of fixed point.
OpTester FixedPoint(int32_t count = 4) {
  return GemmOperands().Input(kI32, {4}).Input(kI32, {count}).Input(kI8, {count});
}

TEST_CASE("Quantized conv: the shape is the convolution's, the dtype what the output says") {
  CHECK(FixedPoint().Infer(Conv(Rounding::kFixedPoint)) == "i8[1,4,6,6]");
  QuantizedConvAttributes wide = Conv(Rounding::kFixedPoint, kU8);
  wide.output.min = 0;
  wide.output.max = 255;
  wide.conv.pads[0] = 1;
  wide.conv.strides[1] = 2;
  CHECK(FixedPoint().Infer(wide) == "u8[1,4,7,3]");
}

TEST_CASE("Quantized conv: every mix of i8 and u8 is taken, nothing else") {
  const QuantizedConvAttributes attributes = Conv(Rounding::kHalfEven);
  for (const DType x : {kI8, kU8}) {
    for (const DType w : {kI8, kU8}) {
      CHECK(GemmOperands(x, w).Absent().Input(kF32, {1}).Infer(attributes) == "i8[1,4,6,6]");
    }
  }
  CHECK(GemmOperands(kF32, kI8).Absent().Input(kF32, {1}).Infer(attributes) ==
        "error: operands must be i8 or u8");
  CHECK(GemmOperands(kI8, DType::kI16).Absent().Input(kF32, {1}).Infer(attributes) ==
        "error: operands must be i8 or u8");
}

TEST_CASE("Quantized conv: what is wrong with a convolution is wrong with this one") {
  QuantizedConvAttributes attributes = Conv(Rounding::kFixedPoint);
  attributes.conv.group = 4;
  CHECK(FixedPoint().Infer(attributes) == "error: 6 input channels cannot be cut into 4 groups");
  attributes = Conv(Rounding::kFixedPoint);
  attributes.conv.activation.function = UnaryFunction::kRelu;
  CHECK(FixedPoint().Infer(attributes) ==
        "error: a quantized convolution has no activation: its bounds stand for one");
}

TEST_CASE("Quantized conv: a bias is i32, one for each output channel") {
  const QuantizedConvAttributes attributes = Conv(Rounding::kHalfEven);
  const std::string refusal = "error: the bias must be a vector of 4 elements of i32";
  CHECK(GemmOperands().Input(kF32, {4}).Input(kF32, {1}).Infer(attributes) == refusal);
  CHECK(GemmOperands().Input(kI32, {1}).Input(kF32, {1}).Infer(attributes) == refusal);
  CHECK(GemmOperands().Input(kI32, {4, 1}).Input(kF32, {1}).Infer(attributes) == refusal);
}

TEST_CASE("Quantized conv: a folded bias is i32 too, one for each output channel") {
  const QuantizedConvAttributes attributes = Conv(Rounding::kFixedPoint);
  const auto with = [](DType dtype, std::vector<int32_t> dims) {
    return FixedPoint().Input(kI8, {1}).Absent().Input(dtype, std::move(dims));
  };
  const std::string refusal = "error: the bias must be a vector of 4 elements of i32";
  CHECK(with(kI32, {4}).Infer(attributes) == "i8[1,4,6,6]");
  CHECK(with(kI32, {1}).Infer(attributes) == refusal);
  CHECK(with(kF32, {4}).Infer(attributes) == refusal);
  CHECK(with(kI32, {1, 4}).Infer(attributes) == refusal);
  CHECK(with(kI32, {4}).Input(kI32, {4}).Infer(attributes) ==
        "error: 9 inputs, but 8 at most are taken");
}

TEST_CASE("Quantized conv: factors are one or one for each output channel") {
  CHECK(FixedPoint(1).Infer(Conv(Rounding::kFixedPoint)) == "i8[1,4,6,6]");
  CHECK(FixedPoint(6).Infer(Conv(Rounding::kFixedPoint)) ==
        "error: input 3 must be a vector of 1 or 4 elements");
  CHECK(GemmOperands().Absent().Input(kI32, {4}).Input(kI8, {1}).Infer(
            Conv(Rounding::kFixedPoint)) == "error: there must be as many shifts as multipliers");
  CHECK(GemmOperands().Absent().Input(kI32, {4}).Input(kI32, {4}).Infer(
            Conv(Rounding::kFixedPoint)) == "error: input 4 has the wrong dtype");
}

TEST_CASE("Quantized conv: factors have the form that the rounding takes") {
  CHECK(GemmOperands().Infer(Conv(Rounding::kHalfEven)) ==
        "error: a multiplier (input 3) is needed");
  CHECK(GemmOperands().Absent().Input(kI32, {1}).Infer(Conv(Rounding::kHalfEven)) ==
        "error: input 3 has the wrong dtype");
  CHECK(GemmOperands().Absent().Input(kF32, {1}).Input(kI8, {1}).Infer(Conv(Rounding::kHalfEven)) ==
        "error: a shift (input 4) goes with rounding fixed_point, and only with it");
  CHECK(GemmOperands().Absent().Input(kI32, {1}).Infer(Conv(Rounding::kFixedPoint)) ==
        "error: a shift (input 4) goes with rounding fixed_point, and only with it");
  CHECK(GemmOperands().Absent().Input(kF32, {1}).Infer(Conv(Rounding::kHalfAway)) ==
        "error: sums are rounded half_even or fixed_point");
}

TEST_CASE("Quantized conv: an output of i32 is the sum, one of f32 is scaled and not rounded") {
  CHECK(GemmOperands().Infer(Conv(Rounding::kHalfEven, kI32)) == "i32[1,4,6,6]");
  CHECK(FixedPoint().Infer(Conv(Rounding::kFixedPoint, kI32)) ==
        "error: an output of i32 is the sum: it takes no multiplier or shift");
  CHECK(GemmOperands().Absent().Input(kF32, {4}).Infer(Conv(Rounding::kHalfEven, kF32)) ==
        "f32[1,4,6,6]");
  CHECK(FixedPoint().Infer(Conv(Rounding::kFixedPoint, kF32)) ==
        "error: an output of f32 is not rounded: it must say half_even");
  CHECK(GemmOperands().Infer(Conv(Rounding::kHalfEven, DType::kI16)) ==
        "error: a quantized output is i8 or u8");
}

TEST_CASE("Quantized conv: zero points are of their operand's dtype, one or one for each channel") {
  const QuantizedConvAttributes attributes = Conv(Rounding::kHalfEven);
  const auto with = [&](DType x_zero, int32_t x_count, DType w_zero, int32_t w_count) {
    return GemmOperands(kU8, kI8)
        .Absent()
        .Input(kF32, {1})
        .Absent()
        .Input(x_zero, {x_count})
        .Input(w_zero, {w_count})
        .Infer(attributes);
  };
  CHECK(with(kU8, 1, kI8, 1) == "i8[1,4,6,6]");
  CHECK(with(kU8, 6, kI8, 4) == "i8[1,4,6,6]");
  CHECK(with(kI8, 1, kI8, 1) == "error: input 5 has the wrong dtype");
  CHECK(with(kU8, 4, kI8, 1) == "error: input 5 must be a vector of 1 or 6 elements");
  CHECK(with(kU8, 1, kU8, 1) == "error: input 6 has the wrong dtype");
  CHECK(with(kU8, 1, kI8, 6) == "error: input 6 must be a vector of 1 or 4 elements");
}

TEST_CASE("Quantized conv: zero point and bounds lie within the output's dtype") {
  const auto with = [](DType to, int32_t zero_point, int32_t min, int32_t max) {
    QuantizedConvAttributes attributes = Conv(Rounding::kFixedPoint, to);
    attributes.output.zero_point = zero_point;
    attributes.output.min = min;
    attributes.output.max = max;
    return FixedPoint().Infer(attributes);
  };
  CHECK(with(kI8, -128, -128, -128) == "i8[1,4,6,6]");
  CHECK(with(kI8, 128, -128, 127) == "error: 128 cannot be a zero point of this dtype");
  CHECK(with(kU8, -1, 0, 255) == "error: -1 cannot be a zero point of this dtype");
  CHECK(with(kI8, 0, -129, 127) == "error: min -129 and max 127 are no bounds of the output");
  CHECK(with(kI8, 0, 3, 2) == "error: min 3 and max 2 are no bounds of the output");
  CHECK(with(kU8, 0, 0, 256) == "error: min 0 and max 256 are no bounds of the output");
}

TEST_CASE("Quantized conv: a rounding that does not exist is refused") {
  CHECK(FixedPoint().Infer(Conv(static_cast<Rounding>(4))) == "error: there is no rounding 4");
}

QuantizedMatMulAttributes GemmAttributes(Rounding rounding) {
  QuantizedMatMulAttributes attributes;
  attributes.output.rounding = rounding;
  return attributes;
}

OpTester Matrices() {
  return OpTester(kQuantizedMatMulRow).Input(kU8, {2, 1, 3, 5}).Input(kI8, {4, 5, 7});
}

TEST_CASE("Quantized matmul: the shape is the product's, transposed and broadcast") {
  const QuantizedMatMulAttributes attributes = GemmAttributes(Rounding::kHalfEven);
  CHECK(Matrices().Absent().Input(kF32, {7}).Infer(attributes) == "i8[2,4,3,7]");
  QuantizedMatMulAttributes transposed = GemmAttributes(Rounding::kFixedPoint);
  transposed.matmul.transpose_b = 1;
  const OpTester fully_connected = OpTester(kQuantizedMatMulRow)
                                       .Input(kI8, {1, 64})
                                       .Input(kI8, {10, 64})
                                       .Input(kI32, {10})
                                       .Input(kI32, {1})
                                       .Input(kI8, {1})
                                       .Input(kI8, {1})
                                       .Input(kI8, {10});
  CHECK(fully_connected.Infer(transposed) == "i8[1,10]");
}

TEST_CASE("Quantized matmul: it alone may be rounded once, with a shift as where it is twice") {
  const OpTester with_shift = Matrices().Absent().Input(kI32, {7}).Input(kI8, {7});
  CHECK(with_shift.Infer(GemmAttributes(Rounding::kFixedPointOnce)) == "i8[2,4,3,7]");
  CHECK(Matrices().Absent().Input(kI32, {7}).Infer(GemmAttributes(Rounding::kFixedPointOnce)) ==
        "error: a shift (input 4) goes with rounding fixed_point, and only with it");
  CHECK(FixedPoint().Infer(Conv(Rounding::kFixedPointOnce)) ==
        "error: only matrix products are rounded fixed_point_once");
}

TEST_CASE("Quantized matmul: vectors are for columns, and a has one zero point") {
  const QuantizedMatMulAttributes attributes = GemmAttributes(Rounding::kHalfEven);
  CHECK(Matrices().Absent().Input(kF32, {3}).Infer(attributes) ==
        "error: input 3 must be a vector of 1 or 7 elements");
  CHECK(Matrices().Absent().Input(kF32, {1}).Absent().Input(kU8, {3}).Infer(attributes) ==
        "error: input 5 must be a vector of 1 or 1 elements");
  CHECK(Matrices().Input(kI32, {3}).Input(kF32, {1}).Infer(attributes) ==
        "error: the bias must be a vector of 7 elements of i32");
}

TEST_CASE("Quantized matmul: what is wrong with a product is wrong with this one") {
  QuantizedMatMulAttributes attributes = GemmAttributes(Rounding::kHalfEven);
  attributes.matmul.transpose_b = 1;
  CHECK(Matrices().Absent().Input(kF32, {1}).Infer(attributes) ==
        "error: inner dimensions must be equal and at least 1, not 5 and 7");
  attributes = GemmAttributes(Rounding::kHalfEven);
  attributes.matmul.activation.function = UnaryFunction::kRelu;
  CHECK(Matrices().Absent().Input(kF32, {1}).Infer(attributes) ==
        "error: a quantized product has no activation: its bounds stand for one");
}

}  // namespace
}  // namespace tenon
