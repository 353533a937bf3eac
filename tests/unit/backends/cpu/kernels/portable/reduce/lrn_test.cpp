#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

std::vector<double> NaiveLrn(const std::vector<int32_t>& dims, const LrnAttributes& attributes,
                             const std::vector<float>& x) {
  const int32_t channels = dims[1];
  int32_t inner = 1;
  for (size_t i = 2; i < dims.size(); ++i) inner *= dims[i];
  std::vector<double> y;
  for (int32_t n = 0; n < dims[0]; ++n) {
    for (int32_t c = 0; c < channels; ++c) {
      for (int32_t p = 0; p < inner; ++p) {
        // ONNX: from c - floor((size - 1) / 2) to c + ceil((size - 1) / 2).
        double squares = 0.0;
        for (int32_t k = 0; k < attributes.size; ++k) {
          const int32_t channel = c - (attributes.size - 1) / 2 + k;
          if (channel < 0 || channel >= channels) continue;
          const auto value =
              static_cast<double>(x[static_cast<size_t>((n * channels + channel) * inner + p)]);
          squares += value * value;
        }
        const double base = static_cast<double>(attributes.bias) +
                            static_cast<double>(attributes.alpha) / attributes.size * squares;
        y.push_back(static_cast<double>(x[static_cast<size_t>((n * channels + c) * inner + p)]) /
                    std::pow(base, static_cast<double>(attributes.beta)));
      }
    }
  }
  return y;
}

TEST_CASE("Lrn: agrees with the definition over random sizes, exponents and layouts") {
  Generator random(1);
  constexpr float kExponents[] = {0.75F, 0.5F, 1.0F, 1.3F};
  for (int i = 0; i < 100; ++i) {
    std::vector<int32_t> dims = {Pick(random, 1, 2), Pick(random, 1, 12)};
    for (int32_t k = Pick(random, 0, 2); k > 0; --k) dims.push_back(Pick(random, 1, 6));
    LrnAttributes attributes;
    attributes.size = Pick(random, 1, 7);
    attributes.alpha = 0.9F;
    attributes.beta = kExponents[Pick(random, 0, 3)];
    attributes.bias = 1.5F;
    OpFixture op(OpKind::kLrn);
    const Tensor x = op.AddInput(Random(dims, kAllLayouts[Pick(random, 0, 4)], random, -3, 3));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, kAllLayouts[Pick(random, 0, 4)]));
    REQUIRE(op.Run(attributes, Pick(random, 1, 3)).ok());
    INFO("case ", i);
    CHECK(LargestRelativeError(y.Values<float>(), NaiveLrn(dims, attributes, x.Values<float>())) <
          1e-6);
    CHECK(y.GapsIntact());
  }
}

TEST_CASE("Lrn: a window wider than all channels sums all of them") {
  OpFixture op(OpKind::kLrn);
  op.AddInput(Tensor::From<float>(DType::kF32, {1, 3}, {1.0F, 2.0F, 2.0F}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {1, 3}));
  REQUIRE(op.Run(LrnAttributes{1 << 28, 268435456.0F, 1.0F, 1.0F}).ok());
  CHECK(y.Values<float>() == std::vector<float>{0.1F, 0.2F, 0.2F});
}

}  // namespace
}  // namespace tenon::cpu::testing
