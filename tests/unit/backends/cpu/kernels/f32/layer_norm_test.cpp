#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/paired_op.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorLayerNorm = "cpu.layer_norm.vector";

}  // namespace

TEST_CASE("Vector layer_norm: agrees with the portable kernel on rows of any length") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int32_t count = 2; count <= 900; count += count < 70 ? 1 : 91) {
      PairedOp op(kVectorLayerNorm, "cpu.layer_norm.portable");
      op.AddInput(Random({3, 2, count}, Layout::kRowMajor, random, -2.0F, 5.0F));
      op.AddInput(Random({count}, Layout::kRowMajor, random));
      if (count % 2 == 0) op.AddInput(Random({count}, Layout::kRowMajor, random));
      op.AddOutput({3, 2, count}, Layout::kRowMajor);
      CAPTURE(count);
      CHECK(op.Difference(LayerNormAttributes{1e-5F, count % 3 == 0 ? 1 : 0}, count % 3 + 1) <
            2e-6);
    }
  });
}

TEST_CASE("Vector layer_norm: many rows on several threads give the same bits") {
  ForEachInstructionSet([] {
    std::vector<float> first;
    for (const int threads : {1, 2, 3}) {
      Generator random(2);
      OpFixture op(FindKernel(kVectorLayerNorm));
      op.AddInput(Random({701, 64}, Layout::kRowMajor, random));
      op.AddInput(Random({64}, Layout::kRowMajor, random));
      const Tensor y = op.AddOutput(Tensor(DType::kF32, {701, 64}, Layout::kRowMajor));
      REQUIRE(op.Run(LayerNormAttributes{}, threads).ok());
      if (threads == 1) first = y.Values<float>();
      CHECK(y.Values<float>() == first);
    }
  });
}

}  // namespace tenon::cpu::testing
