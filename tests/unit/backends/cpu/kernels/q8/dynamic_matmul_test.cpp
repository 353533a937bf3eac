// The fast product with ranges of run time against the portable one, on every instruction set:
// equal bits.
#include "tests/unit/backends/cpu/kernels/q8/gemm_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorDynamicMatMul = "cpu.dynamic_matmul.vector";
constexpr const char* kPortableDynamicMatMul = "cpu.dynamic_matmul.portable";

struct Sizes {
  int32_t rows, depth, columns;
};

void CheckEqual(const Sizes& s, int threads, bool hostile, Generator& random) {
  CAPTURE(s.rows);
  CAPTURE(s.depth);
  CAPTURE(s.columns);
  const DType dtype = Pick(random, 0, 1) == 0 ? DType::kI8 : DType::kU8;
  const auto one_or_each = [&] { return Pick(random, 0, 1) == 0 ? 1 : s.columns; };
  OpFixture fast(FindKernel(kVectorDynamicMatMul));
  OpFixture portable(FindKernel(kPortableDynamicMatMul));
  const auto add = [&](const Tensor& tensor, bool constant) {
    fast.AddInput(tensor, constant);
    portable.AddInput(tensor, constant);
  };
  const float least = static_cast<float>(Pick(random, -4, 1));
  Tensor a = Random({1, s.rows, s.depth}, Layout::kRowMajor, random, least, least + 4.0F);
  if (hostile) {
    constexpr float kValues[] = {
        __builtin_nanf(""), __builtin_inff(), -__builtin_inff(), -0.0F, 1e-42F, 3e38F};
    std::vector<float> values = a.Values<float>();
    for (float& value : values) {
      if (Pick(random, 0, 9) == 0) value = kValues[Pick(random, 0, 5)];
    }
    a = Tensor::From(DType::kF32, {1, s.rows, s.depth}, values);
  }
  add(a, false);
  add(RandomBytes(dtype, {s.depth, s.columns}, Layout::kRowMajor, random), true);
  const int bias = Pick(random, 0, 2);
  if (bias == 0) {
    fast.AddAbsentInput();
    portable.AddAbsentInput();
  } else {
    const std::vector<int32_t> dims =
        bias == 1 ? std::vector<int32_t>{s.columns} : std::vector<int32_t>{s.rows, s.columns};
    add(Random(dims, Layout::kRowMajor, random), false);
  }
  add(Random({one_or_each()}, Layout::kRowMajor, random, 0.01F, 2), true);
  if (Pick(random, 0, 1) == 0) {
    add(RandomBytes(dtype, {one_or_each()}, Layout::kRowMajor, random), true);
  }
  const Tensor y = fast.AddOutput(Tensor(DType::kF32, {1, s.rows, s.columns}));
  const Tensor wanted = portable.AddOutput(Tensor(DType::kF32, {1, s.rows, s.columns}));
  ParallelRunner runner = CpuBackend().make_runner(threads);
  fast.set_runner(&runner);
  fast.SizeWorkspace(NoAttributes{}, threads);
  const Status status = fast.Run(NoAttributes{}, threads);
  CpuBackend().free_runner(runner);
  INFO(status.message());
  REQUIRE(status.ok());
  REQUIRE(portable.Run(NoAttributes{}).ok());
  const std::vector<float> given = y.Values<float>();
  const std::vector<float> right = wanted.Values<float>();
  int unlike = 0;
  for (size_t i = 0; i < right.size(); ++i) {
    const bool both_nan = given[i] != given[i] && right[i] != right[i];
    if (!both_nan && std::memcmp(&given[i], &right[i], sizeof(float)) != 0) ++unlike;
  }
  CHECK(unlike == 0);
}

}  // namespace

TEST_CASE("Fast dynamic matmul: the portable kernel's bits on random shapes") {
  ForEachQuantizedSet([] {
    Generator random(1);
    for (int i = 0; i < 150; ++i) {
      CheckEqual({Pick(random, 1, 20), Pick(random, 4, 90), Pick(random, 1, 150)},
                 Pick(random, 1, 3), false, random);
    }
  });
}

TEST_CASE("Fast dynamic matmul: one row, and enough for several threads") {
  ForEachQuantizedSet([] {
    Generator random(2);
    for (int i = 0; i < 20; ++i) {
      CheckEqual({1, Pick(random, 4, 300), Pick(random, 1, 300)}, 1, false, random);
    }
    for (const int threads : {1, 2, 3}) CheckEqual({33, 300, 170}, threads, false, random);
  });
}

TEST_CASE("Fast dynamic matmul: floats of any value") {
  ForEachQuantizedSet([] {
    Generator random(3);
    for (int i = 0; i < 40; ++i) {
      CheckEqual({Pick(random, 1, 4), Pick(random, 4, 40), Pick(random, 1, 40)}, 1, true, random);
    }
  });
}

TEST_CASE("Fast dynamic matmul: sums past 32 bits wrap around, as the portable kernel's do") {
  ForEachQuantizedSet([] {
    constexpr int32_t kDepth = 40000;
    for (const char* kernel : {kVectorDynamicMatMul, kPortableDynamicMatMul}) {
      OpFixture op(FindKernel(kernel));
      op.AddInput(Tensor::From(DType::kF32, {1, kDepth}, std::vector<float>(kDepth, 1.0F)));
      op.AddInput(Tensor::From(DType::kU8, {kDepth, 1}, std::vector<uint8_t>(kDepth, 255)),
                  kConstant);
      op.AddAbsentInput();
      op.AddInput(Tensor::From(DType::kF32, {1}, std::vector<float>{1.0F}), kConstant);
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 1}));
      op.SizeWorkspace(NoAttributes{});
      REQUIRE(op.Run(NoAttributes{}).ok());
      const auto sum = static_cast<int32_t>(uint32_t{kDepth} * 255U * 255U);
      CHECK(y.Values<float>()[0] == static_cast<float>(sum) * (1.0F / 255.0F));
    }
  });
}

}  // namespace tenon::cpu::testing
