#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/quantized_naive.hpp"

namespace tenon::cpu::testing {
namespace {

using Floats = std::vector<float>;
using Numbers = std::vector<int64_t>;

/// ONNX's text, operator by operator: DynamicQuantizeLinear, MatMulInteger, Cast, Mul, Mul, Add.
Floats NaiveProduct(const Floats& a, const Numbers& b, const Floats& scales, const Numbers& zeros,
                    const Floats& bias, int32_t depth) {
  float least = 0.0F;
  float most = 0.0F;
  for (const float x : a) {
    least = std::min(least, x);
    most = std::max(most, x);
  }
  const float scale = most == least ? 1.0F : (most - least) / 255.0F;
  const float zero_point = std::nearbyint(std::min(255.0F, std::max(0.0F, 0.0F - least / scale)));
  const auto columns = b.size() / static_cast<size_t>(depth);
  const auto rows = a.size() / static_cast<size_t>(depth);
  Floats y;
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      int64_t sum = 0;
      for (size_t k = 0; k < static_cast<size_t>(depth); ++k) {
        const float x = std::nearbyint(a[row * static_cast<size_t>(depth) + k] / scale);
        const float q = std::min(255.0F, std::max(0.0F, x + zero_point));
        sum += (static_cast<int64_t>(q) - static_cast<int64_t>(zero_point)) *
               (b[k * columns + column] - zeros[zeros.size() == 1 ? 0 : column]);
      }
      const float factor = scale * scales[scales.size() == 1 ? 0 : column];
      const float product = static_cast<float>(sum) * factor;
      y.push_back(bias.empty() ? product : product + bias[y.size() % bias.size()]);
    }
  }
  return y;
}

}  // namespace

TEST_CASE("DynamicMatMul: the bits of ONNX's operators, in any layout") {
  Generator random(1);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const int32_t rows = Pick(random, 1, 5);
    const int32_t depth = Pick(random, 1, 40);
    const int32_t columns = Pick(random, 1, 70);
    const DType dtype = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
    const auto one_or_each = [&] { return Pick(random, 0, 1) == 0 ? 1 : columns; };
    OpFixture op(OpKind::kDynamicMatMul);
    const float least = static_cast<float>(Pick(random, -3, 1));
    const Tensor a =
        op.AddInput(Random({2, 1, rows, depth}, PickLayout(random), random, least, least + 3.0F));
    const Tensor b =
        op.AddInput(RandomBytesAndEnds(dtype, {depth, columns}, PickLayout(random), random));
    Floats bias;
    if (i % 3 == 0) {
      op.AddAbsentInput();
    } else {
      const std::vector<int32_t> dims =
          i % 3 == 1 ? std::vector<int32_t>{columns} : std::vector<int32_t>{2, 1, rows, columns};
      bias = op.AddInput(Random(dims, PickLayout(random), random)).Values<float>();
    }
    const Tensor scales = op.AddInput(Random({one_or_each()}, Layout::kRowMajor, random, 0.01F, 2));
    Numbers zeros = {0};
    if (Pick(random, 0, 1) == 0) {
      zeros = Integers(
          op.AddInput(RandomBytesAndEnds(dtype, {one_or_each()}, Layout::kRowMajor, random)));
    }
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 1, rows, columns}, PickLayout(random)));
    REQUIRE(op.Run(NoAttributes{}, Pick(random, 1, 3)).ok());
    CHECK(y.GapsIntact());
    CHECK(y.Values<float>() ==
          NaiveProduct(a.Values<float>(), Integers(b), scales.Values<float>(), zeros, bias, depth));
  }
}

TEST_CASE("DynamicMatMul: of zeros alone, and of no rows") {
  OpFixture op(OpKind::kDynamicMatMul);
  op.AddInput(Tensor::From(DType::kF32, {1, 2}, Floats{0, 0}));
  op.AddInput(Tensor::From(DType::kI8, {2, 1}, std::vector<int8_t>{3, 4}));
  op.AddInput(Tensor::From(DType::kF32, {1}, Floats{5}));
  op.AddInput(Tensor::From(DType::kF32, {1}, Floats{2}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1}, Layout::kRowMajor));
  REQUIRE(op.Run(NoAttributes{}).ok());
  CHECK(y.Values<float>() == Floats{5});

  OpFixture empty(OpKind::kDynamicMatMul);
  empty.AddInput(Tensor(DType::kF32, {0, 2}));
  empty.AddInput(Tensor::From(DType::kI8, {2, 1}, std::vector<int8_t>{3, 4}));
  empty.AddAbsentInput();
  empty.AddInput(Tensor::From(DType::kF32, {1}, Floats{2}));
  empty.AddOutput(Tensor(DType::kF32, {0, 1}));
  CHECK(empty.Run(NoAttributes{}).ok());
}

}  // namespace tenon::cpu::testing
