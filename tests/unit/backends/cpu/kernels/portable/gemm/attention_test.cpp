#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

using Doubles = std::vector<double>;

struct Sizes {
  int32_t batches, queries, keys, depth, columns;
};

Doubles AsDoubles(const std::vector<float>& values) { return {values.begin(), values.end()}; }

/// By the definition in doubles, on logical row-major values; `mask` has one row for each query of
/// a batch, or is empty.
Doubles NaiveAttention(const Sizes& s, const Doubles& q, const Doubles& k, const Doubles& v,
                       const Doubles& mask, double scale) {
  Doubles y(static_cast<size_t>(s.batches * s.queries * s.columns));
  for (int32_t row = 0; row < s.batches * s.queries; ++row) {
    const int32_t batch = row / s.queries;
    Doubles weights;
    double sum = 0;
    for (int32_t key = 0; key < s.keys; ++key) {
      double score = 0;
      for (int32_t i = 0; i < s.depth; ++i) {
        score += q[static_cast<size_t>(row * s.depth + i)] *
                 k[static_cast<size_t>((batch * s.keys + key) * s.depth + i)];
      }
      score *= scale;
      if (!mask.empty()) score += mask[static_cast<size_t>(row % s.queries * s.keys + key)];
      weights.push_back(std::exp(score));
      sum += weights.back();
    }
    for (int32_t key = 0; key < s.keys; ++key) {
      for (int32_t c = 0; c < s.columns; ++c) {
        y[static_cast<size_t>(row * s.columns + c)] +=
            weights[static_cast<size_t>(key)] / sum *
            v[static_cast<size_t>((batch * s.keys + key) * s.columns + c)];
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("Attention: agrees with the definition in any layout, with and without a mask") {
  Generator random(1);
  for (int i = 0; i < 150; ++i) {
    const Sizes s = {Pick(random, 1, 3) * 2, Pick(random, 1, 9), Pick(random, 1, 12),
                     Pick(random, 1, 9), Pick(random, 1, 9)};
    const int32_t heads = s.batches / 2;
    OpFixture op(OpKind::kAttention);
    const Tensor q =
        op.AddInput(Random({2, heads, s.queries, s.depth}, PickLayout(random), random, -3, 3));
    const Tensor k =
        op.AddInput(Random({2, heads, s.keys, s.depth}, PickLayout(random), random, -3, 3));
    const Tensor v = op.AddInput(Random({2, heads, s.keys, s.columns}, PickLayout(random), random));
    Doubles mask;
    if (i % 3 == 0) {
      const Tensor given = op.AddInput(Random({s.queries, s.keys}, PickLayout(random), random));
      mask = AsDoubles(given.Values<float>());
    }
    const Tensor y =
        op.AddOutput(Tensor(DType::kF32, {2, heads, s.queries, s.columns}, PickLayout(random)));
    REQUIRE(op.Run(AttentionAttributes{0.3F, 0}, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    CHECK(LargestRelativeError(
              y.Values<float>(),
              NaiveAttention(s, AsDoubles(q.Values<float>()), AsDoubles(k.Values<float>()),
                             AsDoubles(v.Values<float>()), mask, static_cast<double>(0.3F))) <
          3e-6);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Attention: transposed keys are the same keys") {
  Generator random(2);
  const Tensor k = Random({3, 5, 4}, Layout::kRowMajor, random);
  const std::vector<float> rows = k.Values<float>();
  std::vector<float> turned(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) turned[i / 20 * 20 + i % 4 * 5 + i % 20 / 4] = rows[i];
  const Tensor q = Random({3, 2, 4}, Layout::kRowMajor, random);
  const Tensor v = Random({3, 5, 6}, Layout::kRowMajor, random);
  std::vector<float> first;
  for (const int32_t transpose : {0, 1}) {
    OpFixture op(OpKind::kAttention);
    op.AddInput(q);
    op.AddInput(transpose == 0 ? k : Tensor::From(DType::kF32, {3, 4, 5}, turned));
    op.AddInput(v);
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {3, 2, 6}, Layout::kRowMajor));
    REQUIRE(op.Run(AttentionAttributes{1.0F, transpose}).ok());
    if (transpose == 0) first = y.Values<float>();
    CHECK(y.Values<float>() == first);
  }
}

TEST_CASE(
    "Attention: a mask of minus infinity leaves a key out, and large scores do not overflow") {
  OpFixture op(OpKind::kAttention);
  op.AddInput(Tensor::From(DType::kF32, {1, 1}, std::vector<float>{100}));
  op.AddInput(Tensor::From(DType::kF32, {3, 1}, std::vector<float>{100, 1, 100}));
  op.AddInput(Tensor::From(DType::kF32, {3, 2}, std::vector<float>{1, 2, 30, 40, 5, 6}));
  op.AddInput(Tensor::From(DType::kF32, {3}, std::vector<float>{-__builtin_inff(), 0, 0}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 2}, Layout::kRowMajor));
  REQUIRE(op.Run(AttentionAttributes{}).ok());
  CHECK(y.Values<float>() == std::vector<float>{5, 6});
}

}  // namespace tenon::cpu::testing
