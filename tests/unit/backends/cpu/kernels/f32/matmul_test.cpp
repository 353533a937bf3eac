#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr double kProductTolerance = 1e-5;
constexpr const char* kVectorProduct = "cpu.matmul.vector";

struct Gemm {
  std::vector<int32_t> a;
  int32_t columns;
  bool transposed;
  bool bias;
  int threads;
};

double Difference(const Gemm& gemm, Generator& random, const char* kernel = kVectorProduct) {
  const int32_t depth = gemm.a.back();
  const std::vector<int32_t> b = gemm.transposed ? std::vector<int32_t>{gemm.columns, depth}
                                                 : std::vector<int32_t>{depth, gemm.columns};
  std::vector<int32_t> y = gemm.a;
  y.back() = gemm.columns;
  PairedOp op(kernel, "cpu.matmul.portable");
  op.AddInput(Random(gemm.a, Layout::kRowMajor, random));
  const bool in_place = Pick(random, 0, 1) == 0;
  op.AddInput(Random(b, in_place ? Layout::kOutputsLast : Layout::kRowMajor, random), kConstant);
  if (gemm.bias) op.AddInput(Random({gemm.columns}, Layout::kRowMajor, random), kConstant);
  op.AddOutput(y, Layout::kRowMajor);
  MatMulAttributes attributes;
  attributes.transpose_b = gemm.transposed ? 1 : 0;
  attributes.activation.function = UnaryFunction::kRelu;
  return op.Difference(attributes, gemm.threads);
}

}  // namespace

TEST_CASE("Vector matmul: agrees with the portable kernel for one row and many") {
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    f32::OverrideRoutines(routines);
    CAPTURE(routines->name);
    Generator random(1);
    for (int32_t rows = 1; rows <= 32; ++rows) {
      const Gemm gemm = {{rows, Pick(random, 1, 90)},
                         Pick(random, 1, 100),
                         Pick(random, 0, 1) == 1,
                         Pick(random, 0, 1) == 1,
                         Pick(random, 1, 3)};
      CAPTURE(rows);
      CAPTURE(gemm.columns);
      CHECK(Difference(gemm, random) < kProductTolerance);
    }
  }
  f32::OverrideRoutines(nullptr);
}

TEST_CASE("Vector matmul: large matrices in panels") {
  ForEachInstructionSet([] {
    Generator random(5);
    for (const bool transposed : {false, true}) {
      for (const int rows : {4, 15, 40}) {
        const Gemm gemm = {{rows, 1024}, Pick(random, 40, 140), transposed, true, 2};
        CHECK(Difference(gemm, random, "cpu.matmul.vector_panels") < kProductTolerance);
      }
    }
  });
}

TEST_CASE("Vector matmul: a few rows by a large matrix, of any depth and columns") {
  ForEachInstructionSet([] {
    Generator random(8);
    for (const int32_t rows : {1, 2, 3}) {
      for (const int32_t columns : {32, 39, 256, 1001, 4200}) {
        for (const bool transposed : {false, true}) {
          const Gemm gemm = {{rows, Pick(random, 1024, 1030)},
                             columns,
                             transposed,
                             Pick(random, 0, 1) == 1,
                             Pick(random, 1, 3)};
          CAPTURE(rows);
          CAPTURE(columns);
          CHECK(Difference(gemm, random) < kProductTolerance);
        }
      }
    }
  });
}

TEST_CASE("Vector matmul: a few rows by a large matrix go through any activation") {
  ForEachInstructionSet([] {
    Generator random(9);
    PairedOp op(kVectorProduct, "cpu.matmul.portable");
    op.AddInput(Random({2, 1024}, Layout::kRowMajor, random));
    op.AddInput(Random({1024, 300}, Layout::kRowMajor, random, -0.03F, 0.03F), kConstant);
    op.AddOutput({2, 300}, Layout::kRowMajor);
    CHECK(op.Difference(MatMulAttributes{0, 0, {UnaryFunction::kTanh}}, 2) < kProductTolerance);
  });
}

TEST_CASE("Vector matmul: a few rows give the same bits on any number of threads") {
  ForEachInstructionSet([] {
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Generator random(10);
      OpFixture op(FindKernel(kVectorProduct));
      op.AddInput(Random({3, 1024}, Layout::kRowMajor, random));
      op.AddInput(Random({1024, 1001}, Layout::kRowMajor, random), kConstant);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {3, 1001}, Layout::kRowMajor));
      REQUIRE(op.Run(MatMulAttributes{}, threads).ok());
      if (threads == 1) first = y.Values<float>();
      CHECK(y.Values<float>() == first);
    }
  });
}

TEST_CASE("Vector matmul: a few rows read their matrix in place, which takes no memory") {
  for (const int32_t rows : {3, 4}) {
    PairedOp op("cpu.matmul.vector_panels", "cpu.matmul.portable");
    Generator random(11);
    op.AddInput(Random({rows, 1024}, Layout::kRowMajor, random));
    op.AddInput(Random({1024, 256}, Layout::kRowMajor, random), kConstant);
    op.AddOutput({rows, 256}, Layout::kRowMajor);
    const bool is_refused = op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported;
    CHECK(is_refused == (rows == 3));
  }
}

TEST_CASE("Vector matmul: one column for each batch, of any depth") {
  ForEachInstructionSet([] {
    Generator random(6);
    for (int32_t depth = 1; depth <= 70; ++depth) {
      for (const int32_t rows : {1, 3, 16, 37, 130}) {
        const bool transposed = depth % 3 == 0;
        const bool broadcast = depth % 4 == 1;
        PairedOp op("cpu.matmul.vector_column", "cpu.matmul.portable");
        op.AddInput(Random({2, 3, rows, depth}, Layout::kRowMajor, random));
        const int32_t batches = broadcast ? 1 : 3;
        op.AddInput(transposed ? Random({2, batches, 1, depth}, Layout::kRowMajor, random)
                               : Random({2, batches, depth, 1}, Layout::kRowMajor, random));
        if (depth % 2 == 0) op.AddInput(Random({1}, Layout::kRowMajor, random));
        op.AddOutput({2, 3, rows, 1}, Layout::kRowMajor);
        const auto function = depth % 5 == 0   ? UnaryFunction::kRelu
                              : depth % 5 == 1 ? UnaryFunction::kSigmoid
                                               : UnaryFunction::kIdentity;
        CAPTURE(depth);
        CAPTURE(rows);
        CHECK(op.Difference(MatMulAttributes{0, transposed ? 1 : 0, {function}}, depth % 3 + 1) <
              kProductTolerance);
      }
    }
  });
}

TEST_CASE("Vector matmul: products with columns give the same bits on any number of threads") {
  ForEachInstructionSet([] {
    for (const int32_t depth : {4, 8, 16, 23}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Generator random(7);
        OpFixture op(FindKernel("cpu.matmul.vector_column"));
        op.AddInput(Random({5, 333, depth}, Layout::kRowMajor, random));
        op.AddInput(Random({5, depth, 1}, Layout::kRowMajor, random));
        const Tensor y = op.AddOutput(Tensor(DType::kF32, {5, 333, 1}, Layout::kRowMajor));
        REQUIRE(op.Run(MatMulAttributes{}, threads).ok());
        if (threads == 1) first = y.Values<float>();
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Vector matmul: batches share the one matrix") {
  Generator random(2);
  CHECK(Difference({{3, 5, 33}, 47, false, true, 2}, random) < kProductTolerance);
  CHECK(Difference({{2, 3, 4, 20}, 64, true, true, 1}, random) < kProductTolerance);
}

TEST_CASE("Vector matmul: a large matrix, shared by threads") {
  Generator random(3);
  for (const int threads : {1, 2, 3}) {
    CHECK(Difference({{1, 1000}, 700, true, true, threads}, random) < kProductTolerance);
  }
}

TEST_CASE("Vector matmul: a second factor that is no constant is refused") {
  Generator random(4);
  PairedOp op(kVectorProduct, "cpu.matmul.portable");
  op.AddInput(Random({4, 8}, Layout::kRowMajor, random));
  op.AddInput(Random({8, 16}, Layout::kRowMajor, random));
  op.AddOutput({4, 16}, Layout::kRowMajor);
  CHECK(op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
