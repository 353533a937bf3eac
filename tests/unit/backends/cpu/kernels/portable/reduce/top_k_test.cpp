#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

/// By the definition, on logical row-major values: a stable sort of every row.
std::vector<int64_t> NaiveTopK(const Dims& dims, const TopKAttributes& attributes,
                               const std::vector<float>& x) {
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(attributes.axis) + 1; i < dims.size(); ++i) {
    inner *= static_cast<size_t>(dims[i]);
  }
  const auto size = static_cast<size_t>(dims[static_cast<size_t>(attributes.axis)]);
  const auto count = static_cast<size_t>(attributes.count);
  std::vector<int64_t> y(x.size() / size * count);
  for (size_t row = 0; row < x.size() / size; ++row) {
    const size_t first = row / inner * inner * size + row % inner;
    std::vector<int64_t> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) {
      const float u = x[first + static_cast<size_t>(a) * inner];
      const float v = x[first + static_cast<size_t>(b) * inner];
      return attributes.smallest != 0 ? u < v : u > v;
    });
    for (size_t i = 0; i < count; ++i) {
      y[row / inner * inner * count + i * inner + row % inner] = order[i];
    }
  }
  return y;
}

TEST_CASE("TopK: agrees with a stable sort over every axis, layout and count") {
  Generator random(1);
  for (int i = 0; i < 300; ++i) {
    CAPTURE(i);
    Dims dims;
    // Few are kept in order, more in a heap.
    const bool is_long = i % 3 == 0;
    for (int32_t k = Pick(random, 1, is_long ? 2 : 4); k > 0; --k) {
      dims.push_back(Pick(random, 1, is_long ? 90 : 12));
    }
    const int32_t axis = Pick(random, 0, static_cast<int32_t>(dims.size()) - 1);
    const int32_t count = Pick(random, 1, dims[static_cast<size_t>(axis)]);
    const TopKAttributes attributes = {axis, count, Pick(random, 0, 1)};
    OpFixture op(OpKind::kTopK);
    Tensor x = Random(dims, kAllLayouts[Pick(random, 0, 4)], random, -3.0F, 3.0F);
    std::vector<float> values = x.Values<float>();
    for (float& value : values) value = std::round(value);  // so that many are equal
    x.Set(values);
    op.AddInput(x);
    Dims taken = dims;
    taken[static_cast<size_t>(axis)] = count;
    const Tensor y = op.AddOutput(Tensor(DType::kI64, taken, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    CHECK(y.Values<int64_t>() == NaiveTopK(dims, attributes, values));
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("TopK: NaN is above every number, infinities too") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  const auto run = [&](int32_t smallest) {
    OpFixture op(OpKind::kTopK);
    op.AddInput(Tensor::From(DType::kF32, {5}, std::vector<float>{1, nan, infinity, -2, nan}));
    const Tensor y = op.AddOutput(Tensor(DType::kI64, {5}));
    REQUIRE(op.Run(TopKAttributes{0, 5, smallest}).ok());
    return y.Values<int64_t>();
  };
  CHECK(run(0) == std::vector<int64_t>{1, 4, 2, 0, 3});
  CHECK(run(1) == std::vector<int64_t>{3, 0, 2, 1, 4});
}

TEST_CASE("TopK: runs integers, of which the smallest has no opposite") {
  const auto run = [](DType dtype, const auto& values) {
    OpFixture op(OpKind::kTopK);
    op.AddInput(Tensor::From(dtype, {3}, values));
    const Tensor y = op.AddOutput(Tensor(DType::kI64, {2}));
    REQUIRE(op.Run(TopKAttributes{0, 2, 1}).ok());
    CHECK(y.Values<int64_t>() == std::vector<int64_t>{1, 2});
  };
  run(DType::kI8, std::vector<int8_t>{127, -128, 0});
  run(DType::kU8, std::vector<uint8_t>{255, 0, 128});
  run(DType::kI32, std::vector<int32_t>{INT32_MAX, INT32_MIN, 0});
  run(DType::kI64, std::vector<int64_t>{INT64_MAX, INT64_MIN, 0});
  run(DType::kF64, std::vector<double>{1e300, -1e300, 0});
}

}  // namespace
}  // namespace tenon::cpu::testing
