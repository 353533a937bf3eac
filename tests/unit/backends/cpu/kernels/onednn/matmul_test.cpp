#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr double kProductTolerance = 1e-5;

struct MatMulCase {
  const char* name;
  std::vector<int32_t> a;
  std::vector<int32_t> b;
  std::vector<int32_t> y;
  bool transpose_a = false;
  bool transpose_b = false;
  bool constant_b = true;
};

std::vector<MatMulCase> MatMulCases() {
  return {
      {"fully connected", {1, 256}, {256, 100}, {1, 100}},
      {"fully connected, weights by rows", {1, 256}, {100, 256}, {1, 100}, false, true},
      {"batch of rows", {33, 70}, {70, 45}, {33, 45}},
      {"first factor transposed", {70, 33}, {70, 45}, {33, 45}, true, false},
      {"both transposed", {70, 33}, {45, 70}, {33, 45}, true, true},
      {"tokens by weights", {2, 9, 32}, {32, 48}, {2, 9, 48}},
      {"heads", {2, 3, 9, 16}, {2, 3, 16, 9}, {2, 3, 9, 9}, false, false, false},
      {"heads, keys by rows", {2, 3, 9, 16}, {2, 3, 9, 16}, {2, 3, 9, 9}, false, true, false},
      {"second factor shared by a batch",
       {4, 1, 5, 6},
       {1, 3, 6, 7},
       {4, 3, 5, 7},
       false,
       false,
       false},
      {"first factor shared by a batch", {5, 6}, {3, 6, 7}, {3, 5, 7}, false, false, false},
      {"one column", {20, 30}, {30, 1}, {20, 1}},
      {"inner dimension 1", {20, 1}, {1, 30}, {20, 30}},
      {"one element", {1, 1}, {1, 1}, {1, 1}},
      {"second factor is an operand", {12, 20}, {20, 16}, {12, 16}, false, false, false},
      // These are two halves of their rows.
      {"heads of many rows",
       {1, 3, 131, 96},
       {1, 3, 96, 131},
       {1, 3, 131, 131},
       false,
       false,
       false},
      {"many rows, keys by rows", {2, 131, 128}, {2, 130, 128}, {2, 131, 130}, false, true, false},
      {"many columns turned", {3, 150, 131}, {3, 150, 90}, {3, 131, 90}, true, false, false},
      {"rows of all batches", {4, 99, 128}, {128, 96}, {4, 99, 96}, false, false, false},
      {"second factor shared by a batch of many rows",
       {4, 1, 81, 60},
       {1, 3, 60, 75},
       {4, 3, 81, 75},
       false,
       false,
       false},
  };
}

MatMulAttributes AttributesOf(const MatMulCase& c) {
  MatMulAttributes attributes;
  attributes.transpose_a = c.transpose_a ? 1 : 0;
  attributes.transpose_b = c.transpose_b ? 1 : 0;
  return attributes;
}

PairedOp MakeOp(const MatMulCase& c, bool bias, Generator& random) {
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  op.AddInput(Random(c.a, Layout::kRowMajor, random));
  op.AddInput(Random(c.b, Layout::kRowMajor, random), c.constant_b);
  if (bias) op.AddInput(Random({c.y.back()}, Layout::kRowMajor, random), kConstant);
  op.AddOutput(c.y, Layout::kRowMajor);
  op.set_workspace_bytes(1152);
  return op;
}

/// The matrices of `dims` with `gap` unused elements after each row.
Tensor WithRowGaps(const std::vector<int32_t>& dims, int32_t gap, Generator& random) {
  std::vector<int32_t> strides(dims.size(), 1);
  for (size_t i = dims.size() - 1; i-- > 0;) {
    strides[i] = strides[i + 1] * dims[i + 1] + (i + 2 == dims.size() ? gap : 0);
  }
  Tensor tensor(DType::kF32, dims, strides);
  tensor.Set(RandomValues(tensor.count(), random));
  return tensor;
}

}  // namespace

TEST_CASE("MatMul on oneDNN: agrees with the portable kernel on every class of shapes") {
  Generator random(1);
  for (const MatMulCase& c : MatMulCases()) {
    for (const bool bias : {false, true}) {
      for (const int threads : {1, 2}) {
        CAPTURE(c.name);
        CAPTURE(bias);
        CAPTURE(threads);
        PairedOp op = MakeOp(c, bias, random);
        CHECK(op.Difference(AttributesOf(c), threads) < kProductTolerance);
      }
    }
  }
}

TEST_CASE("MatMul on oneDNN: the same bits whatever the number of threads") {
  for (const MatMulCase& c : MatMulCases()) {
    CAPTURE(c.name);
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Generator random(4);
      OpFixture op(FindKernel("cpu.matmul.onednn"));
      op.AddInput(Random(c.a, Layout::kRowMajor, random));
      op.AddInput(Random(c.b, Layout::kRowMajor, random), c.constant_b);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, c.y, Layout::kRowMajor));
      op.set_workspace_bytes(1152);
      REQUIRE(op.Run(AttributesOf(c), threads).ok());
      if (threads == 1) first = y.Values<float>();
      CHECK(y.Values<float>() == first);
    }
  }
}

TEST_CASE("MatMul on oneDNN: applies the activation after the bias") {
  Generator random(2);
  for (const MatMulCase& c : MatMulCases()) {
    for (const UnaryFunction function : {UnaryFunction::kGelu, UnaryFunction::kClip}) {
      CAPTURE(c.name);
      MatMulAttributes attributes = AttributesOf(c);
      attributes.activation = {function, -0.5F, 0.75F};
      PairedOp op = MakeOp(c, true, random);
      CHECK(op.Difference(attributes, 1) < kProductTolerance);
    }
  }
}

TEST_CASE("MatMul on oneDNN: rows may lie apart") {
  Generator random(3);
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  op.AddInput(WithRowGaps({3, 9, 16}, 5, random));
  op.AddInput(WithRowGaps({3, 16, 12}, 4, random));
  op.AddOutput({3, 9, 12}, Layout::kRowMajorGaps);
  CHECK(op.Difference(MatMulAttributes{}, 2) < kProductTolerance);
}

TEST_CASE("MatMul on oneDNN: heads may be interleaved in memory") {
  // [heads, tokens, depth] as a view of [tokens, heads, depth].
  Generator random(4);
  const std::vector<int32_t> dims = {3, 9, 16};
  const std::vector<int32_t> strides = {16, 48, 1};
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  for (int i = 0; i < 2; ++i) {
    Tensor tensor(DType::kF32, dims, strides);
    tensor.Set(RandomValues(tensor.count(), random));
    op.AddInput(tensor);
  }
  op.AddOutput({3, 9, 9}, Layout::kRowMajor);
  MatMulAttributes attributes;
  attributes.transpose_b = 1;
  CHECK(op.Difference(attributes, 2) < kProductTolerance);
}

TEST_CASE("MatMul on oneDNN: a batch repeated by stride 0 is a broadcast") {
  Generator random(5);
  Tensor repeated(DType::kF32, {4, 6, 7}, {0, 7, 1});
  repeated.Set(RandomValues(repeated.count(), random));
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  op.AddInput(Random({4, 5, 6}, Layout::kRowMajor, random));
  op.AddInput(repeated);
  op.AddOutput({4, 5, 7}, Layout::kRowMajor);
  CHECK(op.Difference(MatMulAttributes{}, 1) < kProductTolerance);
}

TEST_CASE("MatMul on oneDNN: refuses matrices with gaps in both directions") {
  Generator random(6);
  Tensor spaced(DType::kF32, {5, 6}, {20, 3});
  spaced.Set(RandomValues(spaced.count(), random));
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  op.AddInput(spaced);
  op.AddInput(Random({6, 7}, Layout::kRowMajor, random));
  op.AddOutput({5, 7}, Layout::kRowMajor);
  CHECK(op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported);
}

TEST_CASE("MatMul on oneDNN: refuses a bias along rows") {
  Generator random(7);
  PairedOp op("cpu.matmul.onednn", "cpu.matmul.portable");
  op.AddInput(Random({5, 6}, Layout::kRowMajor, random));
  op.AddInput(Random({6, 7}, Layout::kRowMajor, random));
  op.AddInput(Random({5, 1}, Layout::kRowMajor, random));
  op.AddOutput({5, 7}, Layout::kRowMajor);
  CHECK(op.Check(MatMulAttributes{}).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
