// Scatters, and the largest elements of rows.
#include <doctest/doctest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"
#include "tests/unit/backends/opencl/row_groups.hpp"

namespace tenon::opencl::testing {
namespace {

/// Elements that are all different, as far as the type goes.
template <typename Element>
Tensor Numbered(DType dtype, const std::vector<int32_t>& dims, Layout layout, int first = 1) {
  Tensor tensor(dtype, dims, layout);
  std::vector<Element> values(tensor.count());
  std::iota(values.begin(), values.end(), static_cast<Element>(first));
  tensor.Set(values);
  return tensor;
}

template <typename Element>
void CheckReplacing(DType dtype, Layout x, Layout y) {
  PairedOp op("opencl.scatter.rows");
  op.AddInput(Numbered<Element>(dtype, {9, 3, 4, 5}, x));
  op.AddInput(Tensor::From<int64_t>(DType::kI64, {5}, {7, 0, 7, 3, 0}), kConstant);
  op.AddInput(Numbered<Element>(dtype, {5, 3, 4, 5}, y, 77));
  op.AddOutput({9, 3, 4, 5}, y, dtype);
  CHECK(op.Equal<Element>(ScatterAttributes{}));
}

/// Indices of the largest, or the smallest, along an axis.
void CheckTopK(const Tensor& x, const TopKAttributes& attributes, Layout y, void* device) {
  PairedOp op("opencl.top_k.any");
  op.AddInput(x);
  std::vector<int32_t> dims = x.dims();
  dims[static_cast<size_t>(attributes.axis)] = attributes.count;
  op.AddOutput(dims, y, DType::kI64);
  CHECK(op.Equal<int64_t>(attributes, device));
}

}  // namespace

TEST_CASE("OpenCL scatter: rows of every type are replaced, the last of several winning") {
  for (const Layout x : TestedLayouts()) {
    for (const Layout y : TestedLayouts()) CheckReplacing<float>(DType::kF32, x, y);
  }
  CheckReplacing<uint8_t>(DType::kU8, Layout::kChannelsLast, Layout::kRowMajorGaps);
  CheckReplacing<int16_t>(DType::kI16, Layout::kChannelsLast, Layout::kRowMajorGaps);
  CheckReplacing<int32_t>(DType::kI32, Layout::kChannelsLast, Layout::kRowMajorGaps);
  CheckReplacing<int64_t>(DType::kI64, Layout::kChannelsLast, Layout::kRowMajorGaps);
}

TEST_CASE("OpenCL scatter: updates join by every function in their order, NaN winning") {
  Generator random(31);
  for (int i = 0; i < kScatterFunctionCount; ++i) {
    Tensor updates = Random({6, 7}, Layout::kRowMajor, random, -3.0F, 3.0F);
    std::vector<float> values = updates.Values<float>();
    values[3] = values[15] = std::numeric_limits<float>::quiet_NaN();
    updates.Set(values);
    PairedOp op("opencl.scatter.rows");
    op.AddInput(Random({4, 7}, Layout::kRowMajor, random, -3.0F, 3.0F));
    op.AddInput(Tensor::From<int32_t>(DType::kI32, {6}, {2, 2, 0, 2, 3, 2}), kConstant);
    op.AddInput(updates);
    op.AddOutput({4, 7}, Layout::kRowMajor);
    CHECK(op.Excess(ScatterAttributes{static_cast<ScatterFunction>(i)}) <= 1.0);
  }
}

TEST_CASE("OpenCL scatter: in the memory of x, more dimensions than loops, and no updates at all") {
  const Tensor x = Numbered<float>(DType::kF32, {5, 30}, Layout::kRowMajor);
  PairedOp in_place("opencl.scatter.rows");
  in_place.AddInput(x);
  in_place.AddInput(Tensor::From<int64_t>(DType::kI64, {2}, {4, 1}), kConstant);
  in_place.AddInput(Numbered<float>(DType::kF32, {2, 30}, Layout::kRowMajor));
  in_place.AddOutputInPlace(0, x);
  CHECK(in_place.Equal<float>(ScatterAttributes{}));

  PairedOp many("opencl.scatter.rows");
  many.AddInput(Numbered<float>(DType::kF32, {3, 2, 3, 2, 3, 2}, Layout::kRowMajorGaps));
  many.AddInput(Tensor::From<int64_t>(DType::kI64, {2}, {2, 0}), kConstant);
  many.AddInput(Numbered<float>(DType::kF32, {2, 2, 3, 2, 3, 2}, Layout::kRowMajorGaps));
  many.AddOutput({3, 2, 3, 2, 3, 2}, Layout::kRowMajor);
  CHECK(many.Equal<float>(ScatterAttributes{}));

  PairedOp none("opencl.scatter.rows");
  none.AddInput(Numbered<float>(DType::kF32, {3, 4}, Layout::kRowMajor));
  none.AddInput(Tensor(DType::kI64, {0}), kConstant);
  none.AddInput(Tensor(DType::kF32, {0, 4}));
  none.AddOutput({3, 4}, Layout::kRowMajor);
  CHECK(none.Equal<float>(ScatterAttributes{}));
}

TEST_CASE("OpenCL scatter: indices that are computed are refused, and constants out of range") {
  for (const int64_t index : {int64_t{3}, int64_t{-1}}) {
    DeviceOp op("opencl.scatter.rows");
    op.AddInput(Numbered<float>(DType::kF32, {3, 4}, Layout::kRowMajor));
    op.AddInput(Tensor::From<int64_t>(DType::kI64, {1}, {index}), kConstant);
    op.AddInput(Numbered<float>(DType::kF32, {1, 4}, Layout::kRowMajor));
    op.AddOutput(Tensor(DType::kF32, {3, 4}));
    CHECK(op.Run(ScatterAttributes{}).code() == StatusCode::kInvalidArgument);
  }
  DeviceOp computed("opencl.scatter.rows");
  computed.AddInput(Numbered<float>(DType::kF32, {3, 4}, Layout::kRowMajor));
  computed.AddInput(Tensor::From<int64_t>(DType::kI64, {1}, {int64_t{1}}));
  computed.AddInput(Numbered<float>(DType::kF32, {1, 4}, Layout::kRowMajor));
  computed.AddOutput(Tensor(DType::kF32, {3, 4}));
  CHECK(!computed.Check(ScatterAttributes{}).ok());
}

TEST_CASE("OpenCL top_k: along every axis in any layout, the first alone and several") {
  Generator random(25);
  const std::vector<int32_t> dims =
      IsUnderOclgrind() ? std::vector<int32_t>{2, 37, 2, 5} : std::vector<int32_t>{4, 37, 3, 19};
  for (void* const device : {TheDevice(), Sharing(16)}) {
    for (const Layout layout : TestedLayouts()) {
      for (int32_t axis = 0; axis < 4; ++axis) {
        const Tensor x = Random(dims, layout, random, -8.0F, 8.0F);
        for (const int32_t count : {0, 1, 2, x.dims()[static_cast<size_t>(axis)]}) {
          if (count > x.dims()[static_cast<size_t>(axis)]) continue;
          CheckTopK(x, {axis, count, count % 2}, Layout::kChannelsLastSpaced, device);
          CheckTopK(x, {axis, count, 1 - count % 2}, Layout::kRowMajor, device);
        }
      }
    }
  }
}

TEST_CASE("OpenCL top_k: equal elements in their order, both zeros alike, NaN above all") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> row = {0.0F, -0.0F, 3.0F, nan, infinity, -infinity, 3.0F, 0.0F, nan, -1.0F};
  for (int i = 0; i < 90; ++i) row.push_back(static_cast<float>(i % 4));
  const Tensor x = Tensor::From<float>(DType::kF32, {1, 100}, row);
  for (void* const device : {TheDevice(), Sharing(16), Sharing(64)}) {
    for (const int32_t smallest : {0, 1}) {
      for (const int32_t count : {1, 12, 100}) {
        CheckTopK(x, {1, count, smallest}, Layout::kRowMajor, device);
      }
    }
  }
}

TEST_CASE("OpenCL top_k: several of long rows, and other types, are refused") {
  const auto refused = [](const Tensor& x, int32_t count) {
    PairedOp op("opencl.top_k.any");
    op.AddInput(x);
    op.AddOutput({1, count}, Layout::kRowMajor, DType::kI64);
    return !op.Check(TopKAttributes{1, count, 0}).ok();
  };
  CHECK(refused(Tensor(DType::kF32, {1, 2000}), 2));
  CHECK(!refused(Tensor(DType::kF32, {1, 2000}), 1));
  CHECK(refused(Tensor(DType::kI32, {1, 20}), 1));
}

}  // namespace tenon::opencl::testing
