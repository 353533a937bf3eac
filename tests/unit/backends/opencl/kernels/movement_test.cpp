#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

const DType kTypes[] = {DType::kU8, DType::kI16, DType::kI32, DType::kI64};

/// Bytes that are all different enough to show where each element came from.
Tensor Numbered(DType dtype, const std::vector<int32_t>& dims, Layout layout) {
  Tensor tensor(dtype, dims, layout);
  switch (DTypeBytes(dtype)) {
    case 1: {
      std::vector<uint8_t> values(tensor.count());
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint8_t>(i * 7 + 1);
      tensor.Set(values);
      break;
    }
    case 2: {
      std::vector<uint16_t> values(tensor.count());
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint16_t>(i * 7 + 1);
      tensor.Set(values);
      break;
    }
    case 4: {
      std::vector<uint32_t> values(tensor.count());
      for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<uint32_t>(i * 70001 + 1);
      tensor.Set(values);
      break;
    }
    default: {
      std::vector<uint64_t> values(tensor.count());
      for (size_t i = 0; i < values.size(); ++i) values[i] = i * 70000000001U + 1;
      tensor.Set(values);
    }
  }
  return tensor;
}

/// Runs the op and compares bits, whatever the dtype.
template <typename Attributes>
bool SameBits(PairedOp& op, DType dtype, const Attributes& attributes) {
  switch (DTypeBytes(dtype)) {
    case 1:
      return op.Equal<uint8_t>(attributes);
    case 2:
      return op.Equal<uint16_t>(attributes);
    case 4:
      return op.Equal<uint32_t>(attributes);
    default:
      return op.Equal<uint64_t>(attributes);
  }
}

/// Every pair of layouts in f32, and every other size of element in one pair.
template <typename Body>
void ForEachLayout(const Body& body) {
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) body(DType::kF32, x, y);
  }
  for (const DType dtype : kTypes) body(dtype, Layout::kChannelsLast, Layout::kRowMajorGaps);
}

}  // namespace

TEST_CASE("OpenCL copy: any layout to any other") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (const std::vector<int32_t>& dims :
         {std::vector<int32_t>{2, 37, 5, 3}, std::vector<int32_t>{1, 3, 19, 20}}) {
      PairedOp op("opencl.copy.rows");
      op.AddInput(Numbered(dtype, dims, x));
      op.AddOutput(dims, y, dtype);
      CHECK(SameBits(op, dtype, 0));
    }
  });
}

TEST_CASE("OpenCL copy: no element, one element, a constant") {
  for (const std::vector<int32_t>& dims :
       {std::vector<int32_t>{0, 4}, std::vector<int32_t>{}, std::vector<int32_t>{1, 1, 1, 1}}) {
    for (const bool constant : {false, true}) {
      PairedOp op("opencl.copy.rows");
      op.AddInput(Numbered(DType::kF32, dims, Layout::kRowMajor), constant);
      op.AddOutput(dims, Layout::kRowMajor);
      CHECK(op.Equal<uint32_t>(0));
    }
  }
}

TEST_CASE("OpenCL concat: joins along every axis") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (int32_t axis = 0; axis < 4; ++axis) {
      PairedOp op("opencl.concat.rows");
      std::vector<int32_t> joined = {2, 17, 4, 3};
      for (const int32_t extent : {3, 1, 20}) {
        std::vector<int32_t> dims = joined;
        dims[static_cast<size_t>(axis)] = extent;
        op.AddInput(Numbered(dtype, dims, x));
      }
      joined[static_cast<size_t>(axis)] = 24;
      op.AddOutput(joined, y, dtype);
      ConcatAttributes attributes;
      attributes.axis = axis;
      CHECK(SameBits(op, dtype, attributes));
    }
  });
}

TEST_CASE("OpenCL slice: begins, steps and negative steps") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    SliceAttributes attributes;
    attributes.rank = 4;
    const int32_t begins[] = {1, 16, 0, 2};
    const int32_t sizes[] = {1, 9, 5, 3};
    const int32_t steps[] = {1000, -2, 1, -1};
    for (int k = 0; k < 4; ++k) {
      attributes.begins[k] = begins[k];
      attributes.sizes[k] = sizes[k];
      attributes.steps[k] = steps[k];
    }
    PairedOp op("opencl.slice.rows");
    op.AddInput(Numbered(dtype, {2, 17, 5, 3}, x));
    op.AddOutput({1, 9, 5, 3}, y, dtype);
    CHECK(SameBits(op, dtype, attributes));
  });
}

TEST_CASE("OpenCL transpose: every order of four dimensions, and one of six") {
  std::vector<int32_t> order = {0, 1, 2, 3};
  const std::vector<int32_t> dims = {2, 17, 4, 3};
  do {
    TransposeAttributes attributes;
    attributes.rank = 4;
    std::vector<int32_t> y_dims;
    for (int k = 0; k < 4; ++k) {
      attributes.permutation[k] = order[static_cast<size_t>(k)];
      y_dims.push_back(dims[static_cast<size_t>(order[static_cast<size_t>(k)])]);
    }
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLastGaps}) {
      PairedOp op("opencl.transpose.rows");
      op.AddInput(Numbered(DType::kF32, dims, layout));
      op.AddOutput(y_dims, layout);
      CHECK(op.Equal<uint32_t>(attributes));
    }
  } while (std::next_permutation(order.begin(), order.end()));
  PairedOp op("opencl.transpose.rows");
  TransposeAttributes attributes;
  attributes.rank = 6;
  for (int k = 0; k < 6; ++k) attributes.permutation[k] = 5 - k;
  op.AddInput(Numbered(DType::kF32, {2, 3, 2, 4, 3, 5}, Layout::kRowMajor));
  op.AddOutput({5, 3, 4, 2, 3, 2}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(attributes));
}

TEST_CASE("OpenCL expand: repeats along dimensions of one element") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (const std::vector<int32_t>& dims :
         {std::vector<int32_t>{1, 17, 1, 3}, std::vector<int32_t>{17, 1, 1},
          std::vector<int32_t>{3}, std::vector<int32_t>{}}) {
      ExpandAttributes attributes;
      attributes.rank = 4;
      const int32_t wanted[] = {2, 17, 4, 3};
      for (int k = 0; k < 4; ++k) attributes.dims[k] = wanted[k];
      PairedOp op("opencl.expand.rows");
      op.AddInput(Numbered(dtype, dims, dims.size() == 4 ? x : Layout::kRowMajor));
      op.AddOutput({2, 17, 4, 3}, y, dtype);
      CHECK(SameBits(op, dtype, attributes));
    }
  });
}

TEST_CASE("OpenCL reshape: shapes with common loops and without") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (const std::vector<int32_t>& dims :
         {std::vector<int32_t>{2, 4, 3, 18}, std::vector<int32_t>{18, 24},
          std::vector<int32_t>{5, 2, 2, 3}, std::vector<int32_t>{432}}) {
      int32_t count = 1;
      for (const int32_t dim : dims) count *= dim;
      if (count != 432) continue;
      ReshapeAttributes attributes;
      attributes.rank = static_cast<int32_t>(dims.size());
      std::copy(dims.begin(), dims.end(), attributes.dims);
      PairedOp op("opencl.reshape.any");
      op.AddInput(Numbered(dtype, {2, 12, 6, 3}, x));
      op.AddOutput(dims, y, dtype);
      CHECK(SameBits(op, dtype, attributes));
    }
  });
}

TEST_CASE("OpenCL pad: every mode around and inside every dimension") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (const PadMode mode : {PadMode::kConstant, PadMode::kEdge, PadMode::kReflect}) {
      for (const bool only_image : {false, true}) {
        PadAttributes attributes;
        attributes.mode = mode;
        attributes.value = 3.0F;
        attributes.rank = 4;
        const int32_t begins[] = {only_image ? 0 : 1, only_image ? 0 : -2, 2, 1};
        const int32_t ends[] = {0, only_image ? 0 : 5, 1, only_image ? 2 : -1};
        std::vector<int32_t> dims = {2, 37, 5, 6};
        const std::vector<int32_t> x_dims = dims;
        for (int k = 0; k < 4; ++k) {
          attributes.begins[k] = begins[k];
          attributes.ends[k] = ends[k];
          dims[static_cast<size_t>(k)] += begins[k] + ends[k];
        }
        PairedOp op("opencl.pad.any");
        op.AddInput(Numbered(dtype, x_dims, x));
        op.AddOutput(dims, y, dtype);
        CHECK(SameBits(op, dtype, attributes));
      }
    }
  });
}

TEST_CASE("OpenCL pad: nothing but padding, and more than four dimensions are refused") {
  PadAttributes attributes;
  attributes.value = -2.5F;
  attributes.rank = 2;
  attributes.begins[0] = 2;
  attributes.ends[1] = 3;
  PairedOp op("opencl.pad.any");
  op.AddInput(Tensor(DType::kF32, {0, 4}));
  op.AddOutput({2, 7}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(attributes));

  PadAttributes many;
  many.rank = 5;
  PairedOp refused("opencl.pad.any");
  refused.AddInput(Tensor(DType::kF32, {1, 2, 3, 4, 5}));
  refused.AddOutput({1, 2, 3, 4, 5}, Layout::kRowMajor);
  CHECK(refused.Check(many).code() == StatusCode::kUnsupported);
}

TEST_CASE("OpenCL gather: along every axis, with indices of both types, some negative") {
  ForEachLayout([](DType dtype, Layout x, Layout y) {
    for (int32_t axis = 0; axis < 4; ++axis) {
      GatherAttributes attributes;
      attributes.axis = axis;
      std::vector<int32_t> dims = {3, 17, 4, 5};
      PairedOp op("opencl.gather.rows");
      op.AddInput(Numbered(dtype, dims, x));
      op.AddInput(Tensor::From<int64_t>(DType::kI64, {4}, {2, -3, 0, -1}), kConstant);
      dims[static_cast<size_t>(axis)] = 4;
      op.AddOutput(dims, y, dtype);
      CHECK(SameBits(op, dtype, attributes));
    }
  });
  GatherAttributes attributes;
  attributes.axis = 1;
  PairedOp op("opencl.gather.rows");
  op.AddInput(Numbered(DType::kF32, {3, 17, 20}, Layout::kRowMajor));
  op.AddInput(Tensor::From<int32_t>(DType::kI32, {2, 3}, {16, -17, 5, 5, 0, -1}), kConstant);
  op.AddOutput({3, 2, 3, 20}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(attributes));
}

TEST_CASE("OpenCL gather: a scalar index takes the axis away") {
  GatherAttributes attributes;
  attributes.axis = 1;
  PairedOp op("opencl.gather.rows");
  op.AddInput(Numbered(DType::kF32, {3, 17, 20}, Layout::kRowMajor));
  op.AddInput(Tensor::From<int64_t>(DType::kI64, {}, {int64_t{-2}}), kConstant);
  op.AddOutput({3, 20}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(attributes));
}

TEST_CASE("OpenCL gather: indices with gaps, and some that repeat, stand in a table as they lie") {
  Generator random(5);
  const std::vector<std::vector<int32_t>> strides = {{3, 1}, {0, 2}, {1, 0}, {0, 0}};
  for (const std::vector<int32_t>& steps : strides) {
    Tensor indices(DType::kI64, {4, 3}, steps);
    indices.Set(std::vector<int64_t>{1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, -12});
    PairedOp op("opencl.gather.rows");
    op.AddInput(Numbered(DType::kF32, {17, 20}, Layout::kRowMajor));
    op.AddInput(indices, kConstant);
    op.AddOutput({4, 3, 20}, Layout::kRowMajor);
    CHECK(op.Equal<uint32_t>(GatherAttributes{}));
  }
}

TEST_CASE("OpenCL gather: an index that is repeated a million times takes the memory of one") {
  constexpr int32_t kTimes = 1 << 20;
  PairedOp op("opencl.gather.rows");
  op.AddInput(Numbered(DType::kU8, {5}, Layout::kRowMajor));
  Tensor index(DType::kI64, {kTimes}, std::vector<int32_t>{0});
  index.Set(std::vector<int64_t>(kTimes, 3));
  op.AddInput(index, kConstant);
  op.AddOutput({kTimes}, Layout::kRowMajor, DType::kU8);
  CHECK(op.device().StatedBytes(GatherAttributes{}) < 8192);  // and Run checks that it is so
  CHECK(op.Equal<uint8_t>(GatherAttributes{}));
}

TEST_CASE("OpenCL gather: what stands between its indices may be anything") {
  Tensor indices(DType::kI32, {3}, std::vector<int32_t>{2});
  indices.Set(std::vector<int32_t>{4, 0, -1});  // the bytes between them hold a pattern
  PairedOp op("opencl.gather.rows");
  op.AddInput(Numbered(DType::kF32, {5, 3}, Layout::kRowMajor));
  op.AddInput(indices, kConstant);
  op.AddOutput({3, 3}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(GatherAttributes{}));
}

TEST_CASE("OpenCL gather: indices that overlap each other by other strides than 0 are refused") {
  PairedOp op("opencl.gather.rows");
  op.AddInput(Numbered(DType::kU8, {5}, Layout::kRowMajor));
  op.AddInput(Tensor(DType::kI64, {1000, 1000}, std::vector<int32_t>{1, 1}), kConstant);
  op.AddOutput({1000, 1000}, Layout::kRowMajor, DType::kU8);
  CHECK(op.device().Run(GatherAttributes{}).code() == StatusCode::kCorruptPlan);
}

TEST_CASE("OpenCL gather: rows of nothing give nothing, wherever they would lie") {
  PairedOp op("opencl.gather.rows");
  op.AddInput(Tensor(DType::kF32, {5, 0}, std::vector<int32_t>{INT32_MAX, 1}));
  op.AddInput(Tensor::From<int64_t>(DType::kI64, {2}, {4, 1}), kConstant);
  op.AddOutput({2, 0}, Layout::kRowMajor);
  CHECK(op.Equal<uint32_t>(GatherAttributes{}));
}

TEST_CASE("OpenCL gather: indices that are computed are refused, and constants out of range") {
  GatherAttributes attributes;
  for (const bool constant : {false, true}) {
    PairedOp op("opencl.gather.rows");
    op.AddInput(Numbered(DType::kF32, {3, 4}, Layout::kRowMajor));
    op.AddInput(Tensor::From<int64_t>(DType::kI64, {2}, {1, 3}), constant);
    op.AddOutput({2, 4}, Layout::kRowMajor);
    if (constant) {
      CHECK(op.device().Run(attributes).code() == StatusCode::kInvalidArgument);
    } else {
      CHECK(op.Check(attributes).code() == StatusCode::kUnsupported);
    }
  }
}

namespace {

template <typename From, typename To>
void CheckCast(DType from, DType to, const std::vector<From>& values) {
  CAPTURE(DTypeName(from));
  CAPTURE(DTypeName(to));
  CastAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  const auto count = static_cast<int32_t>(values.size());
  PairedOp op("opencl.cast.rows");
  op.AddInput(Tensor::From<From>(from, {count}, values));
  op.AddOutput({count}, Layout::kRowMajor, to);
  CHECK(op.Equal<To>(attributes));
}

template <typename From>
void CheckCasts(DType from, const std::vector<From>& values) {
  CheckCast<From, uint32_t>(from, DType::kF32, values);
  CheckCast<From, int32_t>(from, DType::kI32, values);
  CheckCast<From, int64_t>(from, DType::kI64, values);
  CheckCast<From, uint8_t>(from, DType::kU8, values);
  CheckCast<From, int8_t>(from, DType::kI8, values);
  CheckCast<From, uint8_t>(from, DType::kBool, values);
}

}  // namespace

TEST_CASE("OpenCL cast: every pair of types, with what does not fit") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CheckCasts<float>(DType::kF32, {0.0F, -0.5F, 1.9F, -1.9F, 127.5F, 128.0F, 255.9F, 256.0F, -129.0F,
                                  3e9F, -3e9F, 1e19F, -1e19F, kInfinity, -kInfinity, nan, 0.1F});
  CheckCasts<int32_t>(DType::kI32, {0, 1, -1, 255, 256, 16777217, -2147483647, 2147483647});
  CheckCasts<int64_t>(DType::kI64, {0, 1, -1, 256, int64_t{1} << 40, (int64_t{1} << 40) + 3});
  CheckCasts<uint8_t>(DType::kU8, {0, 1, 127, 128, 255});
  CheckCasts<int8_t>(DType::kI8, {0, 1, 127, -128, -1});
  CheckCasts<uint8_t>(DType::kBool, {0, 1, 1, 0});
}

}  // namespace tenon::opencl::testing
