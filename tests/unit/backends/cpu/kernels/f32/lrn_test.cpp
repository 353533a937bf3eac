#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorLrn = "cpu.lrn.vector";
constexpr const char* kPortableLrn = "cpu.lrn.portable";
// A fused multiply-add and a few roundings.
constexpr double kLrnTolerance = 1e-6;

LrnAttributes Lrn(int32_t size, float beta = 0.75F) {
  LrnAttributes attributes;
  attributes.size = size;
  attributes.alpha = 0.02F;
  attributes.beta = beta;
  attributes.bias = 2.0F;
  return attributes;
}

void CheckAgreement(const std::vector<int32_t>& dims, const LrnAttributes& attributes,
                    Generator& random) {
  CAPTURE(dims[1]);
  CAPTURE(attributes.size);
  PairedOp op(kVectorLrn, kPortableLrn);
  op.AddInput(Random(dims, PickChannelsLast(random), random, -30.0F, 30.0F));
  op.AddOutput(dims, PickChannelsLast(random));
  CHECK(op.Difference(attributes, Pick(random, 1, 3)) < kLrnTolerance);
}

}  // namespace

TEST_CASE("Vector LRN: agrees with the portable kernel on random shapes") {
  ForEachInstructionSet([] {
    Generator random(1);
    constexpr float kBetas[] = {0.75F, 0.5F, 1.3F};
    for (int i = 0; i < 100; ++i) {
      const std::vector<int32_t> dims = {Pick(random, 1, 3), Pick(random, 1, 90),
                                         Pick(random, 1, 9), Pick(random, 1, 9)};
      CheckAgreement(dims, Lrn(Pick(random, 1, 9), kBetas[Pick(random, 0, 2)]), random);
    }
  });
}

TEST_CASE("Vector LRN: takes the widest windows and the most channels it claims to") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (const int32_t channels : {15, 64, 1023, 1024}) {
      for (const int32_t size : {2, 63, 64}) {
        CheckAgreement({1, channels, 2, 3}, Lrn(size), random);
      }
    }
  });
}

TEST_CASE("Vector LRN: the same bits whatever the number of threads") {
  ForEachInstructionSet([] {
    Generator random(3);
    const std::vector<int32_t> dims = {1, 96, 13, 17};
    for (const Layout layout : {Layout::kChannelsLast, Layout::kChannelsLastGaps}) {
      const Tensor x = Random(dims, layout, random, -30.0F, 30.0F);
      const auto run = [&](int threads) {
        return RunUnary(kVectorLrn, x, dims, layout, Lrn(5), threads);
      };
      const std::vector<float> first = run(1);
      CHECK(run(2) == first);
      CHECK(run(3) == first);
    }
  });
}

TEST_CASE("Vector LRN: refuses what its buffer does not hold") {
  Generator random(4);
  const auto check = [&](int32_t channels, int32_t size) {
    PairedOp op(kVectorLrn, kPortableLrn);
    op.AddInput(Random({1, channels, 2, 2}, Layout::kChannelsLast, random));
    op.AddOutput({1, channels, 2, 2}, Layout::kChannelsLast);
    return op.Check(Lrn(size)).code();
  };
  CHECK(check(1024, 64) == StatusCode::kOk);
  CHECK(check(1024, 65) == StatusCode::kUnsupported);
  CHECK(check(1025, 64) == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
