// The fast quantized matrix product against the portable one, on every instruction set: equal bits.
#include "tests/unit/backends/cpu/kernels/q8/gemm_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorMatMul = "cpu.quantized_matmul.vector";

void CheckEqual(const std::vector<int32_t>& a, int32_t columns, bool transposed,
                const GemmOptions& options, Generator& random) {
  CAPTURE(a.back());
  CAPTURE(columns);
  CAPTURE(static_cast<int>(options.to));
  CAPTURE(static_cast<int>(options.rounding));
  const int32_t depth = a.back();
  const std::vector<int32_t> b =
      transposed ? std::vector<int32_t>{columns, depth} : std::vector<int32_t>{depth, columns};
  std::vector<int32_t> y = a;
  y.back() = columns;
  GemmPair pair(kVectorMatMul, kPortableMatMul);
  GemmOptions whole = options;
  whole.x_zero_point_per_channel = false;
  if (whole.rounding == Rounding::kFixedPoint && Pick(random, 0, 1) == 1) {
    whole.rounding = Rounding::kFixedPointOnce;
  }
  pair.AddInputs(RandomBytes(options.x_dtype, a, Layout::kRowMajor, random),
                 RandomBytes(options.w_dtype, b, Layout::kRowMajor, random), columns, 1, depth,
                 whole, random);
  pair.AddOutput(options.to, y, Layout::kRowMajor);
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = transposed ? 1 : 0;
  attributes.output = MakeOutput(whole, random);
  pair.CheckEqual(attributes, options.threads);
}

}  // namespace

TEST_CASE("Fast quantized matmul: the portable kernel's bits on random shapes and roundings") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 120; ++i) {
      CheckEqual({Pick(random, 1, 3), Pick(random, 1, 20), Pick(random, 4, 90)},
                 Pick(random, 1, 150), Pick(random, 0, 1) == 1, RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Fast quantized matmul: a single row, as fully connected layers have it") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int i = 0; i < 40; ++i) {
      CheckEqual({1, Pick(random, 4, 700)}, Pick(random, 1, 300), true, RandomGemmOptions(random),
                 random);
    }
  });
}

TEST_CASE("Fast quantized matmul: large enough for several threads") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (const int threads : {1, 2, 3}) {
      GemmOptions options;
      options.threads = threads;
      CheckEqual({33, 300}, 170, true, options, random);
      CheckEqual({1, 1300}, 1001, true, options, random);
    }
  });
}

TEST_CASE("Fast quantized matmul: rows too deep for a block of a whole tile, or of one row") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (const int32_t depth : {2033, 2049, 2050, 2560, 4099, 12289, 12803}) {
      for (const int32_t rows : {1, 3, 7, 14}) {
        CheckEqual({rows, depth}, Pick(random, 1, 100), true, RandomGemmOptions(random), random);
      }
    }
  });
}

TEST_CASE("Fast quantized matmul: factors, shifts and bias of any bits") {
  ForEachQuantizedSet([] {
    Generator random(4);
    for (int i = 0; i < 60; ++i) {
      GemmOptions options = RandomGemmOptions(random);
      options.hostile = true;
      CheckEqual({Pick(random, 1, 9), Pick(random, 4, 40)}, Pick(random, 1, 70), false, options,
                 random);
    }
  });
}

}  // namespace tenon::cpu::testing
