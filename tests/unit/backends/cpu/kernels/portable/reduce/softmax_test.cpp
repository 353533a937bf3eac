#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Dims = std::vector<int32_t>;

/// By the definition in double precision, on logical row-major values.
template <typename T>
std::vector<double> NaiveSoftmax(const Dims& dims, size_t axis, bool log, const std::vector<T>& x) {
  size_t inner = 1;
  for (size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<size_t>(dims[i]);
  const auto count = static_cast<size_t>(dims[axis]);
  std::vector<double> y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t first = i / (count * inner) * count * inner + i % inner;
    double sum = 0.0;  // relative to x[i], so that it neither overflows nor uses the maximum
    for (size_t k = 0; k < count; ++k) {
      sum += std::exp(static_cast<double>(x[first + k * inner]) - static_cast<double>(x[i]));
    }
    y[i] = log ? -std::log(sum) : 1.0 / sum;
  }
  return y;
}

TEST_CASE("Softmax: agrees with the definition over every axis and layout") {
  Generator random(1);
  for (int i = 0; i < 200; ++i) {
    Dims dims;
    for (int32_t k = Pick(random, 1, 5); k > 0; --k) dims.push_back(Pick(random, 1, 9));
    SoftmaxAttributes attributes;
    attributes.axis = Pick(random, 0, static_cast<int32_t>(dims.size()) - 1);
    attributes.log = Pick(random, 0, 1);
    OpFixture op(OpKind::kSoftmax);
    const Layout layout = kAllLayouts[Pick(random, 0, 4)];
    const Tensor x = op.AddInput(Random(dims, layout, random, -30.0F, 30.0F));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    const auto expected = NaiveSoftmax(dims, static_cast<size_t>(attributes.axis),
                                       attributes.log != 0, x.Values<float>());
    INFO("case ", i);
    CHECK(LargestRelativeError(y.Values<float>(), expected) < 1e-6);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Softmax: works in place") {
  Generator random(2);
  for (const int32_t log : {0, 1}) {
    OpFixture op(OpKind::kSoftmax);
    const Tensor x = op.AddInput(Random({3, 70}, Layout::kRowMajor, random));
    const auto expected = NaiveSoftmax<float>({3, 70}, 1, log != 0, x.Values<float>());
    op.AddOutput(x);
    REQUIRE(op.Run(SoftmaxAttributes{1, log}).ok());
    CHECK(LargestRelativeError(x.Values<float>(), expected) < 1e-6);
  }
}

TEST_CASE("Softmax: large inputs do not overflow") {
  OpFixture op(OpKind::kSoftmax);
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 3}, {1e30F, 1e30F, -1e30F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 3}));
  REQUIRE(op.Run(SoftmaxAttributes{1, 0}).ok());
  CHECK(y.Values<float>() == std::vector<float>{0.5F, 0.5F, 0.0F});
}

TEST_CASE("Softmax: a NaN makes its own row NaN and no other") {
  OpFixture op(OpKind::kSoftmax);
  op.AddInput(
      Tensor::From<float>(DType::kF32, {2, 3}, {1.0F, std::nanf(""), 0.0F, 2.0F, 2.0F, 2.0F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 3}));
  REQUIRE(op.Run(SoftmaxAttributes{1, 0}).ok());
  const auto result = y.Values<float>();
  for (size_t i = 0; i < 3; ++i) {
    CHECK(std::isnan(result[i]));
    CHECK(result[3 + i] == doctest::Approx(1.0 / 3.0));
  }
}

TEST_CASE("Softmax: runs f64 in double precision") {
  Generator random(3);
  const auto floats = RandomValues(60, random, -5.0F, 5.0F);
  const std::vector<double> values(floats.begin(), floats.end());
  OpFixture op(OpKind::kSoftmax);
  op.AddInput(Tensor::From(DType::kF64, {5, 12}, values));
  const Tensor y = op.AddOutput(Tensor(DType::kF64, {5, 12}));
  REQUIRE(op.Run(SoftmaxAttributes{0, 0}).ok());
  CHECK(LargestRelativeError(y.Values<double>(), NaiveSoftmax({5, 12}, 0, false, values)) < 1e-14);
}

TEST_CASE("Softmax: the number of threads does not change a bit") {
  Generator random(4);
  const Tensor x = Random({300, 41}, Layout::kRowMajor, random);
  std::vector<float> expected;
  for (const int threads : {1, 2, 3}) {
    OpFixture op(OpKind::kSoftmax);
    op.AddInput(x);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {300, 41}));
    REQUIRE(op.Run(SoftmaxAttributes{1, 0}, threads).ok());
    if (expected.empty()) expected = y.Values<float>();
    CHECK(y.Values<float>() == expected);
  }
}

}  // namespace
}  // namespace tenon::cpu::testing
