// Shape rules of the quantized ops but the convolution and the matrix product.
#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

std::string Quantize(DType to, DType zero_point, int32_t count, int32_t axis,
                     Rounding rounding = Rounding::kHalfEven) {
  const QuantizeAttributes attributes = {static_cast<int32_t>(to), axis, rounding};
  return OpTester(kQuantizeRow)
      .Input(kF32, {2, 3, 4})
      .Input(kF32, {count})
      .Input(zero_point, {count})
      .Infer(attributes);
}

TEST_CASE("Quantize: to every integer of 8 and 16 bits, whole or along an axis") {
  for (const DType to : {kI8, kU8, DType::kI16, DType::kU16}) {
    CHECK(Quantize(to, to, 1, 0) == std::string(DTypeName(to)) + "[2,3,4]");
  }
  CHECK(Quantize(kI8, kI8, 3, 1) == "i8[2,3,4]");
  CHECK(Quantize(kI8, kI8, 4, 2, Rounding::kHalfAway) == "i8[2,3,4]");
  CHECK(Quantize(DType::kI32, DType::kI32, 1, 0) == "error: the output must be i8, u8, i16 or u16");
  CHECK(Quantize(static_cast<DType>(99), kI8, 1, 0) ==
        "error: the output must be i8, u8, i16 or u16");
}

TEST_CASE("Quantize: the zero point is optional, a scalar has an axis 0") {
  const QuantizeAttributes attributes;
  CHECK(OpTester(kQuantizeRow).Input(kF32, {5}).Input(kF32, {5}).Infer(attributes) == "i8[5]");
  CHECK(OpTester(kQuantizeRow).Input(kF32, {}).Input(kF32, {1}).Infer(attributes) == "i8[]");
}

TEST_CASE("Quantize: refuses parameters that fit neither the tensor nor an axis") {
  CHECK(Quantize(kI8, kI8, 2, 1) == "error: input 1 must be a vector of 1 or 3 elements");
  CHECK(Quantize(kI8, kU8, 1, 0) == "error: input 2 has the wrong dtype");
  CHECK(Quantize(kI8, kI8, 1, 3) == "error: there is no axis 3 in a tensor of rank 3");
  CHECK(Quantize(kI8, kI8, 1, -1) == "error: there is no axis -1 in a tensor of rank 3");
  CHECK(Quantize(kI8, kI8, 1, 0, Rounding::kFixedPoint) ==
        "error: quotients are rounded half_even or half_away");
  const OpTester uneven = OpTester(kQuantizeRow).Input(kF32, {3}).Input(kF32, {3}).Input(kI8, {1});
  CHECK(uneven.Infer() == "error: there must be as many zero points as scales");
  CHECK(OpTester(kQuantizeRow).Input(kI8, {3}).Input(kF32, {1}).Infer() ==
        "error: the input must be f32");
  CHECK(OpTester(kQuantizeRow).Input(kF32, {3}).Input(DType::kF16, {1}).Infer() ==
        "error: input 1 has the wrong dtype");
  CHECK(OpTester(kQuantizeRow).Input(kF32, {3}).Input(kF32, {1, 1}).Infer() ==
        "error: input 1 must be a vector of 1 or 3 elements");
}

TEST_CASE("Dequantize: from integers of 8, 16 and 32 bits to f32") {
  for (const DType from : {kI8, kU8, DType::kI16, DType::kU16, DType::kI32}) {
    const OpTester tester =
        OpTester(kDequantizeRow).Input(from, {2, 3}).Input(kF32, {3}).Input(from, {3});
    CHECK(tester.Infer(DequantizeAttributes{1}) == "f32[2,3]");
  }
  CHECK(OpTester(kDequantizeRow).Input(DType::kI64, {2}).Input(kF32, {1}).Infer() ==
        "error: the input must be i8, u8, i16, u16 or i32");
  CHECK(OpTester(kDequantizeRow).Input(kI8, {2}).Input(kF32, {1}).Input(kU8, {1}).Infer() ==
        "error: input 2 has the wrong dtype");
}

TEST_CASE("Lookup: a byte and a table of 256 give the table's dtype") {
  const auto lookup = [](DType x, DType table, const std::vector<int32_t>& dims) {
    return OpTester(kLookupRow).Input(x, {2, 5}).Input(table, dims).Infer();
  };
  CHECK(lookup(kI8, kU8, {256}) == "u8[2,5]");
  CHECK(lookup(kU8, kF32, {256}) == "f32[2,5]");
  CHECK(lookup(DType::kBool, kI8, {256}) == "error: the input must be i8 or u8");
  CHECK(lookup(kI8, DType::kI16, {256}) == "error: the table must be i8, u8 or f32");
  CHECK(lookup(kI8, kI8, {255}) == "error: the table must have 256 entries");
  CHECK(lookup(kI8, kI8, {16, 16}) == "error: the table must have 256 entries");
}

std::string Binary(const QuantizedBinaryAttributes& attributes, DType x = kI8, DType y = kI8) {
  return OpTester(kQuantizedBinaryRow).Input(x, {2, 1, 5}).Input(y, {3, 1}).Infer(attributes);
}

QuantizedBinaryAttributes BinaryOf(BinaryFunction function, Rounding rounding) {
  QuantizedBinaryAttributes attributes;
  attributes.function = function;
  attributes.output.rounding = rounding;
  return attributes;
}

TEST_CASE("Quantized binary: broadcasts, and has forms of a few functions") {
  for (const BinaryFunction function :
       {BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul}) {
    CHECK(Binary(BinaryOf(function, Rounding::kHalfEven)) == "i8[2,3,5]");
    CHECK(Binary(BinaryOf(function, Rounding::kFixedPoint), kU8, kI8) == "i8[2,3,5]");
    CHECK(Binary(BinaryOf(function, Rounding::kFixedPointOnce)).find("has no quantized form") !=
          std::string::npos);
  }
  for (const BinaryFunction function :
       {BinaryFunction::kDiv, BinaryFunction::kMax, BinaryFunction::kMin}) {
    CHECK(Binary(BinaryOf(function, Rounding::kHalfEven)) == "i8[2,3,5]");
  }
  CHECK(Binary(BinaryOf(BinaryFunction::kDiv, Rounding::kFixedPoint)) ==
        "error: div has no quantized form with this rounding");
  CHECK(Binary(BinaryOf(BinaryFunction::kAdd, Rounding::kHalfAway)) ==
        "error: add has no quantized form with this rounding");
  CHECK(Binary(BinaryOf(BinaryFunction::kPow, Rounding::kHalfEven)) ==
        "error: pow has no quantized form with this rounding");
  CHECK(Binary(BinaryOf(static_cast<BinaryFunction>(-1), Rounding::kHalfEven)) ==
        "error: there is no function -1");
}

TEST_CASE("Quantized binary: in fixed point operands may have more bits, and the result 16") {
  QuantizedBinaryAttributes attributes = BinaryOf(BinaryFunction::kAdd, Rounding::kFixedPoint);
  CHECK(Binary(attributes, kI32, DType::kI16) == "i8[2,3,5]");
  attributes.output.to = static_cast<int32_t>(DType::kI16);
  attributes.output.min = -32768;
  attributes.output.max = 32767;
  CHECK(Binary(attributes, DType::kI16, kI8) == "i16[2,3,5]");
  attributes.output.max = 32768;
  CHECK(Binary(attributes, kI8, kI8) ==
        "error: min -32768 and max 32768 are no bounds of the output");
  attributes.output.max = 32767;
  attributes.output.zero_point = 1;
  CHECK(Binary(attributes, kI8, kI8) == "error: 1 cannot be a zero point of this dtype");
  attributes.output.zero_point = 0;
  attributes.x_zero_point = 1;
  CHECK(Binary(attributes, kI8, kI32) == "i16[2,3,5]");
  CHECK(Binary(attributes, kI32, kI8) == "error: 1 cannot be a zero point of this dtype");
  attributes.x_zero_point = 0;
  attributes.output.rounding = Rounding::kHalfEven;
  CHECK(Binary(attributes, kI8, kI8) == "error: a quantized output is i8 or u8");
  attributes.output = {};
  CHECK(Binary(attributes, DType::kI16, kI8) ==
        "error: operands must be i8 or u8, or i16 or i32 with fixed_point");
}

TEST_CASE("Quantized binary: refuses operands and parameters out of range") {
  QuantizedBinaryAttributes attributes;
  CHECK(Binary(attributes, kF32, kI8) ==
        "error: operands must be i8 or u8, or i16 or i32 with fixed_point");
  CHECK(OpTester(kQuantizedBinaryRow).Input(kI8, {2}).Input(kI8, {3}).Infer(attributes) ==
        "error: the operands do not broadcast");
  attributes.x_zero_point = 128;
  CHECK(Binary(attributes) == "error: 128 cannot be a zero point of this dtype");
  attributes = {};
  attributes.y_zero_point = -1;
  CHECK(Binary(attributes, kI8, kU8) == "error: -1 cannot be a zero point of this dtype");
  attributes = {};
  attributes.left_shift = 23;
  CHECK(Binary(attributes) == "error: left_shift must be from 0 to 22, not 23");
  attributes.left_shift = -1;
  CHECK(Binary(attributes) == "error: left_shift must be from 0 to 22, not -1");
  attributes = {};
  attributes.output.max = 128;
  CHECK(Binary(attributes) == "error: min -128 and max 128 are no bounds of the output");
}

TEST_CASE("Quantized binary: each of the three scales must be in range for the rounding") {
  QuantizedScale QuantizedBinaryAttributes::*const scales[] = {
      &QuantizedBinaryAttributes::x_scale, &QuantizedBinaryAttributes::y_scale,
      &QuantizedBinaryAttributes::output_scale};
  for (const auto scale : scales) {
    for (const float wrong : {0.0F, -1.0F, kNan, kInfinity}) {
      QuantizedBinaryAttributes attributes;
      (attributes.*scale).scale = wrong;
      CHECK(Binary(attributes) == "error: a scale must be positive and finite");
      attributes.output.rounding = Rounding::kFixedPoint;
      CHECK(Binary(attributes) == "i8[2,3,5]");
    }
    QuantizedBinaryAttributes attributes;
    attributes.output.rounding = Rounding::kFixedPoint;
    (attributes.*scale).shift = 31;
    CHECK(Binary(attributes) == "error: a shift must be from -31 to 30, not 31");
    (attributes.*scale).shift = -32;
    CHECK(Binary(attributes) == "error: a shift must be from -31 to 30, not -32");
    (attributes.*scale).shift = 0;
    (attributes.*scale).multiplier = -1;
    CHECK(Binary(attributes) == "error: a multiplier must not be negative");
  }
}

TEST_CASE("Quantized average pool: the shape is the pool's") {
  const auto pool = [](const QuantizedAveragePoolAttributes& attributes, DType x = kU8) {
    return OpTester(kQuantizedAveragePoolRow).Input(x, {1, 3, 8, 8}).Infer(attributes);
  };
  QuantizedAveragePoolAttributes attributes;
  attributes.pool.kernel[0] = attributes.pool.kernel[1] = 2;
  attributes.pool.strides[0] = 2;
  CHECK(pool(attributes) == "i8[1,3,4,7]");
  attributes.output.rounding = Rounding::kHalfAway;
  CHECK(pool(attributes) == "i8[1,3,4,7]");
  CHECK(pool(attributes, kF32) == "error: the input must be i8 or u8");
  attributes.output.rounding = Rounding::kFixedPoint;
  CHECK(pool(attributes) == "error: averages are rounded half_even or half_away");
  attributes.output.rounding = Rounding::kHalfEven;
  attributes.scale.scale = 0.0F;
  CHECK(pool(attributes) == "error: a scale must be positive and finite");
  attributes = {};
  attributes.x_zero_point = -1;
  CHECK(pool(attributes) == "error: -1 cannot be a zero point of this dtype");
  attributes = {};
  attributes.pool.pads[0] = 3;
  CHECK(pool(attributes) == "error: pads must be smaller than the window of 1");
  attributes = {};
  attributes.output.to = static_cast<int32_t>(kF32);
  CHECK(pool(attributes) == "error: a quantized output is i8 or u8");
}

TEST_CASE("Quantized average pool: parts give and take sums of 32 bits or 16") {
  const auto pool = [](DType to, DType sums, const std::vector<int32_t>& dims) {
    QuantizedAveragePoolAttributes attributes;
    attributes.output.to = static_cast<int32_t>(to);
    return OpTester(kQuantizedAveragePoolRow)
        .Input(kI8, {1, 3, 8, 8})
        .Input(sums, dims)
        .Infer(attributes);
  };
  for (const DType sums : {kI32, DType::kI16}) {
    CHECK(pool(kI8, sums, {1, 3, 8, 8}) == "i8[1,3,8,8]");
    CHECK(pool(kI32, sums, {1, 3, 8, 8}) == "i32[1,3,8,8]");
    CHECK(pool(DType::kI16, sums, {1, 3, 8, 8}) == "i16[1,3,8,8]");
  }
  const std::string refusal =
      "error: sums to add to must be i32 or i16 and have the output's shape";
  CHECK(pool(kI8, kF32, {1, 3, 8, 8}) == refusal);
  CHECK(pool(kI8, kI32, {1, 3, 8, 7}) == refusal);
}

TEST_CASE("Quantized reduce: a sum over axes, with a factor") {
  const auto reduce = [](const QuantizedReduceAttributes& attributes, DType x = kI8) {
    return OpTester(kQuantizedReduceRow).Input(x, {2, 3, 4}).Infer(attributes);
  };
  QuantizedReduceAttributes attributes;
  attributes.reduce.axes_mask = 0b110;
  attributes.output.rounding = Rounding::kFixedPoint;
  CHECK(reduce(attributes) == "i8[2,1,1]");
  attributes.reduce.keep_dims = 0;
  CHECK(reduce(attributes) == "i8[2]");
  attributes.reduce.axes_mask = 8;
  CHECK(reduce(attributes) ==
        "error: axes_mask 8 names axes that a tensor of rank 3 does not have");
  attributes = {};
  attributes.reduce.function = ReduceFunction::kMean;
  CHECK(reduce(attributes) ==
        "error: a quantized reduction is a sum, a mean's count being in the scale");
  attributes = {};
  attributes.output.rounding = Rounding::kHalfAway;
  CHECK(reduce(attributes) == "error: sums are rounded half_even or fixed_point");
  attributes = {};
  attributes.scale.scale = kNan;
  CHECK(reduce(attributes) == "error: a scale must be positive and finite");
  attributes = {};
  CHECK(reduce(attributes, DType::kI32) == "error: the input must be i8 or u8");
  attributes.x_zero_point = 200;
  CHECK(reduce(attributes, kU8) == "i8[2,3,4]");
  CHECK(reduce(attributes, kI8) == "error: 200 cannot be a zero point of this dtype");
}

TEST_CASE("Quantized softmax: keeps the shape, along an axis that is there") {
  const auto softmax = [](const QuantizedSoftmaxAttributes& attributes, DType x = kI8) {
    return OpTester(kQuantizedSoftmaxRow).Input(x, {2, 10}).Infer(attributes);
  };
  QuantizedSoftmaxAttributes attributes;
  attributes.softmax.axis = 1;
  CHECK(softmax(attributes) == "i8[2,10]");
  attributes.output.rounding = Rounding::kFixedPoint;
  attributes.least_difference = -248;
  CHECK(softmax(attributes, kU8) == "i8[2,10]");
  attributes.least_difference = 1;
  CHECK(softmax(attributes) == "error: least_difference must not be positive");
  attributes = {};
  attributes.output.rounding = Rounding::kHalfAway;
  CHECK(softmax(attributes) == "error: a softmax is rounded half_even or fixed_point");
  attributes = {};
  attributes.softmax.axis = 2;
  CHECK(softmax(attributes) == "error: there is no axis 2 in a tensor of rank 2");
  attributes.softmax.axis = -1;
  CHECK(softmax(attributes) == "error: there is no axis -1 in a tensor of rank 2");
  attributes = {};
  attributes.softmax.log = 1;
  CHECK(softmax(attributes) == "error: a quantized softmax gives no logarithm");
  attributes = {};
  attributes.output_scale = 0.0F;
  CHECK(softmax(attributes) == "error: a scale must be positive and finite");
  attributes = {};
  attributes.scale.scale = kInfinity;
  CHECK(softmax(attributes) == "error: a scale must be positive and finite");
  attributes = {};
  CHECK(softmax(attributes, kF32) == "error: the input must be i8 or u8");
  CHECK(OpTester(kQuantizedSoftmaxRow).Input(kI8, {0, 3}).Infer(attributes) ==
        "error: axis 0 is empty");
}

}  // namespace
}  // namespace tenon
