#include "runtime/ops/host/op_host_row.hpp"

#include <doctest/doctest.h>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

OpWork WorkOf(OpKind kind, const OpTester& op, const void* attributes = nullptr) {
  return op.With(attributes, [kind](const OpCall& call) { return GetOpHostRow(kind).work(call); });
}

TEST_CASE("Host rows: every kind has its own row, with a work formula") {
  for (int i = 0; i < kOpKindCount; ++i) {
    const OpHostRow& row = GetOpHostRow(static_cast<OpKind>(i));
    const bool has_formula = row.work != nullptr;
    CHECK(has_formula);
  }
}

TEST_CASE("Host rows: views are the ops that need not move anything") {
  CHECK(GetOpHostRow(OpKind::kSlice).view == ViewKind::kOutputInsideInput);
  CHECK(GetOpHostRow(OpKind::kExpand).view == ViewKind::kOutputInsideInput);
  CHECK(GetOpHostRow(OpKind::kConcat).view == ViewKind::kInputsInsideOutput);
  CHECK(GetOpHostRow(OpKind::kReshape).view == ViewKind::kSameElements);
  CHECK(GetOpHostRow(OpKind::kTranspose).view == ViewKind::kSameElements);
  CHECK(GetOpHostRow(OpKind::kCopy).view == ViewKind::kSameElements);
  CHECK(GetOpHostRow(OpKind::kPad).view == ViewKind::kNone);
  CHECK(GetOpHostRow(OpKind::kCast).view == ViewKind::kNone);
}

TEST_CASE("Host rows: only elementwise operands may be overwritten") {
  CHECK(GetOpRow(OpKind::kUnary).in_place_inputs == 0b1);
  CHECK(GetOpRow(OpKind::kBinary).in_place_inputs == 0b11);
  CHECK(GetOpRow(OpKind::kSoftmax).in_place_inputs == 0b1);
  CHECK(GetOpRow(OpKind::kConv).in_place_inputs == 0b1000);
  CHECK(GetOpRow(OpKind::kMatMul).in_place_inputs == 0);
  CHECK(GetOpRow(OpKind::kLrn).in_place_inputs == 0);
  CHECK(GetOpRow(OpKind::kSelect).in_place_inputs == 0);
  CHECK(GetOpRow(OpKind::kCast).in_place_inputs == 0);
}

// The figures of the hand-computed case of the board npu-3unit.
TEST_CASE("Work: a 1x1 convolution of 64 channels of 28x28") {
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {1, 64, 28, 28})
                            .Input(kF32, {64, 64, 1, 1})
                            .Output(kF32, {1, 64, 28, 28});
  const ConvAttributes attributes;
  const OpWork work = WorkOf(OpKind::kConv, conv, &attributes);
  CHECK(work.multiply_accumulates == 3'211'264);
  CHECK(work.elementary_ops == 0);
  CHECK(work.bytes_read + work.bytes_written == 417'792);
}

TEST_CASE("Work: relu costs 4 per element, an addition 1") {
  const OpTester relu =
      OpTester(kUnaryRow).Input(kF32, {1, 64, 28, 28}).Output(kF32, {1, 64, 28, 28});
  const UnaryAttributes relu_attributes = {UnaryFunction::kRelu, 0.0F, 0.0F};
  CHECK(WorkOf(OpKind::kUnary, relu, &relu_attributes).elementary_ops == 50'176 * 4);

  const OpTester add = OpTester(kBinaryRow)
                           .Input(kF32, {1, 64, 28, 28})
                           .Input(kF32, {1, 64, 28, 28})
                           .Output(kF32, {1, 64, 28, 28});
  const BinaryAttributes add_attributes;
  const OpWork work = WorkOf(OpKind::kBinary, add, &add_attributes);
  CHECK(work.elementary_ops == 50'176);
  CHECK(work.bytes_read + work.bytes_written == 602'112);
}

TEST_CASE("Work: what is fused into a convolution adds to it") {
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {1, 4, 8, 8})
                            .Input(kF32, {6, 2, 3, 3})
                            .Input(kF32, {6})
                            .Input(kF32, {1, 6, 6, 6})
                            .Output(kF32, {1, 6, 6, 6});
  ConvAttributes attributes;
  attributes.group = 2;
  attributes.activation.function = UnaryFunction::kRelu;
  const OpWork work = WorkOf(OpKind::kConv, conv, &attributes);
  CHECK(work.multiply_accumulates == 6 * 36 * 2 * 9);
  CHECK(work.elementary_ops == 6 * 36 * (1 + 1 + 4));
  CHECK(work.bytes_read == 4 * (256 + 108 + 6 + 216));
  CHECK(work.bytes_written == 4 * 216);
}

TEST_CASE("Work: a matrix product multiplies along the inner dimension, transposed or not") {
  const OpTester plain = OpTester(kMatMulRow)
                             .Input(kF32, {7, 2, 3})
                             .Input(kF32, {3, 5})
                             .Input(kF32, {5})
                             .Output(kF32, {7, 2, 5});
  MatMulAttributes attributes;
  CHECK(WorkOf(OpKind::kMatMul, plain, &attributes).multiply_accumulates == 7 * 2 * 3 * 5);
  CHECK(WorkOf(OpKind::kMatMul, plain, &attributes).elementary_ops == 7 * 2 * 5);
  const OpTester transposed =
      OpTester(kMatMulRow).Input(kF32, {3, 2}).Input(kF32, {3, 5}).Output(kF32, {2, 5});
  attributes.transpose_a = 1;
  CHECK(WorkOf(OpKind::kMatMul, transposed, &attributes).multiply_accumulates == 2 * 3 * 5);
}

TEST_CASE("Work: pooling and reductions cost one per input element, softmax 8") {
  const OpTester pool = OpTester(kMaxPoolRow).Input(kF32, {1, 2, 8, 8}).Output(kF32, {1, 2, 4, 4});
  CHECK(WorkOf(OpKind::kMaxPool, pool).elementary_ops == 128);
  CHECK(WorkOf(OpKind::kAveragePool, pool).elementary_ops == 128);
  const OpTester reduce = OpTester(kReduceRow).Input(kF32, {4, 5}).Output(kF32, {4, 1});
  CHECK(WorkOf(OpKind::kReduce, reduce).elementary_ops == 20);
  const OpTester softmax = OpTester(kSoftmaxRow).Input(kF32, {4, 5}).Output(kF32, {4, 5});
  CHECK(WorkOf(OpKind::kSoftmax, softmax).elementary_ops == 160);
}

TEST_CASE("Work: LRN sums the neighbours that there are") {
  const OpTester lrn = OpTester(kLrnRow).Input(kF32, {1, 8, 2, 2}).Output(kF32, {1, 8, 2, 2});
  LrnAttributes attributes;
  attributes.size = 5;
  CHECK(WorkOf(OpKind::kLrn, lrn, &attributes).elementary_ops == 32 * (5 + 4));
  attributes.size = 99;
  CHECK(WorkOf(OpKind::kLrn, lrn, &attributes).elementary_ops == 32 * (8 + 4));
}

TEST_CASE("Work: resizing costs its taps") {
  const OpTester resize = OpTester(kResizeRow).Input(kF32, {1, 1, 2, 2}).Output(kF32, {1, 1, 4, 4});
  ResizeAttributes attributes;
  CHECK(WorkOf(OpKind::kResize, resize, &attributes).elementary_ops == 16);
  attributes.mode = ResizeMode::kLinear;
  CHECK(WorkOf(OpKind::kResize, resize, &attributes).elementary_ops == 16 * 4);
  attributes.mode = ResizeMode::kCubic;
  CHECK(WorkOf(OpKind::kResize, resize, &attributes).elementary_ops == 16 * 16);
}

TEST_CASE("Work: moving costs one per output element; a slice reads what it takes") {
  const OpTester slice = OpTester(kSliceRow).Input(DType::kF16, {100}).Output(DType::kF16, {10});
  const OpWork work = WorkOf(OpKind::kSlice, slice);
  CHECK(work.elementary_ops == 10);
  CHECK(work.multiply_accumulates == 0);
  CHECK(work.bytes_read == 20);
  CHECK(work.bytes_written == 20);
  const OpTester gather =
      OpTester(kGatherRow).Input(kF32, {1000, 8}).Input(DType::kI64, {3}).Output(kF32, {3, 8});
  CHECK(WorkOf(OpKind::kGather, gather).bytes_read == 3 * 8 * 4 + 3 * 8);
}

TEST_CASE("Work: padding and repetition read each input element once") {
  const OpTester pad = OpTester(kPadRow).Input(kF32, {10}).Output(kF32, {16});
  CHECK(WorkOf(OpKind::kPad, pad).bytes_read == 40);
  const OpTester expand = OpTester(kExpandRow).Input(kF32, {1, 3}).Output(kF32, {5, 3});
  CHECK(WorkOf(OpKind::kExpand, expand).bytes_read == 12);
  CHECK(WorkOf(OpKind::kExpand, expand).bytes_written == 60);
}

TEST_CASE("Work: a tensor used twice is read once, an absent one never") {
  const OpTester square = OpTester(kBinaryRow).Input(kF32, {10}).SameAs(0).Output(kF32, {10});
  const BinaryAttributes attributes;
  CHECK(WorkOf(OpKind::kBinary, square, &attributes).bytes_read == 40);
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {1, 1, 2, 2})
                            .Input(kF32, {1, 1, 1, 1})
                            .Absent()
                            .Output(kF32, {1, 1, 2, 2});
  const ConvAttributes conv_attributes;
  CHECK(WorkOf(OpKind::kConv, conv, &conv_attributes).bytes_read == 20);
}

}  // namespace
}  // namespace tenon
