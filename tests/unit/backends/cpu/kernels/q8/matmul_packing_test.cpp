// The quantized product of two tensors that both change, against the portable one, on every
// instruction set: equal bits.
#include "tests/unit/backends/cpu/kernels/q8/gemm_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

/// Two factors, in batches that are broadcast.
struct Factors {
  std::vector<int32_t> a;
  std::vector<int32_t> b;  ///< as stored: turned where `transposed`
  std::vector<int32_t> y;
  bool transposed = false;
};

Factors FactorsOf(std::vector<int32_t> a_batches, std::vector<int32_t> b_batches,
                  std::vector<int32_t> y_batches, int32_t rows, int32_t depth, int32_t columns,
                  bool transposed) {
  Factors factors;
  factors.transposed = transposed;
  const auto with = [](std::vector<int32_t> dims, int32_t first, int32_t second) {
    dims.push_back(first);
    dims.push_back(second);
    return dims;
  };
  factors.a = with(std::move(a_batches), rows, depth);
  factors.b = transposed ? with(std::move(b_batches), columns, depth)
                         : with(std::move(b_batches), depth, columns);
  factors.y = with(std::move(y_batches), rows, columns);
  return factors;
}

GemmOptions BothChange(GemmOptions options) {
  options.constant_weights = false;
  options.x_zero_point_per_channel = false;
  options.w_zero_point_per_channel = false;
  return options;
}

QuantizedMatMulAttributes AddOperands(const Factors& factors, const GemmOptions& options,
                                      GemmPair& pair, Generator& random) {
  pair.AddInputs(RandomBytes(options.x_dtype, factors.a, Layout::kRowMajor, random),
                 RandomBytes(options.w_dtype, factors.b, Layout::kRowMajor, random),
                 factors.y.back(), 1, factors.a.back(), options, random);
  pair.AddOutput(options.to, factors.y, Layout::kRowMajor);
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = factors.transposed ? 1 : 0;
  attributes.output = MakeOutput(options, random);
  return attributes;
}

constexpr const char* kVectorPacking = "cpu.quantized_matmul.vector_packing";

void CheckEqual(const Factors& factors, const GemmOptions& given, Generator& random) {
  GemmOptions options = BothChange(given);
  if (options.rounding == Rounding::kFixedPoint && Pick(random, 0, 1) == 1) {
    options.rounding = Rounding::kFixedPointOnce;
  }
  CAPTURE(factors.a[factors.a.size() - 2]);
  CAPTURE(factors.a.back());
  CAPTURE(factors.y.back());
  CAPTURE(factors.transposed);
  CAPTURE(static_cast<int>(options.w_dtype));
  CAPTURE(options.w_zero_point);
  CAPTURE(static_cast<int>(options.to));
  CAPTURE(static_cast<int>(options.rounding));
  GemmPair pair(kVectorPacking, kPortableMatMul);
  const QuantizedMatMulAttributes attributes = AddOperands(factors, options, pair, random);
  pair.CheckEqual(attributes, options.threads);
}

}  // namespace

TEST_CASE("Quantized matmul of two tensors: the portable kernel's bits on random shapes") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 200; ++i) {
      const int32_t batches = Pick(random, 1, 4);
      CheckEqual(FactorsOf({batches}, {batches}, {batches}, Pick(random, 4, 20),
                           Pick(random, 4, 90), Pick(random, 1, 150), Pick(random, 0, 1) == 1),
                 RandomGemmOptions(random), random);
    }
  });
}

TEST_CASE("Quantized matmul of two tensors: matrices of either factor serve several batches") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int i = 0; i < 10; ++i) {
      const GemmOptions options = RandomGemmOptions(random);
      CheckEqual(FactorsOf({3, 1}, {2}, {3, 2}, 5, 17, 20, false), options, random);
      CheckEqual(FactorsOf({2}, {3, 1}, {3, 2}, 4, 8, 70, true), options, random);
      CheckEqual(FactorsOf({}, {4}, {4}, 6, 9, 33, true), options, random);
    }
  });
}

TEST_CASE("Quantized matmul of two tensors: large enough for several threads") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (const int threads : {1, 2, 3}) {
      GemmOptions options;
      options.threads = threads;
      options.w_zero_point = true;
      CheckEqual(FactorsOf({5}, {5}, {5}, 33, 64, 130, true), options, random);
      CheckEqual(FactorsOf({1}, {1}, {1}, 90, 200, 130, false), options, random);
    }
  });
}

TEST_CASE("Quantized matmul of two tensors: zero points at either end of a byte") {
  ForEachQuantizedSet([] {
    Generator random(4);
    for (const DType dtype : {DType::kI8, DType::kU8}) {
      for (int i = 0; i < 20; ++i) {
        GemmOptions options;
        options.w_dtype = dtype;
        options.w_zero_point = true;
        options.to = i % 2 == 0 ? DType::kI32 : DType::kI8;
        CheckEqual(FactorsOf({2}, {2}, {2}, 7, 31, 18, i % 3 == 0), options, random);
      }
    }
  });
}

TEST_CASE("Quantized matmul of two tensors: constants of any bits") {
  ForEachQuantizedSet([] {
    Generator random(5);
    for (int i = 0; i < 60; ++i) {
      GemmOptions options = RandomGemmOptions(random);
      options.hostile = true;
      options.huge_bias = true;
      CheckEqual(FactorsOf({1}, {1}, {1}, 6, Pick(random, 4, 40), Pick(random, 1, 80), true),
                 options, random);
    }
  });
}

TEST_CASE("Quantized matmul of two tensors: what the kernel does not take is refused") {
  Generator random(6);
  const auto refusal = [&](const Factors& factors, GemmOptions options, int transpose_a) {
    GemmPair pair(kVectorPacking, kPortableMatMul);
    QuantizedMatMulAttributes attributes = AddOperands(factors, options, pair, random);
    attributes.matmul.transpose_a = transpose_a;
    return pair.Check(attributes);
  };
  const GemmOptions options = BothChange({});
  CHECK(refusal(FactorsOf({1}, {1}, {1}, 8, 8, 8, true), options, 0).ok());
  CHECK_FALSE(refusal(FactorsOf({1}, {1}, {1}, 8, 8, 8, true), options, 1).ok());
  CHECK_FALSE(refusal(FactorsOf({1}, {1}, {1}, 3, 8, 8, true), options, 0).ok());
  CHECK_FALSE(refusal(FactorsOf({1}, {1}, {1}, 8, 3, 8, true), options, 0).ok());
  GemmOptions each = options;
  each.w_zero_point = true;
  each.w_zero_point_per_channel = true;
  CHECK_FALSE(refusal(FactorsOf({1}, {1}, {1}, 8, 8, 8, true), each, 0).ok());
}

}  // namespace tenon::cpu::testing
