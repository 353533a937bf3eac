#include <doctest/doctest.h>

#include <vector>

#include "backends/cpu/caps/f32_caps.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/steps_testing.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorElementwise = "cpu.elementwise.vector";

/// ElementwiseOperands of one call.
struct ElementwiseOperands {
  Tensor x;
  std::vector<Tensor> others;
};

/// Of x's shape, one for each of its channels or columns, and one for all.
ElementwiseOperands RandomOperands(const std::vector<int32_t>& dims, Generator& random) {
  const auto layout = [&] { return kAllLayouts[Pick(random, 0, 4)]; };
  const auto broadcasting = [&] {
    std::vector<int32_t> small = dims;
    for (int32_t& dim : small) dim = Pick(random, 0, 2) == 0 ? 1 : dim;
    if (Pick(random, 0, 2) == 0) small = {dims[1], 1, 1};
    return small;
  };
  return {Random(dims, layout(), random, -2.0F, 2.0F),
          {Random(broadcasting(), layout(), random, -2.0F, 2.0F),
           Random(broadcasting(), layout(), random, -2.0F, 2.0F)}};
}

std::vector<float> RunSteps(const ElementwiseAttributes& attributes,
                            const ElementwiseOperands& operands, Layout layout, int threads) {
  OpFixture op(FindKernel(kVectorElementwise));
  op.AddInput(operands.x);
  for (const Tensor& other : operands.others) op.AddInput(other);
  const Tensor y = op.AddOutput(Tensor(DType::kF32, operands.x.dims(), layout));
  REQUIRE(op.Run(attributes, threads).ok());
  CHECK(y.GapsIntact());
  return y.Values<float>();
}

const KernelEntry& PortableUnary() {
  return PortableKernels()[static_cast<size_t>(OpKind::kUnary)];
}
const KernelEntry& PortableBinary() {
  return PortableKernels()[static_cast<size_t>(OpKind::kBinary)];
}

std::vector<int32_t> RandomImage(Generator& random) {
  return {Pick(random, 1, 2), Pick(random, 1, 70), Pick(random, 1, 12), Pick(random, 1, 70)};
}

}  // namespace

TEST_CASE("Vector elementwise: the bits of its steps as ops of their own, in any layout") {
  ForEachInstructionSet([] {
    Generator random(1);
    for (int i = 0; i < 120; ++i) {
      CAPTURE(i);
      const ElementwiseAttributes attributes =
          RandomSteps(random, {UnaryFunction::kRelu, UnaryFunction::kClip, UnaryFunction::kSqrt,
                               UnaryFunction::kAbs, UnaryFunction::kNeg, UnaryFunction::kSoftsign});
      const ElementwiseOperands operands = RandomOperands(RandomImage(random), random);
      const Layout layout = kAllLayouts[Pick(random, 0, 4)];
      CHECK(SameBits(
          RunSteps(attributes, operands, layout, i % 3 + 1),
          ByPieces(attributes, operands.x, operands.others, PortableUnary(), PortableBinary())));
    }
  });
}

TEST_CASE("Vector elementwise: the vector unary's bits of the functions that have a vector form") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (int i = 0; i < 40; ++i) {
      CAPTURE(i);
      ElementwiseAttributes attributes =
          RandomSteps(random, {UnaryFunction::kTanh, UnaryFunction::kSigmoid, UnaryFunction::kGelu,
                               UnaryFunction::kHardSwish});
      // The kernel by itself takes no function but these.
      for (int step = 0; step < attributes.steps; ++step) {
        if (attributes.operands[step] == 0) attributes.activations[step] = UnaryFunction::kSilu;
      }
      ElementwiseOperands operands = RandomOperands(RandomImage(random), random);
      operands.x = Tensor::From(DType::kF32, operands.x.dims(), operands.x.Values<float>());
      CHECK(SameBits(RunSteps(attributes, operands, Layout::kRowMajor, 1),
                     ByPieces(attributes, operands.x, operands.others,
                              FindKernel("cpu.unary.vector"), PortableBinary(),
                              /*activates_apart=*/true)));
    }
  });
}

/// b - x * a, and that plus a.
ElementwiseAttributes ThreeSteps() {
  ElementwiseAttributes attributes;
  attributes.steps = 3;
  attributes.operands[0] = attributes.operands[2] = 1;
  attributes.operands[1] = -2;
  attributes.functions[0] = BinaryFunction::kMul;
  attributes.functions[1] = BinaryFunction::kSub;
  return attributes;
}

TEST_CASE("Vector elementwise: short rows of operands that all tiles read, in any order of steps") {
  ForEachInstructionSet([] {
    Generator random(4);
    for (const std::vector<int32_t>& dims : std::vector<std::vector<int32_t>>{
             {1, 40, 64, 9}, {1, 33, 120, 17}, {2, 3, 901, 5}, {1, 1, 2500, 7}, {1, 64, 16, 11}}) {
      const std::vector<std::vector<int32_t>> shapes = {
          {dims[2], 1}, {dims[3]}, {dims[1], 1, 1}, {dims[1], 1, dims[3]}, {1}, dims};
      for (size_t first = 0; first < shapes.size(); ++first) {
        for (size_t second = 0; second < shapes.size(); ++second) {
          const ElementwiseAttributes attributes = ThreeSteps();
          const ElementwiseOperands operands = {
              Random(dims, Layout::kRowMajor, random),
              {Random(shapes[first], Layout::kRowMajor, random),
               Random(shapes[second], Layout::kRowMajor, random)}};
          const std::vector<float> expected =
              ByPieces(attributes, operands.x, operands.others, PortableUnary(), PortableBinary());
          for (const int threads : {1, 3}) {
            CHECK(RunSteps(attributes, operands, Layout::kRowMajor, threads) == expected);
          }
        }
      }
    }
  });
}

TEST_CASE("Vector elementwise: large images, rows longer than a tile, and several threads") {
  ForEachInstructionSet([] {
    Generator random(3);
    ElementwiseAttributes attributes = ThreeSteps();
    attributes.activations[2] = UnaryFunction::kRelu;
    for (const std::vector<int32_t>& dims : std::vector<std::vector<int32_t>>{
             {1, 48, 41, 43}, {1, 12, 41, 43}, {1, 1, 3, 40'001}, {2, 5000, 1, 9}}) {
      const ElementwiseOperands operands = {
          Random(dims, Layout::kChannelsLast, random),
          {Random({dims[1], 1, 1}, Layout::kRowMajor, random),
           Random({1, 1, dims[2], dims[3]}, Layout::kRowMajor, random)}};
      const std::vector<float> expected =
          ByPieces(attributes, operands.x, operands.others, PortableUnary(), PortableBinary());
      for (const int threads : {1, 2, 3}) {
        CHECK(RunSteps(attributes, operands, Layout::kChannelsLast, threads) == expected);
      }
    }
  });
}

TEST_CASE("Vector elementwise: signs of zeros, infinities and NaN as the portable kernels have") {
  const float infinity = __builtin_inff();
  const std::vector<float> values = {0.0F, -0.0F, 1.0F, -1.0F, infinity, -infinity, NAN, 1e-40F};
  ForEachInstructionSet([&] {
    for (int function = 0; function <= static_cast<int>(BinaryFunction::kFmod); ++function) {
      for (const float other : values) {
        for (const int32_t operand : {1, -1}) {
          CAPTURE(function);
          CAPTURE(other);
          ElementwiseAttributes attributes = OneStep();
          attributes.operands[0] = operand;
          attributes.functions[0] = static_cast<BinaryFunction>(function);
          attributes.activations[0] = UnaryFunction::kRelu;
          const ElementwiseOperands operands = {Tensor::From(DType::kF32, {1, 1, 1, 8}, values),
                                                {Tensor::From<float>(DType::kF32, {1}, {other})}};
          CHECK(SameBits(RunSteps(attributes, operands, Layout::kRowMajor, 1),
                         ByPieces(attributes, operands.x, operands.others, PortableUnary(),
                                  PortableBinary())));
        }
      }
    }
  });
}

TEST_CASE("Vector elementwise: the output may take over any input of its shape") {
  ForEachInstructionSet([] {
    ElementwiseAttributes attributes;
    attributes.steps = 4;
    const int32_t order[] = {1, 2, -1, 2};
    std::copy(std::begin(order), std::end(order), attributes.operands);
    attributes.functions[2] = BinaryFunction::kSub;
    std::vector<float> expected;
    for (const int taken : {-1, 0, 1, 2}) {
      CAPTURE(taken);
      Generator random(4);
      OpFixture op(FindKernel(kVectorElementwise));
      std::vector<Tensor> inputs;
      for (int i = 0; i < 3; ++i) {
        inputs.push_back(op.AddInput(Random({70, 691}, Layout::kRowMajor, random)));
      }
      const Tensor y = op.AddOutput(taken < 0 ? Tensor(DType::kF32, {70, 691})
                                              : inputs[static_cast<size_t>(taken)]);
      REQUIRE(op.Run(attributes, 2).ok());
      if (taken < 0) expected = y.Values<float>();
      CHECK(y.Values<float>() == expected);
    }
  });
}

TEST_CASE("Vector elementwise: empty tensors and other types are turned down") {
  OpFixture empty(FindKernel(kVectorElementwise));
  empty.AddInput(Tensor(DType::kF32, {0, 3}));
  empty.AddOutput(Tensor(DType::kF32, {0, 3}));
  CHECK_FALSE(empty.Check(OneStep()).ok());
}

}  // namespace tenon::cpu::testing
