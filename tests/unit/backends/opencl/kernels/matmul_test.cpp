#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

constexpr const char* kProductTile = "opencl.matmul.tile";
constexpr const char* kReference = "opencl.matmul.reference";

struct Gemm {
  std::vector<int32_t> a, b, y;
  bool transpose_a = false;
  bool transpose_b = false;
  std::vector<int32_t> bias;  ///< empty: none
  bool constant_b = true;
  bool constant_bias = true;
  UnaryFunction activation = UnaryFunction::kIdentity;
};

double Excess(const std::string& kernel, const Gemm& gemm, Generator& random, int times = 1) {
  PairedOp op(kernel);
  op.AddInput(Random(gemm.a, Layout::kRowMajor, random));
  op.AddInput(Random(gemm.b, Layout::kRowMajor, random), gemm.constant_b);
  if (!gemm.bias.empty()) {
    op.AddInput(Random(gemm.bias, Layout::kRowMajor, random), gemm.constant_bias);
  }
  op.AddOutput(gemm.y, Layout::kRowMajor);
  MatMulAttributes attributes;
  attributes.transpose_a = gemm.transpose_a ? 1 : 0;
  attributes.transpose_b = gemm.transpose_b ? 1 : 0;
  attributes.activation.function = gemm.activation;
  return op.Excess(attributes, times);
}

/// Rows, depth and columns, transposed as asked for, in batches.
Gemm Make(const std::vector<int32_t>& batches, int32_t rows, int32_t depth, int32_t columns,
          bool transpose_a, bool transpose_b) {
  Gemm gemm;
  gemm.a = gemm.b = gemm.y = batches;
  gemm.a.push_back(transpose_a ? depth : rows);
  gemm.a.push_back(transpose_a ? rows : depth);
  gemm.b.push_back(transpose_b ? columns : depth);
  gemm.b.push_back(transpose_b ? depth : columns);
  gemm.y.push_back(rows);
  gemm.y.push_back(columns);
  gemm.transpose_a = transpose_a;
  gemm.transpose_b = transpose_b;
  return gemm;
}

}  // namespace

TEST_CASE(
    "OpenCL matmul: every variant that is listed runs, with packed and with variable factors") {
  Generator random(11);
  for (const std::string& variant : VariantsOf(kProductTile)) {
    CAPTURE(variant);
    Gemm gemm = Make({}, 9, 21, 37, false, true);
    CHECK(Excess(kProductTile + (":" + variant), gemm, random) <= 1.0);
    gemm.constant_b = false;
    CHECK(Excess(kProductTile + (":" + variant), gemm, random) <= 1.0);
  }
}

TEST_CASE("OpenCL matmul: one row and many, a constant second factor, transposed and not") {
  Generator random(1);
  for (const int32_t rows : {1, 2, 7, 8, 30}) {
    for (const int32_t columns : {1, 9, 16, 24, 100}) {
      Gemm gemm = Make({}, rows, Pick(random, 1, 70), columns, false, Pick(random, 0, 1) == 1);
      if (Pick(random, 0, 1) == 1) gemm.bias = {columns};
      gemm.activation = UnaryFunction::kRelu;
      CAPTURE(rows);
      CAPTURE(columns);
      CHECK(Excess(kProductTile, gemm, random) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL matmul: batches of two variable factors, both transposed or not") {
  Generator random(2);
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      for (const std::vector<int32_t>& batches :
           std::vector<std::vector<int32_t>>{{}, {3}, {2, 3}}) {
        Gemm gemm = Make(batches, 11, 19, 37, transpose_a, transpose_b);
        gemm.constant_b = false;
        CAPTURE(transpose_a);
        CAPTURE(transpose_b);
        CHECK(Excess(kProductTile, gemm, random, 2) <= 1.0);
        gemm.bias = {37};
        CHECK(Excess(kProductTile, gemm, random) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL matmul: one matrix for all batches of the other factor") {
  Generator random(3);
  for (const bool transpose_a : {false, true}) {
    for (const bool constant : {false, true}) {
      Gemm gemm = Make({2, 3}, 5, 20, 33, transpose_a, true);
      gemm.b = {33, 20};
      gemm.constant_b = constant;
      CHECK(Excess(kProductTile, gemm, random) <= 1.0);
      gemm = Make({4}, 5, 20, 33, transpose_a, false);
      gemm.a = transpose_a ? std::vector<int32_t>{1, 20, 5} : std::vector<int32_t>{1, 5, 20};
      gemm.constant_b = constant;
      CHECK(Excess(kProductTile, gemm, random) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL matmul: a bias of any shape with a value for every column") {
  Generator random(4);
  const std::vector<std::vector<int32_t>> shapes = {{17},       {1, 17},    {6, 17},   {1, 1, 17},
                                                    {4, 1, 17}, {1, 6, 17}, {4, 6, 17}};
  for (const std::vector<int32_t>& bias : shapes) {
    for (const bool constant : {false, true}) {
      for (const bool one_b : {false, true}) {
        Gemm gemm = Make({4}, 6, 13, 17, false, false);
        if (one_b) gemm.b = {13, 17};
        gemm.bias = bias;
        gemm.constant_bias = constant;
        CAPTURE(bias.size());
        CAPTURE(constant);
        CHECK(Excess(kProductTile, gemm, random) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL matmul: small shapes of every kind") {
  Generator random(8);
  Gemm gemm = Make({2}, 3, 5, 18, false, true);
  gemm.bias = {2, 3, 18};
  CHECK(Excess(kProductTile, gemm, random) <= 1.0);
  gemm.constant_b = false;
  gemm.bias = {18};
  CHECK(Excess(kProductTile, gemm, random) <= 1.0);
  CHECK(Excess(kReference, gemm, random) <= 1.0);
}

TEST_CASE("OpenCL matmul: the reference kernel broadcasts batches and biases in every way") {
  Generator random(5);
  Gemm gemm;
  gemm.a = {2, 1, 5, 7};
  gemm.b = {3, 7, 9};
  gemm.y = {2, 3, 5, 9};
  gemm.constant_b = false;
  CHECK(Excess(kReference, gemm, random) <= 1.0);
  for (const std::vector<int32_t>& bias :
       std::vector<std::vector<int32_t>>{{1}, {5, 1}, {2, 1, 1, 9}, {9}}) {
    gemm.bias = bias;
    CHECK(Excess(kReference, gemm, random) <= 1.0);
  }
  for (const bool transpose_a : {false, true}) {
    for (const bool transpose_b : {false, true}) {
      CHECK(Excess(kReference, Make({2}, 6, 5, 4, transpose_a, transpose_b), random) <= 1.0);
    }
  }
}

TEST_CASE("OpenCL matmul: tiles refuse batches that broadcast in part, and say so") {
  Generator random(6);
  PairedOp op(kProductTile);
  op.AddInput(Random({2, 1, 5, 7}, Layout::kRowMajor, random));
  op.AddInput(Random({3, 7, 9}, Layout::kRowMajor, random));
  op.AddOutput({2, 3, 5, 9}, Layout::kRowMajor);
  const Status status = op.Check(MatMulAttributes{});
  CHECK(status.code() == StatusCode::kUnsupported);
  CHECK(Text(status).find("batches") != std::string::npos);
}

TEST_CASE("OpenCL matmul: an activation that is compiled in") {
  Generator random(7);
  Gemm gemm = Make({}, 9, 12, 20, false, true);
  gemm.bias = {20};
  gemm.activation = UnaryFunction::kGelu;
  CHECK(Excess(kProductTile, gemm, random) <= 1.0);
}

}  // namespace tenon::opencl::testing
