#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/backends/cpu/kernels/steps_testing.hpp"

namespace tenon::cpu::testing {
namespace {

const KernelEntry& PortableOf(OpKind kind) { return PortableKernels()[static_cast<size_t>(kind)]; }

/// A shape that broadcasts to `dims`.
std::vector<int32_t> Broadcasting(std::vector<int32_t> dims, Generator& random) {
  for (int32_t& dim : dims) dim = Pick(random, 0, 1) == 0 ? dim : 1;
  dims.erase(dims.begin(), dims.begin() + Pick(random, 0, static_cast<int32_t>(dims.size())));
  return dims;
}

}  // namespace

TEST_CASE("Elementwise: the bits of its steps as ops of their own, in any layout") {
  Generator random(1);
  for (int i = 0; i < 200; ++i) {
    CAPTURE(i);
    const std::vector<int32_t> dims = {Pick(random, 1, 2), Pick(random, 1, 40), Pick(random, 1, 9),
                                       Pick(random, 1, 9)};
    const ElementwiseAttributes attributes =
        RandomSteps(random, {UnaryFunction::kRelu, UnaryFunction::kClip, UnaryFunction::kTanh,
                             UnaryFunction::kSigmoid, UnaryFunction::kSqrt});
    OpFixture op(OpKind::kElementwise);
    const Tensor x = op.AddInput(Random(dims, PickLayout(random), random, -2.0F, 2.0F));
    std::vector<Tensor> operands;
    for (int k = 0; k < 2; ++k) {
      operands.push_back(
          op.AddInput(Random(Broadcasting(dims, random), PickLayout(random), random, -2.0F, 2.0F)));
    }
    const Tensor y = op.AddOutput(Tensor(DType::kF32, dims, PickLayout(random)));
    REQUIRE(op.Run(attributes, i % 3 + 1).ok());
    CHECK(y.GapsIntact());
    CHECK(SameBits(y.Values<float>(), ByPieces(attributes, x, operands, PortableOf(OpKind::kUnary),
                                               PortableOf(OpKind::kBinary))));
  }
}

TEST_CASE(
    "Elementwise: a negative operand comes first, and an input may be read by several steps") {
  OpFixture op(OpKind::kElementwise);
  op.AddInput(Tensor::From<float>(DType::kF32, {4}, {1, 2, 4, 8}));
  op.AddInput(Tensor::From<float>(DType::kF32, {}, {16}));
  const Tensor y = op.AddOutput(Tensor(DType::kF32, {4}));
  ElementwiseAttributes attributes;
  attributes.steps = 4;
  attributes.operands[0] = -1;
  attributes.functions[0] = BinaryFunction::kDiv;  // 16 / x
  attributes.operands[1] = 1;
  attributes.functions[1] = BinaryFunction::kDiv;  // 1 / x
  attributes.operands[2] = -1;
  attributes.functions[2] = BinaryFunction::kSub;  // 16 - 1 / x
  attributes.activations[3] = UnaryFunction::kClip;
  attributes.a[3] = 15.25F;
  attributes.b[3] = 15.8F;
  REQUIRE(op.Run(attributes).ok());
  CHECK(y.Values<float>() == std::vector<float>{15.25F, 15.5F, 15.75F, 15.8F});
}

TEST_CASE("Elementwise: the output may take over any input of its shape, whichever step reads it") {
  for (const size_t taken : {0U, 1U, 2U}) {
    CAPTURE(taken);
    Generator random(3);
    ElementwiseAttributes attributes;
    attributes.steps = 4;
    const int32_t operands[] = {1, 2, -1, 2};
    std::copy(std::begin(operands), std::end(operands), attributes.operands);
    attributes.functions[2] = BinaryFunction::kSub;
    std::vector<float> expected;
    for (const bool in_place : {false, true}) {
      Generator same(3);
      OpFixture op(OpKind::kElementwise);
      std::vector<Tensor> inputs;
      for (int i = 0; i < 3; ++i) {
        inputs.push_back(op.AddInput(Random({7, 91}, Layout::kRowMajor, same)));
      }
      const Tensor y = op.AddOutput(in_place ? inputs[taken] : Tensor(DType::kF32, {7, 91}));
      REQUIRE(op.Run(attributes).ok());
      if (!in_place) expected = y.Values<float>();
      CHECK(y.Values<float>() == expected);
    }
  }
}

TEST_CASE("Elementwise: tensors without elements, and of other types") {
  OpFixture empty(OpKind::kElementwise);
  empty.AddInput(Tensor(DType::kF32, {0, 3}));
  empty.AddOutput(Tensor(DType::kF32, {0, 3}));
  CHECK(empty.Run(OneStep()).ok());
  OpFixture doubles(OpKind::kElementwise);
  doubles.AddInput(Tensor(DType::kF64, {3}));
  doubles.AddOutput(Tensor(DType::kF64, {3}));
  CHECK(doubles.Check(OneStep()).code() == StatusCode::kUnsupported);
}

}  // namespace tenon::cpu::testing
