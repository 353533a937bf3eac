#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr double kTolerance = 2e-6;

using Dims = std::vector<int32_t>;

struct Product {
  Dims a;
  Dims b;
  Dims y;
  Dims bias;  ///< empty: none
  MatMulAttributes attributes;
};

/// Element of `values` (dims `dims`) at y's `index`, broadcast; the last two indices are given.
double At(const std::vector<float>& values, const Dims& dims, const Dims& index, int32_t row,
          int32_t column) {
  size_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) {
    const size_t from_end = dims.size() - 1 - i;
    int32_t position = index[index.size() - 1 - from_end];
    if (from_end == 1) position = row;
    if (from_end == 0) position = column;
    flat = flat * static_cast<size_t>(dims[i]) + static_cast<size_t>(dims[i] == 1 ? 0 : position);
  }
  return static_cast<double>(values[flat]);
}

std::vector<double> NaiveMatMul(const Product& problem, const std::vector<float>& a,
                                const std::vector<float>& b, const std::vector<float>& bias) {
  const Dims& dims = problem.y;
  const bool transpose_a = problem.attributes.transpose_a != 0;
  const bool transpose_b = problem.attributes.transpose_b != 0;
  const int32_t depth = problem.a[problem.a.size() - (transpose_a ? 2 : 1)];
  std::vector<double> y;
  Dims index(dims.size(), 0);
  for (;;) {
    const int32_t m = index[dims.size() - 2];
    const int32_t n = index[dims.size() - 1];
    double sum = bias.empty() ? 0.0 : At(bias, problem.bias, index, m, n);
    for (int32_t k = 0; k < depth; ++k) {
      sum += At(a, problem.a, index, transpose_a ? k : m, transpose_a ? m : k) *
             At(b, problem.b, index, transpose_b ? n : k, transpose_b ? k : n);
    }
    y.push_back(sum);
    size_t axis = dims.size();
    while (axis-- > 0 && ++index[axis] == dims[axis]) index[axis] = 0;
    if (axis == static_cast<size_t>(-1)) return y;
  }
}

Layout RowLayout(Generator& random) {
  return Pick(random, 0, 1) == 0 ? Layout::kRowMajor : Layout::kRowMajorGaps;
}

Product RandomProblem(Generator& random) {
  Product problem;
  const int32_t m = Pick(random, 1, 20);
  const int32_t n = Pick(random, 1, 40);
  const int32_t k = Pick(random, 1, 150);
  const int32_t batch_rank = Pick(random, 0, 3);
  const int32_t a_rank = Pick(random, 0, batch_rank);  // the shorter one broadcasts
  for (int32_t i = batch_rank; i-- > 0;) {
    const int32_t dim = Pick(random, 1, 3);
    problem.y.push_back(dim);
    problem.b.push_back(dim);
    if (i < a_rank) problem.a.push_back(Pick(random, 0, 1) == 0 ? 1 : dim);
  }
  problem.attributes.transpose_a = Pick(random, 0, 1);
  problem.attributes.transpose_b = Pick(random, 0, 1);
  problem.a.insert(problem.a.end(), {m, k});
  problem.b.insert(problem.b.end(), {k, n});
  problem.y.insert(problem.y.end(), {m, n});
  if (problem.attributes.transpose_a != 0) std::swap(problem.a.end()[-1], problem.a.end()[-2]);
  if (problem.attributes.transpose_b != 0) std::swap(problem.b.end()[-1], problem.b.end()[-2]);
  switch (Pick(random, 0, 3)) {
    case 0:
      problem.bias = {n};
      break;
    case 1:
      problem.bias = {m, 1};
      break;
    case 2:
      problem.bias = problem.y;
      break;
    default:
      break;
  }
  return problem;
}

/// Runs on random values and gives the largest relative error, infinity if a gap was written.
double ErrorOf(const Product& problem, Generator& random, int threads,
               std::vector<float>* result = nullptr) {
  OpFixture op(OpKind::kMatMul);
  const auto a = op.AddInput(Random(problem.a, RowLayout(random), random)).Values<float>();
  const auto b = op.AddInput(Random(problem.b, RowLayout(random), random)).Values<float>();
  std::vector<float> bias;
  if (!problem.bias.empty()) {
    bias = op.AddInput(Random(problem.bias, RowLayout(random), random)).Values<float>();
  }
  const Tensor y = op.AddOutput(Tensor(DType::kF32, problem.y, RowLayout(random)));
  REQUIRE(op.Run(problem.attributes, threads).ok());
  if (result != nullptr) *result = y.Values<float>();
  CHECK(y.GapsIntact());
  return LargestRelativeError(y.Values<float>(), NaiveMatMul(problem, a, b, bias));
}

TEST_CASE("MatMul: agrees with the definition over random shapes, transposes and broadcasts") {
  Generator random(1);
  for (int i = 0; i < RandomCases(300); ++i) {
    const Product problem = RandomProblem(random);
    INFO("case ", i);
    CHECK(ErrorOf(problem, random, Pick(random, 1, 3)) < kTolerance);
  }
}

TEST_CASE("MatMul: the activation comes after the bias") {
  OpFixture op(OpKind::kMatMul);
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 2}, {1.0F, 2.0F}));
  op.AddInput(Tensor::From<float>(DType::kF32, {2, 3}, {1.0F, -4.0F, 1.0F, 1.0F, 1.0F, 4.0F}));
  op.AddInput(Tensor::From<float>(DType::kF32, {3}, {-5.0F, 4.0F, 0.0F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 3}));
  MatMulAttributes attributes;
  attributes.activation = {UnaryFunction::kClip, 0.0F, 6.0F};
  REQUIRE(op.Run(attributes).ok());
  CHECK(y.Values<float>() == std::vector<float>{0.0F, 2.0F, 6.0F});
}

TEST_CASE("MatMul: the number of threads does not change a bit") {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    std::vector<float> expected;
    for (const int threads : {1, 2, 5}) {
      Generator random(seed);
      const Product problem = RandomProblem(random);
      std::vector<float> result;
      CHECK(ErrorOf(problem, random, threads, &result) < kTolerance);
      if (expected.empty()) expected = result;
      CHECK(result == expected);
    }
  }
}

TEST_CASE("MatMul: refuses other types than f32") {
  OpFixture op(OpKind::kMatMul);
  op.AddInput(Tensor(DType::kF64, {2, 2}));
  op.AddInput(Tensor(DType::kF64, {2, 2}));
  op.AddOutput(Tensor(DType::kF64, {2, 2}));
  CHECK(op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported);
}

}  // namespace
}  // namespace tenon::cpu::testing
