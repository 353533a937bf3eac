#include <doctest/doctest.h>

#include <vector>

#include "tests/unit/backends/opencl/opencl_fixture.hpp"

namespace tenon::opencl::testing {
namespace {

/// Shapes whose rows are no whole vectors, one element, nothing, and many dimensions.
const std::vector<std::vector<int32_t>> kShapes = {
    {1, 17, 5, 3}, {2, 64, 4, 4}, {1}, {}, {0, 3}, {1000}, {3, 2, 2, 3, 2, 5}};

UnaryAttributes AttributesOf(UnaryFunction function) {
  UnaryAttributes attributes;
  attributes.function = function;
  attributes.a = 0.25F;
  attributes.b = 0.75F;
  return attributes;
}

/// Every function but not, which takes bool.
template <typename Body>
void ForEachFunction(const Body& body) {
  for (int i = 0; i < kUnaryFunctionCount; ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    if (function == UnaryFunction::kNot) continue;
    CAPTURE(kUnaryFunctionNames[i]);
    body(function);
  }
}

}  // namespace

TEST_CASE("OpenCL unary: every function equals the portable kernel") {
  Generator random(1);
  ForEachFunction([&](UnaryFunction function) {
    const bool is_positive = function == UnaryFunction::kLog || function == UnaryFunction::kSqrt;
    PairedOp op("opencl.unary.rows");
    op.AddInput(
        Random({2, 37, 3, 3}, Layout::kChannelsLast, random, is_positive ? 0.01F : -4.0F, 4.0F));
    op.AddOutput({2, 37, 3, 3}, Layout::kChannelsLast);
    CHECK(op.Excess(AttributesOf(function)) <= 1.0);
  });
}

TEST_CASE("OpenCL unary: any shape in any layout") {
  Generator random(2);
  for (const std::vector<int32_t>& shape : kShapes) {
    for (const Layout x : TestedLayouts()) {
      for (const Layout y : TestedLayouts()) {
        PairedOp op("opencl.unary.rows");
        op.AddInput(Random(shape, x, random));
        op.AddOutput(shape, y);
        CHECK(op.Excess(AttributesOf(UnaryFunction::kLeakyRelu)) <= 1.0);
      }
    }
  }
}

TEST_CASE("OpenCL unary: the output may take over the input's memory") {
  Generator random(3);
  for (const Layout layout : TestedLayouts()) {
    const Tensor x = Random({1, 21, 6, 5}, layout, random);
    PairedOp op("opencl.unary.rows");
    op.AddInput(x);
    op.AddOutputInPlace(0, x);
    CHECK(op.Excess(AttributesOf(UnaryFunction::kLeakyRelu)) <= 1.0);
  }
}

namespace {

BinaryAttributes Binary(BinaryFunction function,
                        UnaryFunction activation = UnaryFunction::kIdentity) {
  BinaryAttributes attributes;
  attributes.function = function;
  attributes.activation = {activation, 0.25F, 0.75F};
  return attributes;
}

}  // namespace

TEST_CASE("OpenCL binary: every function of numbers equals the portable kernel") {
  Generator random(4);
  for (int i = 0; i <= static_cast<int>(BinaryFunction::kFmod); ++i) {
    CAPTURE(kBinaryFunctionNames[i]);
    const auto function = static_cast<BinaryFunction>(i);
    PairedOp op("opencl.binary.rows");
    const bool is_power = function == BinaryFunction::kPow;
    op.AddInput(
        Random({2, 37, 3, 3}, Layout::kChannelsLast, random, is_power ? 0.1F : -4.0F, 4.0F));
    op.AddInput(Random({2, 37, 3, 3}, Layout::kChannelsLast, random, -2.0F, 2.0F));
    op.AddOutput({2, 37, 3, 3}, Layout::kChannelsLast);
    CHECK(op.Excess(Binary(function)) <= 1.0);
  }
}

TEST_CASE("OpenCL binary: comparisons give the bytes of the portable kernel") {
  Generator random(5);
  for (int i = static_cast<int>(BinaryFunction::kEqual);
       i <= static_cast<int>(BinaryFunction::kGreaterOrEqual); ++i) {
    CAPTURE(kBinaryFunctionNames[i]);
    for (const Layout layout : {Layout::kChannelsLast, Layout::kChannelsLastSpaced}) {
      PairedOp op("opencl.binary.rows");
      Tensor x = Random({2, 37, 3, 3}, layout, random);
      Tensor y = Random({2, 37, 3, 3}, layout, random);
      std::vector<float> values = y.Values<float>();
      const std::vector<float> others = x.Values<float>();
      for (size_t k = 0; k < values.size(); k += 3) values[k] = others[k];
      y.Set(values);
      op.AddInput(x);
      op.AddInput(y);
      op.AddOutput({2, 37, 3, 3}, layout, DType::kBool);
      CHECK(op.Equal<uint8_t>(Binary(static_cast<BinaryFunction>(i))));
    }
  }
}

TEST_CASE("OpenCL binary: operands broadcast, constant or not, in any layout") {
  Generator random(6);
  const std::vector<std::vector<int32_t>> others = {
      {2, 21, 6, 5}, {1, 21, 1, 1}, {21, 1, 1}, {1}, {}, {5}, {6, 1}, {2, 1, 6, 1}};
  for (const std::vector<int32_t>& other : others) {
    for (const Layout layout : TestedLayouts()) {
      for (const bool constant : {false, true}) {
        for (const bool is_first : {false, true}) {
          PairedOp op("opencl.binary.rows");
          const Tensor x = Random({2, 21, 6, 5}, layout, random);
          const Tensor y = Random(other, Layout::kRowMajor, random);
          op.AddInput(is_first ? y : x, is_first && constant);
          op.AddInput(is_first ? x : y, !is_first && constant);
          op.AddOutput({2, 21, 6, 5}, layout);
          CHECK(op.Excess(Binary(BinaryFunction::kSub)) <= 1.0);
        }
      }
    }
  }
}

/// Adds a row to three, and applies `function` to the sums.
void CheckActivation(UnaryFunction function) {
  Generator random(7);
  const bool is_positive = function == UnaryFunction::kLog || function == UnaryFunction::kSqrt;
  PairedOp op("opencl.binary.rows");
  op.AddInput(Random({3, 50}, Layout::kRowMajor, random, is_positive ? 0.1F : -2.0F, 2.0F));
  op.AddInput(Random({50}, Layout::kRowMajor, random, is_positive ? 0.1F : -2.0F, 2.0F));
  op.AddOutput({3, 50}, Layout::kRowMajor);
  CHECK(op.Excess(Binary(BinaryFunction::kAdd, function)) <= 1.0);
}

TEST_CASE("OpenCL binary: an activation is applied to the result") {
  CheckActivation(UnaryFunction::kRelu);
  CheckActivation(UnaryFunction::kGelu);
}

TEST_CASE("OpenCL binary: every activation is applied to the result") {
  ForEachFunction(CheckActivation);
}

TEST_CASE("OpenCL binary: powers of a constant exponent") {
  Generator random(8);
  for (const float exponent : {2.0F, 3.0F, 4.0F, 0.5F, -1.0F, 1.0F, 1.7F, -2.0F}) {
    CAPTURE(exponent);
    PairedOp op("opencl.binary.rows");
    op.AddInput(Random({3, 50}, Layout::kRowMajor, random, 0.2F, 3.0F));
    op.AddInput(Tensor::From<float>(DType::kF32, {1}, {exponent}), kConstant);
    op.AddOutput({3, 50}, Layout::kRowMajor);
    CHECK(op.Excess(Binary(BinaryFunction::kPow)) <= 1.0);
  }
}

TEST_CASE("OpenCL binary: an operand of more than four loops goes in several launches") {
  Generator random(9);
  PairedOp op("opencl.binary.rows");
  op.AddInput(Random({3, 2, 4, 2, 3, 2, 5}, Layout::kRowMajor, random));
  op.AddInput(Random({3, 1, 4, 1, 3, 1, 5}, Layout::kRowMajor, random));
  op.AddOutput({3, 2, 4, 2, 3, 2, 5}, Layout::kRowMajor);
  CHECK(op.Excess(Binary(BinaryFunction::kMul)) <= 1.0);
}

TEST_CASE("OpenCL binary: runs again with other operands") {
  Generator random(10);
  PairedOp op("opencl.binary.rows");
  op.AddInput(Random({1, 30, 4, 4}, Layout::kChannelsLast, random));
  op.AddInput(Random({1, 30, 1, 1}, Layout::kChannelsLast, random));
  op.AddOutput({1, 30, 4, 4}, Layout::kChannelsLast);
  CHECK(op.Excess(Binary(BinaryFunction::kAdd), 3) <= 1.0);
}

TEST_CASE("OpenCL select: takes either choice, broadcast, of elements of any size") {
  Generator random(11);
  std::vector<uint8_t> conditions(21);
  for (uint8_t& condition : conditions) condition = static_cast<uint8_t>(Pick(random, 0, 1));
  for (const Layout layout : TestedLayouts()) {
    PairedOp op("opencl.select.rows");
    op.AddInput(Tensor::From<uint8_t>(DType::kBool, {21, 1, 1}, conditions));
    op.AddInput(Random({2, 21, 6, 5}, layout, random));
    op.AddInput(Random({5}, Layout::kRowMajor, random));
    op.AddOutput({2, 21, 6, 5}, layout);
    CHECK(op.Equal<float>(0));
  }
  PairedOp op("opencl.select.rows");
  std::vector<int64_t> numbers(21);
  for (int64_t& number : numbers) number = Pick(random, -1000000, 1000000) * int64_t{1} << 20;
  op.AddInput(Tensor::From<uint8_t>(DType::kBool, {21}, conditions));
  op.AddInput(Tensor::From<int64_t>(DType::kI64, {21}, numbers));
  op.AddInput(Tensor::From<int64_t>(DType::kI64, {1}, {int64_t{7}}));
  op.AddOutput({21}, Layout::kRowMajor, DType::kI64);
  CHECK(op.Equal<int64_t>(0));
}

}  // namespace tenon::opencl::testing
