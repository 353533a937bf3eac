#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/caps/f32_caps.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorAttention = "cpu.attention.vector";
constexpr const char* kPortableAttention = "cpu.attention.portable";
constexpr size_t kWorkspace = 4 << 20;

struct Sizes {
  int32_t batches, queries, keys, depth, columns;
};

double DifferenceOf(const Sizes& s, Layout layout, int mask, int threads, Generator& random) {
  const int32_t transpose = s.keys % 2;
  PairedOp op(kVectorAttention, kPortableAttention);
  op.set_workspace_bytes(kWorkspace);
  op.AddInput(Random({2, s.batches, s.queries, s.depth}, layout, random));
  op.AddInput(transpose == 0 ? Random({2, s.batches, s.keys, s.depth}, layout, random)
                             : Random({2, s.batches, s.depth, s.keys}, layout, random));
  op.AddInput(Random({2, s.batches, s.keys, s.columns}, layout, random));
  if (mask == 1) op.AddInput(Random({s.keys}, Layout::kRowMajor, random));
  if (mask == 2) op.AddInput(Random({2, 1, s.queries, s.keys}, layout, random));
  op.AddOutput({2, s.batches, s.queries, s.columns}, layout);
  return op.Difference(AttentionAttributes{0.7F, transpose}, threads);
}

}  // namespace

TEST_CASE("Vector attention: agrees with the portable kernel, whatever does not fill a vector") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 120; ++i) {
      const Sizes s = {Pick(random, 1, 3), Pick(random, 1, 70), Pick(random, 1, 90),
                       Pick(random, 1, 40), Pick(random, 1, 40)};
      CAPTURE(i);
      CHECK(DifferenceOf(s, kAllLayouts[i % 5], i % 3, i % 3 + 1, random) < 3e-6);
    }
  });
}

TEST_CASE("Vector attention: as many keys and elements as it takes") {
  ForEachInstructionSet([] {
    Generator random(2);
    const Sizes s = {1, 31, f32::kMostKeys, f32::kMostQueryElements, 33};
    // Rounding in a sum of D products within 1 moves it by about D / sqrt(54) units of 2^-24 (one
    // standard deviation), times the scale: 24 units, or 1.5e-6 of each weight in either kernel.
    // Results and their differences average alike, and the largest of thousands is three times as
    // much: 4 to 5e-6.
    CHECK(DifferenceOf(s, Layout::kRowMajor, 1, 1, random) < 1e-5);
    CHECK(DifferenceOf(s, Layout::kChannelsLastSpaced, 0, 2, random) < 1e-5);
  });
}

TEST_CASE("Vector attention: several threads give the same bits") {
  ForEachInstructionSet([] {
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Generator random(3);
      OpFixture op(FindKernel(kVectorAttention));
      op.set_workspace_bytes(kWorkspace);
      for (int i = 0; i < 3; ++i) op.AddInput(Random({3, 197, 64}, Layout::kRowMajor, random));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {3, 197, 64}, Layout::kRowMajor));
      REQUIRE(op.Run(AttentionAttributes{0.125F}, threads).ok());
      if (threads == 1) first = y.Values<float>();
      CHECK(y.Values<float>() == first);
    }
  });
}

TEST_CASE(
    "Vector attention: more keys than the buffer takes, and too little workspace, are refused") {
  const auto is_taken = [](int32_t keys, int32_t depth, size_t workspace) {
    PairedOp op(kVectorAttention, kPortableAttention);
    op.set_workspace_bytes(workspace);
    op.AddInput(Tensor(DType::kF32, {2, depth}, Layout::kRowMajor));
    op.AddInput(Tensor(DType::kF32, {keys, depth}, Layout::kRowMajor));
    op.AddInput(Tensor(DType::kF32, {keys, 4}, Layout::kRowMajor));
    op.AddOutput({2, 4}, Layout::kRowMajor);
    return op.Check(AttentionAttributes{}).ok();
  };
  CHECK(is_taken(f32::kMostKeys, 8, kWorkspace));
  CHECK_FALSE(is_taken(f32::kMostKeys + 1, 8, kWorkspace));
  CHECK_FALSE(is_taken(9, f32::kMostQueryElements + 1, kWorkspace));
  CHECK_FALSE(is_taken(9, 8, (16 * 8 + 9 * 8) * sizeof(float) - 1));
  CHECK(is_taken(9, 8, (16 * 8 + 9 * 8) * sizeof(float)));
}

}  // namespace tenon::cpu::testing
