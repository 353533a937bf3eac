#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"
#include "tests/unit/backends/cpu/kernels/steps_testing.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr BinaryFunction kBinaryFunctions[] = {BinaryFunction::kAdd, BinaryFunction::kSub,
                                               BinaryFunction::kMul, BinaryFunction::kDiv,
                                               BinaryFunction::kMax, BinaryFunction::kMin};

struct BinaryOperands {
  Tensor x;
  Tensor y;
};

std::vector<float> Run(const KernelEntry& kernel, const BinaryAttributes& attributes,
                       const BinaryOperands& operands, const std::vector<int32_t>& dims,
                       Layout layout, int threads) {
  OpFixture op(kernel);
  op.AddInput(operands.x);
  op.AddInput(operands.y);
  const Tensor z = op.AddOutput(Tensor(DType::kF32, dims, layout));
  REQUIRE(op.Run(attributes, threads).ok());
  CHECK(z.GapsIntact());
  return z.Values<float>();
}

std::vector<float> Portable(const BinaryAttributes& attributes, const BinaryOperands& operands,
                            const std::vector<int32_t>& dims) {
  return Run(PortableKernels()[static_cast<size_t>(OpKind::kBinary)], attributes, operands, dims,
             Layout::kRowMajor, 1);
}

std::vector<float> Vector(const BinaryAttributes& attributes, const BinaryOperands& operands,
                          const std::vector<int32_t>& dims, Layout layout, int threads) {
  return Run(FindKernel("cpu.binary.vector"), attributes, operands, dims, layout, threads);
}

/// The dims with some of them 1, so that a tensor of these broadcasts.
std::vector<int32_t> Broadcasting(std::vector<int32_t> dims, uint32_t ones) {
  for (size_t k = 0; k < dims.size(); ++k) {
    if ((ones >> k & 1U) != 0) dims[k] = 1;
  }
  return dims;
}

}  // namespace

TEST_CASE("Vector binary: the portable kernel's bits for any dimensions that either side repeats") {
  ForEachInstructionSet([] {
    Generator random(1);
    int cases = 0;
    for (uint32_t of_x = 0; of_x < 16; ++of_x) {
      for (uint32_t of_y = 0; of_y < 16; ++of_y) {
        // Each dimension is of one of them at least; where all are passed alike, rows are long.
        if ((of_x & of_y) != 0 || of_x + of_y == 0 || of_x == 15 || of_y == 15) continue;
        CAPTURE(of_x);
        CAPTURE(of_y);
        // Rows of a few elements, or of a vector and more.
        const std::vector<int32_t> dims =
            cases % 2 == 0 ? std::vector<int32_t>{Pick(random, 2, 400), 2, 2, Pick(random, 2, 3)}
                           : std::vector<int32_t>{2, Pick(random, 2, 9), Pick(random, 2, 40),
                                                  Pick(random, 16, 50)};
        const auto layout = [&] { return kAllLayouts[Pick(random, 0, 4)]; };
        const BinaryOperands operands = {
            Random(Broadcasting(dims, of_x), layout(), random, -2.0F, 2.0F),
            Random(Broadcasting(dims, of_y), layout(), random, -2.0F, 2.0F)};
        BinaryAttributes attributes;
        attributes.function = kBinaryFunctions[cases % 6];
        attributes.activation.function = UnaryFunction::kRelu;
        OpFixture probe(FindKernel("cpu.binary.vector"));
        const std::vector<float> expected = Portable(attributes, operands, dims);
        CHECK(SameBits(Vector(attributes, operands, dims, layout(), cases % 3 + 1), expected));
        ++cases;
      }
    }
    CHECK(cases > 40);
  });
}

TEST_CASE(
    "Vector binary: comparisons give what the portable kernel gives, NaN among the operands") {
  constexpr BinaryFunction kTests[] = {BinaryFunction::kEqual, BinaryFunction::kLess,
                                       BinaryFunction::kLessOrEqual, BinaryFunction::kGreater,
                                       BinaryFunction::kGreaterOrEqual};
  Generator random(4);
  int cases = 0;
  for (const std::vector<int32_t>& dims : std::vector<std::vector<int32_t>>{
           {64, 32, 11}, {3, 2100}, {130, 1, 7}, {5, 3, 41, 3}, {2, 3, 4, 5}}) {
    std::vector<int32_t> column = dims;
    column.back() = 1;
    const std::vector<int32_t> row = {dims.back()};
    for (const auto& [of_x, of_y] :
         std::vector<std::pair<std::vector<int32_t>, std::vector<int32_t>>>{
             {column, row}, {row, dims}, {dims, column}}) {
      const Layout layout = dims.size() == 4 ? kAllLayouts[cases % 5] : Layout::kRowMajor;
      const auto operand = [&](const std::vector<int32_t>& shape) {
        std::vector<float> values(Tensor(DType::kF32, shape, Layout::kRowMajor).Values<float>());
        // Few values, so that some are equal.
        for (float& value : values) value = static_cast<float>(Pick(random, -2, 2));
        values.front() = std::numeric_limits<float>::quiet_NaN();
        return Tensor::From(DType::kF32, shape, values);
      };
      const Tensor x = operand(of_x);
      const Tensor y = operand(of_y);
      for (const BinaryFunction function : kTests) {
        CAPTURE(function);
        const auto compare = [&](const KernelEntry& kernel, int threads) {
          OpFixture op(kernel);
          op.AddInput(x);
          op.AddInput(y);
          const Tensor z = op.AddOutput(Tensor(DType::kBool, dims, layout));
          REQUIRE(op.Run(BinaryAttributes{function, {}}, threads).ok());
          CHECK(z.GapsIntact());
          return z.Values<uint8_t>();
        };
        const std::vector<uint8_t> expected =
            compare(PortableKernels()[static_cast<size_t>(OpKind::kBinary)], 1);
        CHECK(std::count(expected.begin(), expected.end(), 1) > 0);
        for (const int threads : {1, 2, 3}) {
          CHECK(compare(FindKernel("cpu.binary.vector"), threads) == expected);
        }
      }
      ++cases;
    }
  }
  CHECK(cases == 15);
}

TEST_CASE("Vector binary: the vector unary's bits of its activation, on any number of threads") {
  ForEachInstructionSet([] {
    Generator random(2);
    for (const UnaryFunction function :
         {UnaryFunction::kExp, UnaryFunction::kSigmoid, UnaryFunction::kGelu}) {
      for (const std::vector<int32_t>& dims : std::vector<std::vector<int32_t>>{
               {1}, {7, 5}, {64, 6, 8}, {3, 5000}, {41, 43, 30}, {2, 9, 5, 7}}) {
        std::vector<int32_t> column = dims;
        column.back() = 1;
        for (const std::vector<int32_t>& other :
             {dims, column, std::vector<int32_t>{dims.back()}, std::vector<int32_t>{1}}) {
          const BinaryOperands operands = {Random(other, Layout::kRowMajor, random, -2.0F, 2.0F),
                                           Random(dims, Layout::kRowMajor, random, -2.0F, 2.0F)};
          BinaryAttributes attributes;
          attributes.function = BinaryFunction::kSub;
          const std::vector<float> difference = Portable(attributes, operands, dims);
          OpFixture unary(FindKernel("cpu.unary.vector"));
          unary.AddInput(Tensor::From(DType::kF32, dims, difference));
          const Tensor expected = unary.AddOutput(Tensor(DType::kF32, dims, Layout::kRowMajor));
          REQUIRE(unary.Run(UnaryAttributes{function}).ok());
          attributes.activation.function = function;
          for (const int threads : {1, 2, 3}) {
            CHECK(SameBits(Vector(attributes, operands, dims, Layout::kRowMajor, threads),
                           expected.Values<float>()));
          }
        }
      }
    }
  });
}

TEST_CASE("Vector binary: long rows without a function are left to the portable kernel") {
  Generator random(3);
  OpFixture op(FindKernel("cpu.binary.vector"));
  op.AddInput(Random({4, 64}, Layout::kRowMajor, random));
  op.AddInput(Random({4, 64}, Layout::kRowMajor, random));
  op.AddOutput(Tensor(DType::kF32, {4, 64}, Layout::kRowMajor));
  CHECK(!op.Run(BinaryAttributes{}).ok());
}

}  // namespace tenon::cpu::testing
