// What the tests of the kernels for several elementwise steps share: the same steps by the kernels
// of the single ops.
#pragma once

#include <doctest/doctest.h>

#include <vector>

#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {

/// x as it is.
inline ElementwiseAttributes OneStep() {
  ElementwiseAttributes attributes;
  attributes.steps = 1;
  return attributes;
}

/// Random steps with operands 1 and 2, and `functions` among them.
inline ElementwiseAttributes RandomSteps(Generator& random,
                                         const std::vector<UnaryFunction>& functions) {
  constexpr BinaryFunction kBinary[] = {
      BinaryFunction::kAdd, BinaryFunction::kSub, BinaryFunction::kMul, BinaryFunction::kDiv,
      BinaryFunction::kMax, BinaryFunction::kMin, BinaryFunction::kPow, BinaryFunction::kPrelu,
      BinaryFunction::kMod, BinaryFunction::kFmod};
  ElementwiseAttributes attributes;
  attributes.steps = Pick(random, 1, kMostElementwiseSteps);
  for (int step = 0; step < attributes.steps; ++step) {
    const auto k = static_cast<size_t>(step);
    attributes.operands[k] = Pick(random, -2, 2);
    attributes.functions[k] = kBinary[Pick(random, 0, 9)];
    const auto choice =
        static_cast<size_t>(Pick(random, 0, 2 * static_cast<int>(functions.size())));
    if (choice < functions.size()) attributes.activations[k] = functions[choice];
    attributes.a[k] = -0.5F;
    attributes.b[k] = 0.75F;
  }
  return attributes;
}

/// x after all steps, each by a kernel of its own: `unary` and `binary`, which leaves its
/// activation to `unary` where this has a formula of its own.
inline std::vector<float> ByPieces(const ElementwiseAttributes& attributes, Tensor value,
                                   const std::vector<Tensor>& operands, const KernelEntry& unary,
                                   const KernelEntry& binary, bool activates_apart = false) {
  for (int step = 0; step < attributes.steps; ++step) {
    const int32_t operand = attributes.operands[step];
    const Activation activation = attributes.ActivationOf(step);
    const bool is_apart =
        activates_apart && operand != 0 && activation.function != UnaryFunction::kIdentity;
    OpFixture op(operand == 0 ? unary : binary);
    const Tensor result(DType::kF32, value.dims(), value.strides());
    const auto other = [&] { return operands[static_cast<size_t>(attributes.InputOf(step) - 1)]; };
    if (operand < 0) op.AddInput(other());
    op.AddInput(value);
    if (operand > 0) op.AddInput(other());
    op.AddOutput(result);
    if (operand == 0) {
      REQUIRE(op.Run(UnaryAttributes{activation.function, activation.a, activation.b}).ok());
    } else {
      const Activation fused = is_apart ? Activation() : activation;
      REQUIRE(op.Run(BinaryAttributes{attributes.functions[step], fused}).ok());
    }
    value = result;
    if (!is_apart) continue;
    OpFixture function(unary);
    function.AddInput(value);
    value = Tensor(DType::kF32, result.dims(), result.strides());
    function.AddOutput(value);
    REQUIRE(function.Run(UnaryAttributes{activation.function, activation.a, activation.b}).ok());
  }
  return value.Values<float>();
}

/// The bits: NaN is NaN, and -0 is not 0.
inline bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool both_nan = std::isnan(a[i]) && std::isnan(b[i]);
    if (!both_nan && std::memcmp(&a[i], &b[i], sizeof(float)) != 0) return false;
  }
  return true;
}

}  // namespace tenon::cpu::testing
