// The Cortex-M matrix product against the portable one: equal bits.
#include "tests/unit/backends/cpu/kernels/cortex_m/cortex_m_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

struct Gemm {
  std::vector<int32_t> a;
  int32_t columns;
  bool transposed;
};

void CheckGemm(const KernelEntry& kernel, const Gemm& gemm, const GemmOptions& options,
               const QuantizedOutput& output, Generator& random) {
  const int32_t depth = gemm.a.back();
  std::vector<int32_t> b = {depth, gemm.columns};
  if (gemm.transposed) b = {gemm.columns, depth};
  std::vector<int32_t> y = gemm.a;
  y.back() = gemm.columns;
  CAPTURE(depth);
  CAPTURE(gemm.columns);
  CAPTURE(gemm.transposed);
  CAPTURE(static_cast<int>(options.rounding));
  KernelPair pair(kernel, "cpu.quantized_matmul.portable");
  pair.AddInput(RandomBytes(DType::kI8, gemm.a, StridesFor(gemm.a, Layout::kRowMajor), random));
  const Layout order = gemm.transposed ? Layout::kRowMajor : Layout::kOutputsLast;
  const Tensor weights = RandomBytes(DType::kI8, b, StridesFor(b, order), random);
  pair.AddInput(weights, kConstant);
  pair.AddParameters(gemm.columns, depth, options, random);
  if (options.folded) pair.AddFoldedBias(gemm.transposed ? 0 : 1);
  pair.AddOutput(options.to, y, StridesFor(y, Layout::kRowMajor));
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = gemm.transposed ? 1 : 0;
  attributes.output = output;
  pair.UseWorkspace(CapsOfKernel(kernel), attributes, Tensor(options.to, y));
  pair.CheckEqual(attributes);
}

void CheckGemm(const KernelEntry& kernel, const Gemm& gemm, Generator& random) {
  const GemmOptions options = RandomOptions(random, /*once=*/true);
  CheckGemm(kernel, gemm, options, MakeOutput(options, random), random);
}

}  // namespace

TEST_CASE("Cortex-M matmul: one row and many, of any depth and number of columns") {
  ForEachSet("quantized_matmul", "", [](const KernelEntry& kernel) {
    Generator random(1);
    for (int i = 0; i < 120; ++i) {
      const int32_t rows = i % 3 == 0 ? Pick(random, 1, 30) : 1;
      const Gemm gemm = {
          {rows, Pick(random, 1, 100)}, Pick(random, 1, 30), Pick(random, 0, 1) == 0};
      CheckGemm(kernel, gemm, random);
    }
  });
}

TEST_CASE(
    "Cortex-M matmul: all bytes of products that are rounded once, of depths of whole words") {
  ForEachSet("quantized_matmul", "", [](const KernelEntry& kernel) {
    Generator random(4);
    for (int i = 0; i < 80; ++i) {
      GemmOptions options;
      options.rounding = Rounding::kFixedPointOnce;
      options.per_channel = i % 2 == 0;
      options.hostile = i % 5 == 0;
      QuantizedOutput output = MakeOutput(options, random);
      output.min = -128;
      output.max = 127;
      const int32_t rows = i % 7 == 0 ? 3 : 1;
      const int32_t step = i % 3 == 0 ? 4 : 8;
      CheckGemm(kernel, {{rows, step * Pick(random, 1, 20)}, Pick(random, 1, 20), true}, options,
                output, random);
    }
  });
}

TEST_CASE("Cortex-M matmul: batches of rows") {
  ForEachSet("quantized_matmul", "", [](const KernelEntry& kernel) {
    Generator random(2);
    for (int i = 0; i < 20; ++i) {
      const Gemm gemm = {
          {Pick(random, 1, 3), Pick(random, 1, 5), Pick(random, 1, 40)}, Pick(random, 1, 20), true};
      CheckGemm(kernel, gemm, random);
    }
  });
}

TEST_CASE("Cortex-M matmul: too small a workspace is refused") {
  ForEachSet("quantized_matmul", "", [](const KernelEntry& kernel) {
    Generator random(3);
    KernelPair pair(kernel, "cpu.quantized_matmul.portable");
    pair.AddInput(RandomBytes(DType::kI8, {2, 8}, {8, 1}, random));
    pair.AddInput(RandomBytes(DType::kI8, {4, 8}, {8, 1}, random), kConstant);
    GemmOptions options;
    pair.AddParameters(4, 8, options, random);
    pair.AddOutput(DType::kI8, {2, 4}, {4, 1});
    QuantizedMatMulAttributes attributes;
    attributes.matmul.transpose_b = 1;
    attributes.output = MakeOutput(options, random);
    pair.set_workspace_bytes(15);
    CHECK(pair.Check(attributes).code() == StatusCode::kUnsupported);
    pair.set_workspace_bytes(16);
    CHECK(pair.Check(attributes).ok());
  });
}

}  // namespace tenon::cpu::testing
