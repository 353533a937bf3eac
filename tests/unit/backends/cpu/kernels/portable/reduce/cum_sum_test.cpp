#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

/// By the definition, on logical row-major values; sums of floats in their own type, in the order
/// of the kernel, so that results agree to the bit.
template <typename T>
std::vector<T> NaiveCumSum(const Dims& dims, const CumSumAttributes& attributes,
                           const std::vector<T>& x) {
  size_t inner = 1;
  for (size_t i = static_cast<size_t>(attributes.axis) + 1; i < dims.size(); ++i) {
    inner *= static_cast<size_t>(dims[i]);
  }
  const auto count = static_cast<size_t>(dims[static_cast<size_t>(attributes.axis)]);
  std::vector<T> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t place = i / inner % count;
    const size_t terms = attributes.reverse != 0 ? count - place : place + 1;
    T sum = 0;
    for (size_t k = 0; k + (attributes.exclusive != 0 ? 1 : 0) < terms; ++k) {
      const size_t from = attributes.reverse != 0 ? count - 1 - k : k;
      sum = static_cast<T>(sum + x[i + from * inner - place * inner]);
    }
    y[i] = sum;
  }
  return y;
}

TEST_CASE("CumSum: agrees with the definition over every axis, layout and form") {
  Generator random(1);
  for (int i = 0; i < 200; ++i) {
    Dims dims;
    for (int32_t k = Pick(random, 1, 5); k > 0; --k) dims.push_back(Pick(random, 1, 9));
    const CumSumAttributes attributes = {Pick(random, 0, static_cast<int32_t>(dims.size()) - 1),
                                         Pick(random, 0, 1), Pick(random, 0, 1)};
    OpFixture op(OpKind::kCumSum);
    const Layout layout = kAllLayouts[Pick(random, 0, 4)];
    const Tensor x = op.AddInput(Random(dims, layout, random, -3.0F, 3.0F));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    CHECK(y.Values<float>() == NaiveCumSum(dims, attributes, x.Values<float>()));
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("CumSum: works in place") {
  Generator random(2);
  for (const int32_t exclusive : {0, 1}) {
    for (const int32_t reverse : {0, 1}) {
      const CumSumAttributes attributes = {1, exclusive, reverse};
      OpFixture op(OpKind::kCumSum);
      const Tensor x = op.AddInput(Random({3, 70}, Layout::kRowMajor, random));
      const auto expected = NaiveCumSum({3, 70}, attributes, x.Values<float>());
      op.AddOutput(x);
      REQUIRE(op.Run(attributes).ok());
      CHECK(x.Values<float>() == expected);
    }
  }
}

TEST_CASE("CumSum: runs f64, i32 and i64; sums of integers wrap") {
  const auto run = [](DType dtype, const auto& values, const auto& expected) {
    OpFixture op(OpKind::kCumSum);
    op.AddInput(Tensor::From(dtype, {3}, values));
    const Tensor y = op.AddOutput(Tensor(dtype, {3}));
    REQUIRE(op.Run(CumSumAttributes{0, 0, 0}).ok());
    CHECK(y.Values<std::decay_t<decltype(expected[0])>>() == expected);
  };
  run(DType::kF64, std::vector<double>{0.1, 0.2, 0.3},
      std::vector<double>{0.1, 0.1 + 0.2, 0.1 + 0.2 + 0.3});
  run(DType::kI32, std::vector<int32_t>{INT32_MAX, 1, 2},
      std::vector<int32_t>{INT32_MAX, INT32_MIN, INT32_MIN + 2});
  run(DType::kI64, std::vector<int64_t>{INT64_MAX, 1, 2},
      std::vector<int64_t>{INT64_MAX, INT64_MIN, INT64_MIN + 2});
}

TEST_CASE("CumSum: other dtypes are refused") {
  OpFixture op(OpKind::kCumSum);
  op.AddInput(Tensor(DType::kU8, {3}));
  op.AddOutput(Tensor(DType::kU8, {3}));
  CHECK(op.Check(CumSumAttributes{0, 0, 0}).code() == StatusCode::kUnsupported);
}

TEST_CASE("CumSum: nothing gives nothing") {
  OpFixture op(OpKind::kCumSum);
  op.AddInput(Tensor(DType::kF32, {2, 0}));
  op.AddOutput(Tensor(DType::kF32, {2, 0}));
  CHECK(op.Run(CumSumAttributes{1, 0, 0}).ok());
}

}  // namespace
}  // namespace tenon::cpu::testing
