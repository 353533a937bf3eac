#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/conv_shapes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/conv_options.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_conv.hpp"

namespace tenon::cpu::testing {
namespace {

// Sums in another order, and with fused multiply-adds.
constexpr double kTolerance = 1e-5;
constexpr const char* kComputedProduct = "cpu.matmul.vector_computed";
constexpr const char* kComputedConv = "cpu.conv.vector_computed";

struct Product {
  std::vector<int32_t> a;        ///< [..., rows, depth]
  std::vector<int32_t> batches;  ///< of the second factor
  int32_t columns;
  bool transposed;
  bool bias;
  int threads;
  UnaryFunction function = UnaryFunction::kIdentity;
};

std::vector<int32_t> SecondFactor(const Product& p) {
  std::vector<int32_t> dims = p.batches;
  const int32_t depth = p.a.back();
  dims.push_back(p.transposed ? p.columns : depth);
  dims.push_back(p.transposed ? depth : p.columns);
  return dims;
}

std::vector<int32_t> ResultOf(const Product& p) {
  std::vector<int32_t> y = p.a;
  y.back() = p.columns;
  const size_t first = y.size() - 2 - p.batches.size();
  for (size_t i = 0; i < p.batches.size(); ++i) {
    if (p.batches[i] != 1) y[first + i] = p.batches[i];
  }
  return y;
}

double DifferenceOf(const Product& p, Generator& random) {
  PairedOp op(kComputedProduct, "cpu.matmul.portable");
  op.AddInput(Random(p.a, Layout::kRowMajor, random));
  op.AddInput(Random(SecondFactor(p), Layout::kRowMajor, random));
  if (p.bias) op.AddInput(Random({p.columns}, Layout::kRowMajor, random));
  op.AddOutput(ResultOf(p), Layout::kRowMajor);
  const MatMulAttributes attributes = {0, p.transposed ? 1 : 0, {p.function}};
  op.SizeWorkspace(attributes, p.threads);
  return op.Difference(attributes, p.threads);
}

/// Six products of 70 rows, which are too many to read the second factor in place.
PairedOp SixProducts() {
  Generator random(5);
  PairedOp op(kComputedProduct, "cpu.matmul.portable");
  op.AddInput(Random({6, 70, 30}, Layout::kRowMajor, random));
  op.AddInput(Random({6, 30, 45}, Layout::kRowMajor, random));
  op.AddOutput({6, 70, 45}, Layout::kRowMajor);
  return op;
}

/// Runs a convolution whose weights are no constant, and its bias neither.
double DifferenceOf(const ConvCase& c, const ConvOptions& options, Generator& random) {
  PairedOp op(kComputedConv, "cpu.conv.portable");
  op.AddInput(Random(c.x, options.x, random));
  const float weight = 1.0F / std::sqrt(static_cast<float>(c.w[1] * c.w[2] * c.w[3]));
  op.AddInput(Random(c.w, Layout::kRowMajor, random, -weight, weight));
  AddBiasAndOutput(c, options.bias, options.residual, options.y, random, op);
  op.SizeWorkspace(c.attributes, options.threads);
  return op.Difference(c.attributes, options.threads);
}

}  // namespace

TEST_CASE("Vector products of computed factors: agree with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) {
      const int32_t batches = Pick(random, 1, 5);
      const Product p = {{2, batches, Pick(random, 1, 80), Pick(random, 1, 70)},
                         {Pick(random, 1, 2), i % 4 == 0 ? 1 : batches},
                         Pick(random, 1, 110),
                         i % 2 == 0,
                         i % 3 == 0,
                         Pick(random, 1, 3),
                         i % 5 == 0 ? UnaryFunction::kRelu : UnaryFunction::kIdentity};
      CAPTURE(i);
      CHECK(DifferenceOf(p, random) < kTolerance);
    }
  });
}

TEST_CASE("Vector products of computed factors: one matrix for all rows, in place and packed") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (const int32_t rows : {1, 3, 4, f32::kMostRowsInPlace, f32::kMostRowsInPlace + 1}) {
      for (const bool transposed : {false, true}) {
        const Product p = {{rows, 130}, {}, 203, transposed, true, 2, UnaryFunction::kSigmoid};
        CAPTURE(rows);
        CHECK(DifferenceOf(p, random) < kTolerance);
      }
    }
    // So large that rows go along panels, and that threads pack together.
    CHECK(DifferenceOf({{2, 600}, {}, 500, false, false, 3}, random) < kTolerance);
    CHECK(DifferenceOf({{70, 600}, {}, 500, true, false, 3}, random) < kTolerance);
  });
}

TEST_CASE("Vector products of computed factors: the first factor repeats over the batches") {
  ForEachInstructionSet([] {
    Generator random(3);
    CHECK(DifferenceOf({{1, 9, 33}, {4}, 50, false, false, 2}, random) < kTolerance);
    CHECK(DifferenceOf({{1, 1, 33}, {4}, 50, true, true, 2}, random) < kTolerance);
  });
}

TEST_CASE("Vector products of computed factors: the same bits on any number of threads") {
  ForEachInstructionSet([] {
    for (const int32_t rows : {1, 7, 100}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 3}) {
        Generator random(4);
        OpFixture op(FindKernel(kComputedProduct));
        op.AddInput(Random({5, rows, 40}, Layout::kRowMajor, random));
        op.AddInput(Random({5, 301, 40}, Layout::kRowMajor, random));
        const Tensor y = op.AddOutput(Tensor(DType::kF32, {5, rows, 301}, Layout::kRowMajor));
        op.SizeWorkspace(MatMulAttributes{0, 1, {}}, threads);
        REQUIRE(op.Run(MatMulAttributes{0, 1, {}}, threads).ok());
        if (threads == 1) first = y.Values<float>();
        CHECK(y.Values<float>() == first);
      }
    }
  });
}

TEST_CASE("Vector products of computed factors: room for one thread serves any number") {
  PairedOp op = SixProducts();
  op.SizeWorkspace(MatMulAttributes{}, 1);
  CHECK(op.Difference(MatMulAttributes{}, 3) < kTolerance);
}

TEST_CASE("Vector products of computed factors: where there are as many, each thread has a block") {
  const Tensor a(DType::kF32, {3, 70, 30});
  const Tensor b(DType::kF32, {3, 30, 45});
  const Tensor y(DType::kF32, {3, 70, 45});
  const TensorView views[] = {a.View(), b.View(), y.View()};
  const int32_t inputs[] = {0, 1};
  const int32_t outputs[] = {2};
  const MatMulAttributes attributes;
  OpCall call;
  call.tensors = views;
  call.input_ids = inputs;
  call.output_ids = outputs;
  call.attributes = &attributes;
  const size_t block = f32::ComputedMatMulBlockBytes(call);
  const size_t one = f32::ComputedMatMulWorkspaceBytes(call, 1);
  CHECK(block >= 30 * 48 * sizeof(float));
  CHECK(f32::ComputedMatMulWorkspaceBytes(call, 3) == one + 2 * block);
  CHECK(f32::ComputedMatMulWorkspaceBytes(call, 4) == one);
}

TEST_CASE("Vector products of computed factors: less room than for one is refused") {
  PairedOp op = SixProducts();
  op.set_workspace_bytes(30 * 48 * sizeof(float));
  CHECK(op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported);
}

TEST_CASE("Vector products of computed factors: a transposed first factor is refused") {
  Generator random(7);
  PairedOp op(kComputedProduct, "cpu.matmul.portable");
  op.AddInput(Random({8, 8}, Layout::kRowMajor, random));
  op.AddInput(Random({8, 8}, Layout::kRowMajor, random));
  op.AddOutput({8, 8}, Layout::kRowMajor);
  op.set_workspace_bytes(1 << 16);
  CHECK(op.Check(MatMulAttributes{1, 0, {}}).code() == StatusCode::kUnsupported);
  CHECK(op.Check(MatMulAttributes{}).ok());
}

TEST_CASE("Vector convs by computed weights: agree with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(8);
    for (int i = 0; i < 100; ++i) {
      const ConvShapes shapes =
          RandomShapes(Pick(random, 1, 40), Pick(random, 1, 80), 1, 4, random, /*spare=*/16);
      ConvCase c = {shapes.x, shapes.w, shapes.conv};
      SetRandomActivation(c.attributes, random);
      INFO(TextOf(c.x, c.w));
      CHECK(DifferenceOf(c, RandomOptions(kComputedConv, random), random) < kTolerance);
    }
  });
}

TEST_CASE("Vector convs by computed weights: groups read their own channels") {
  ForEachInstructionSet([] {
    Generator random(9);
    for (int i = 0; i < 40; ++i) {
      const int32_t group = Pick(random, 2, 4);
      const ConvShapes shapes = RandomShapes(group * Pick(random, 1, 9),
                                             group * Pick(random, 16, 50), group, 3, random, 16);
      const ConvCase c = {shapes.x, shapes.w, shapes.conv};
      INFO(TextOf(c.x, c.w));
      CHECK(DifferenceOf(c, RandomOptions(kComputedConv, random), random) < kTolerance);
    }
  });
}

TEST_CASE("Vector convs by computed weights: many weights, packed by several threads") {
  ForEachInstructionSet([] {
    Generator random(10);
    const ConvCase c = {{1, 90, 6, 5}, {130, 90, 3, 3}, Conv(1, 1, 1)};
    for (const int threads : {1, 2, 3}) {
      ConvOptions options;
      options.threads = threads;
      CHECK(DifferenceOf(c, options, random) < kTolerance);
    }
  });
}

}  // namespace tenon::cpu::testing
