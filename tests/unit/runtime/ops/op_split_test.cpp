#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/host/op_host_row.hpp"
#include "runtime/ops/host/op_table.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/runtime/ops/op_tester.hpp"

namespace tenon {
namespace {

/// "1: x1[2,9) whole": granularity, then of every input what a part of output indices `out` needs;
/// "no" if there is no such cut.
std::string Cut(OpKind kind, const OpTester& op, int32_t axis, const IndexRange& out,
                const void* attributes) {
  return op.With(attributes, [&](const OpCall& call) {
    InputSplit splits[6];
    int32_t granularity = 0;
    if (!GetOpHostRow(kind).split.along(call, axis, splits, &granularity)) return std::string("no");
    std::string text = std::to_string(granularity) + ":";
    for (int i = 0; i < call.InputCount(); ++i) {
      if (splits[i].axis < 0) {
        text += " whole";
        continue;
      }
      const IndexRange range = InputRange(splits[i], out, call.Input(i).dims[splits[i].axis]);
      text += " x" + std::to_string(splits[i].axis) + "[" + std::to_string(range.begin) + "," +
              std::to_string(range.end) + ")";
    }
    return text;
  });
}

template <typename Attributes>
Attributes Part(OpKind kind, const OpTester& op, int32_t axis, const IndexRange& out,
                const Attributes& whole) {
  return op.With(&whole, [&](const OpCall& call) {
    Attributes part = whole;
    GetOpHostRow(kind).split.part_attributes(call, axis, out, &part);
    return part;
  });
}

TEST_CASE("Split rows: every kind has its own row, with dimensions to try") {
  for (int i = 0; i < kOpKindCount; ++i) {
    const OpSplit& row = GetOpHostRow(static_cast<OpKind>(i)).split;
    CAPTURE(std::string(GetOpRow(static_cast<OpKind>(i)).name));
    CHECK_FALSE(row.preference.empty());
    const bool complete = row.axis != nullptr && row.along != nullptr;
    CHECK(complete);
  }
}

TEST_CASE("Split rows: batch is tried first, and no dimension twice") {
  for (int i = 0; i < kOpKindCount; ++i) {
    const Span<const SplitDimension> tried = GetOpHostRow(static_cast<OpKind>(i)).split.preference;
    CAPTURE(std::string(GetOpRow(static_cast<OpKind>(i)).name));
    CHECK(tried[0] == SplitDimension::kBatch);
    for (const SplitDimension dimension : tried) {
      CHECK(std::count(tried.begin(), tried.end(), dimension) == 1);
    }
  }
}

TEST_CASE("Input range: whole inputs, halos, and never nothing") {
  CHECK(InputRange({}, {3, 4}, 7).begin == 0);
  CHECK(InputRange({}, {3, 4}, 7).end == 7);
  const InputSplit window = {2, 2, 1, 1, 3};  // kernel 3, stride 2, padding 1
  CHECK(InputRange(window, {0, 2}, 8).begin == 0);
  CHECK(InputRange(window, {0, 2}, 8).end == 4);
  CHECK(InputRange(window, {2, 4}, 8).begin == 3);
  CHECK(InputRange(window, {2, 4}, 8).end == 8);
  const InputSplit padding = {2, 1, 1, 5, 1};
  CHECK(InputRange(padding, {0, 3}, 4).begin == 0);
  CHECK(InputRange(padding, {0, 3}, 4).end == 1);
  CHECK(InputRange(padding, {10, 12}, 4).begin == 3);
  CHECK(InputRange(padding, {10, 12}, 4).end == 4);
  CHECK(InputRange(padding, {10, 12}, 0).size() == 0);
}

TEST_CASE("Convolution: channels cut weights, bias and residual, rows need a halo") {
  ConvAttributes attributes;
  attributes.strides[0] = 2;
  attributes.pads[0] = attributes.pads[2] = 1;
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {2, 3, 8, 8})
                            .Input(kF32, {6, 3, 3, 1})
                            .Input(kF32, {6})
                            .Input(kF32, {2, 6, 4, 8})
                            .Output(kF32, {2, 6, 4, 8});
  const auto cut = [&](int32_t axis, const IndexRange& out) {
    return Cut(OpKind::kConv, conv, axis, out, &attributes);
  };
  CHECK(cut(0, {1, 2}) == "1: x0[1,2) whole whole x0[1,2)");
  CHECK(cut(1, {2, 5}) == "1: whole x0[2,5) x0[2,5) x1[2,5)");
  CHECK(cut(2, {1, 3}) == "1: x2[1,6) whole whole x2[1,3)");
  CHECK(cut(3, {4, 8}) == "1: x3[4,8) whole whole x3[4,8)");
  CHECK(cut(4, {0, 1}) == "no");

  const ConvAttributes first = Part(OpKind::kConv, conv, 2, {0, 2}, attributes);
  CHECK(first.pads[0] == 1);
  CHECK(first.pads[2] == 0);
  const ConvAttributes last = Part(OpKind::kConv, conv, 2, {2, 4}, attributes);
  CHECK(last.pads[0] == 0);
  CHECK(last.pads[2] == 0);  // the last window ends with the input
}

TEST_CASE("Convolution: scales of weights are cut with the outputs, means with the inputs") {
  ConvAttributes attributes;
  attributes.group = 3;
  const OpTester conv = OpTester(kConvRow)
                            .Input(DType::kU8, {1, 6, 4, 4})
                            .Input(DType::kI8, {12, 2, 1, 1})
                            .Absent()
                            .Absent()
                            .Input(kF32, {12})
                            .Input(kF32, {6})
                            .Output(kF32, {1, 12, 4, 4});
  const std::string by_channels = Cut(OpKind::kConv, conv, 1, {4, 12}, &attributes);
  CHECK(by_channels == "4: x1[2,6) x0[4,12) whole whole x0[4,12) x0[2,6)");
  const std::string by_rows = Cut(OpKind::kConv, conv, 2, {1, 3}, &attributes);
  CHECK(by_rows == "1: x2[1,3) whole whole whole whole whole");
}

TEST_CASE("Matrix product: scales of the second factor are cut with its columns") {
  const MatMulAttributes attributes;
  const OpTester product = OpTester(kMatMulRow)
                               .Input(kF32, {5, 4})
                               .Input(DType::kI8, {4, 7})
                               .Absent()
                               .Input(kF32, {7})
                               .Output(kF32, {5, 7});
  const std::string by_columns = Cut(OpKind::kMatMul, product, 1, {2, 6}, &attributes);
  CHECK(by_columns == "1: whole x1[2,6) whole x0[2,6)");
  CHECK(Cut(OpKind::kMatMul, product, 0, {1, 3}, &attributes) == "1: x0[1,3) whole whole whole");
}

TEST_CASE("Convolution: groups are cut between groups, with the input channels they read") {
  ConvAttributes attributes;
  attributes.group = 3;
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {1, 6, 4, 4})
                            .Input(kF32, {12, 2, 1, 1})
                            .Output(kF32, {1, 12, 4, 4});
  CHECK(Cut(OpKind::kConv, conv, 1, {4, 12}, &attributes) == "4: x1[2,6) x0[4,12)");
  CHECK(Cut(OpKind::kConv, conv, 1, {0, 4}, &attributes) == "4: x1[0,2) x0[0,4)");
  CHECK(Part(OpKind::kConv, conv, 1, {4, 12}, attributes).group == 2);
}

TEST_CASE("Convolution: rows of which some see padding only are not cut") {
  ConvAttributes attributes;
  attributes.pads[0] = 3;
  const OpTester conv = OpTester(kConvRow)
                            .Input(kF32, {1, 1, 4, 4})
                            .Input(kF32, {1, 1, 3, 3})
                            .Output(kF32, {1, 1, 5, 2});
  CHECK(Cut(OpKind::kConv, conv, 2, {0, 1}, &attributes) == "no");
  CHECK(Cut(OpKind::kConv, conv, 3, {0, 1}, &attributes) == "1: x3[0,3) whole");
}

TEST_CASE("Matrix product: columns cut the second operand, rows the first") {
  MatMulAttributes attributes;
  const OpTester product = OpTester(kMatMulRow)
                               .Input(kF32, {2, 5, 4})
                               .Input(kF32, {4, 7})
                               .Input(kF32, {7})
                               .Output(kF32, {2, 5, 7});
  CHECK(Cut(OpKind::kMatMul, product, 0, {1, 2}, &attributes) == "1: x0[1,2) whole whole");
  CHECK(Cut(OpKind::kMatMul, product, 1, {1, 3}, &attributes) == "1: x1[1,3) whole whole");
  CHECK(Cut(OpKind::kMatMul, product, 2, {2, 6}, &attributes) == "1: whole x1[2,6) x0[2,6)");
  attributes.transpose_a = attributes.transpose_b = 1;
  const OpTester transposed =
      OpTester(kMatMulRow).Input(kF32, {4, 5}).Input(kF32, {7, 4}).Output(kF32, {5, 7});
  CHECK(Cut(OpKind::kMatMul, transposed, 0, {1, 3}, &attributes) == "1: x1[1,3) whole");
  CHECK(Cut(OpKind::kMatMul, transposed, 1, {2, 6}, &attributes) == "1: whole x0[2,6)");
}

TEST_CASE("Matrix product: the batch of a plain product is its rows, its channels the columns") {
  const OpTester product =
      OpTester(kMatMulRow).Input(kF32, {5, 4}).Input(kF32, {4, 7}).Output(kF32, {5, 7});
  const MatMulAttributes attributes;
  product.With(&attributes, [](const OpCall& call) {
    const OpSplit& row = GetOpHostRow(OpKind::kMatMul).split;
    CHECK(row.axis(call, SplitDimension::kBatch) == 0);
    CHECK(row.axis(call, SplitDimension::kChannel) == 1);
    CHECK(row.axis(call, SplitDimension::kHeight) == -1);
    CHECK(row.axis(call, SplitDimension::kWidth) == -1);
    return 0;
  });
}

TEST_CASE("Pools: an average that counts padding is not cut where windows leave the padding") {
  PoolAttributes attributes;
  attributes.kernel[0] = attributes.kernel[1] = 2;
  attributes.strides[0] = attributes.strides[1] = 2;
  attributes.ceil_mode = 1;
  const OpTester pool =
      OpTester(kAveragePoolRow).Input(kF32, {1, 1, 5, 4}).Output(kF32, {1, 1, 3, 2});
  CHECK(Cut(OpKind::kAveragePool, pool, 2, {2, 3}, &attributes) == "1: x2[4,5)");
  CHECK(Part(OpKind::kAveragePool, pool, 2, {2, 3}, attributes).pads[2] == 1);
  attributes.count_include_pad = 1;
  CHECK(Cut(OpKind::kAveragePool, pool, 2, {2, 3}, &attributes) == "no");
  CHECK(Cut(OpKind::kAveragePool, pool, 3, {0, 1}, &attributes) == "1: x3[0,2)");
}

TEST_CASE("Ops are not cut along the axes that they work along") {
  const OpTester unary = OpTester(kSoftmaxRow).Input(kF32, {2, 3, 4}).Output(kF32, {2, 3, 4});
  const SoftmaxAttributes softmax{1, 0};
  CHECK(Cut(OpKind::kSoftmax, unary, 1, {0, 1}, &softmax) == "no");
  CHECK(Cut(OpKind::kSoftmax, unary, 2, {0, 1}, &softmax) == "1: x2[0,1)");
  const CumSumAttributes sum{1, 0, 0};
  CHECK(Cut(OpKind::kCumSum, unary, 1, {0, 1}, &sum) == "no");
  CHECK(Cut(OpKind::kCumSum, unary, 0, {0, 1}, &sum) == "1: x0[0,1)");
  const LrnAttributes lrn;
  CHECK(Cut(OpKind::kLrn, unary, 1, {0, 1}, &lrn) == "no");
  CHECK(Cut(OpKind::kLrn, unary, 0, {0, 1}, &lrn) == "1: x0[0,1)");
  const ConcatAttributes concat{1};
  CHECK(Cut(OpKind::kConcat, unary, 1, {0, 1}, &concat) == "no");
}

TEST_CASE("GridSample: points are cut, and channels; a point may lie anywhere in its image") {
  const OpTester op = OpTester(kGridSampleRow)
                          .Input(kF32, {2, 3, 5, 6})
                          .Input(kF32, {2, 7, 8, 2})
                          .Output(kF32, {2, 3, 7, 8});
  const GridSampleAttributes attributes;
  const auto cut = [&](int32_t axis, IndexRange range) {
    return Cut(OpKind::kGridSample, op, axis, range, &attributes);
  };
  CHECK(cut(0, {1, 2}) == "1: x0[1,2) x0[1,2)");
  CHECK(cut(1, {1, 3}) == "1: x1[1,3) whole");
  CHECK(cut(2, {4, 7}) == "1: whole x1[4,7)");
  CHECK(cut(3, {0, 5}) == "1: whole x2[0,5)");
}

TEST_CASE("Reduce: the axes that stay are cut, wherever they stand in the output") {
  ReduceAttributes attributes;
  attributes.axes_mask = 0b010;
  attributes.keep_dims = 0;
  const OpTester dropped = OpTester(kReduceRow).Input(kF32, {2, 3, 4}).Output(kF32, {2, 4});
  CHECK(Cut(OpKind::kReduce, dropped, 1, {1, 3}, &attributes) == "1: x2[1,3)");
  attributes.keep_dims = 1;
  const OpTester kept = OpTester(kReduceRow).Input(kF32, {2, 3, 4}).Output(kF32, {2, 1, 4});
  CHECK(Cut(OpKind::kReduce, kept, 1, {0, 1}, &attributes) == "no");
  CHECK(Cut(OpKind::kReduce, kept, 2, {1, 3}, &attributes) == "1: x2[1,3)");
}

TEST_CASE("Reshape: the outermost axis of what is regrouped is cut, in whole input rows") {
  const auto reshape = [](const std::vector<int32_t>& from, const std::vector<int32_t>& to,
                          int32_t axis, const IndexRange& out) {
    ReshapeAttributes attributes;
    attributes.rank = static_cast<int32_t>(to.size());
    std::copy(to.begin(), to.end(), attributes.dims);
    const OpTester op = OpTester(kReshapeRow).Input(kF32, from).Output(kF32, to);
    return Cut(OpKind::kReshape, op, axis, out, &attributes);
  };
  // Of a pixel shuffle by 2: channels apart, and rows together.
  CHECK(reshape({1, 12, 5, 6}, {1, 3, 2, 2, 5, 6}, 4, {1, 3}) == "1: x2[1,3)");
  CHECK(reshape({1, 12, 5, 6}, {1, 3, 2, 2, 5, 6}, 1, {1, 3}) == "1: x1[4,12)");
  CHECK(reshape({1, 12, 5, 6}, {1, 3, 2, 2, 5, 6}, 3, {0, 1}) == "no");
  CHECK(reshape({1, 3, 5, 2, 6, 2}, {1, 3, 10, 12}, 2, {2, 6}) == "2: x2[1,3)");
  CHECK(reshape({1, 3, 5, 2, 6, 2}, {1, 3, 10, 12}, 3, {2, 6}) == "2: x4[1,3)");
  CHECK(reshape({4, 6}, {4, 6}, 0, {1, 2}) == "1: x0[1,2)");
  CHECK(reshape({6, 4}, {8, 3}, 0, {4, 8}) == "4: x0[3,6)");
  CHECK(reshape({2, 6}, {3, 4}, 1, {0, 2}) == "no");
}

TEST_CASE("Transpose: dimensions that move are cut only as a last resort") {
  TransposeAttributes attributes;
  attributes.rank = 4;
  const int32_t permutation[] = {0, 2, 1, 3};
  std::copy(permutation, permutation + 4, attributes.permutation);
  const OpTester op = OpTester(kTransposeRow).Input(kF32, {1, 5, 7, 9}).Output(kF32, {1, 7, 5, 9});
  op.With(&attributes, [](const OpCall& call) {
    const OpSplit& row = GetOpHostRow(OpKind::kTranspose).split;
    CHECK(row.axis(call, SplitDimension::kBatch) == 0);
    CHECK(row.axis(call, SplitDimension::kChannel) == -1);
    CHECK(row.axis(call, SplitDimension::kWidth) == 3);
    CHECK(row.axis(call, SplitDimension::kOther) == 1);
    return 0;
  });
  CHECK(Cut(OpKind::kTranspose, op, 1, {2, 4}, &attributes) == "1: x2[2,4)");
}

TEST_CASE("Resize: rows of a whole multiple are cut in groups of equal rows") {
  const auto resize = [](ResizeMode mode, CoordinateMode coordinates, NearestMode nearest,
                         int32_t axis) {
    ResizeAttributes attributes;
    attributes.mode = mode;
    attributes.coordinates = coordinates;
    attributes.nearest = nearest;
    attributes.rank = 4;
    const int32_t sizes[] = {1, 2, 12, 4};
    const float scales[] = {1, 1, 3, 1};
    std::copy(sizes, sizes + 4, attributes.sizes);
    std::copy(scales, scales + 4, attributes.scales);
    const OpTester op = OpTester(kResizeRow).Input(kF32, {1, 2, 4, 4}).Output(kF32, {1, 2, 12, 4});
    return Cut(OpKind::kResize, op, axis, {3, 6}, &attributes);
  };
  const NearestMode floor = NearestMode::kFloor;
  const NearestMode round = NearestMode::kRoundPreferFloor;
  CHECK(resize(ResizeMode::kNearest, CoordinateMode::kAsymmetric, floor, 2) == "3: x2[1,2)");
  CHECK(resize(ResizeMode::kNearest, CoordinateMode::kHalfPixel, round, 2) == "3: x2[1,2)");
  CHECK(resize(ResizeMode::kNearest, CoordinateMode::kAsymmetric, round, 2) == "no");
  CHECK(resize(ResizeMode::kNearest, CoordinateMode::kHalfPixel, floor, 2) == "no");
  CHECK(resize(ResizeMode::kNearest, CoordinateMode::kAlignCorners, floor, 2) == "no");
  CHECK(resize(ResizeMode::kLinear, CoordinateMode::kHalfPixel, round, 2) == "no");
  CHECK(resize(ResizeMode::kLinear, CoordinateMode::kHalfPixel, round, 3) == "no");
  CHECK(resize(ResizeMode::kLinear, CoordinateMode::kHalfPixel, round, 0) != "no");
}

TEST_CASE("Slice: steps backwards are not cut") {
  SliceAttributes attributes;
  attributes.rank = 1;
  attributes.begins[0] = 8;
  attributes.sizes[0] = 4;
  attributes.steps[0] = -2;
  const OpTester op = OpTester(kSliceRow).Input(kF32, {9}).Output(kF32, {4});
  CHECK(Cut(OpKind::kSlice, op, 0, {1, 3}, &attributes) == "no");
  attributes.begins[0] = 1;
  attributes.steps[0] = 2;
  CHECK(Cut(OpKind::kSlice, op, 0, {1, 3}, &attributes) == "1: x0[3,6)");
  CHECK(Part(OpKind::kSlice, op, 0, {1, 3}, attributes).begins[0] == 0);
  CHECK(Part(OpKind::kSlice, op, 0, {1, 3}, attributes).sizes[0] == 2);
}

TEST_CASE("Pad: only what the value fills can be cut") {
  PadAttributes attributes;
  attributes.rank = 1;
  attributes.begins[0] = 3;
  attributes.ends[0] = -1;
  const OpTester op = OpTester(kPadRow).Input(kF32, {5}).Output(kF32, {7});
  CHECK(Cut(OpKind::kPad, op, 0, {2, 5}, &attributes) == "1: x0[0,2)");
  CHECK(Part(OpKind::kPad, op, 0, {2, 5}, attributes).begins[0] == 1);
  CHECK(Part(OpKind::kPad, op, 0, {2, 5}, attributes).ends[0] == 0);
  // Padding only: the one element there is goes.
  CHECK(Part(OpKind::kPad, op, 0, {0, 2}, attributes).begins[0] == 2);
  CHECK(Part(OpKind::kPad, op, 0, {0, 2}, attributes).ends[0] == -1);
  attributes.mode = PadMode::kEdge;
  CHECK(Cut(OpKind::kPad, op, 0, {2, 5}, &attributes) == "no");
}

TEST_CASE("Gather: the axes of the indices cut the indices, the others the data") {
  const GatherAttributes attributes{1};
  const OpTester op = OpTester(kGatherRow)
                          .Input(kF32, {2, 9, 4})
                          .Input(DType::kI64, {3, 5})
                          .Output(kF32, {2, 3, 5, 4});
  CHECK(Cut(OpKind::kGather, op, 0, {1, 2}, &attributes) == "1: x0[1,2) whole");
  CHECK(Cut(OpKind::kGather, op, 2, {1, 4}, &attributes) == "1: whole x1[1,4)");
  CHECK(Cut(OpKind::kGather, op, 3, {1, 4}, &attributes) == "1: x2[1,4) whole");
}

TEST_CASE("Elementwise: operands of one element along the axis stay whole") {
  const BinaryAttributes attributes;
  const OpTester op = OpTester(kBinaryRow)
                          .Input(kF32, {2, 6, 4, 4})
                          .Input(kF32, {6, 1, 1})
                          .Output(kF32, {2, 6, 4, 4});
  CHECK(Cut(OpKind::kBinary, op, 0, {0, 1}, &attributes) == "1: x0[0,1) whole");
  CHECK(Cut(OpKind::kBinary, op, 1, {2, 3}, &attributes) == "1: x1[2,3) x0[2,3)");
  CHECK(Cut(OpKind::kBinary, op, 2, {2, 3}, &attributes) == "1: x2[2,3) whole");
}

}  // namespace
}  // namespace tenon
