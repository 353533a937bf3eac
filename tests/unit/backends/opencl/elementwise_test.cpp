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
    for (const Layout x : kAllLayouts) {
      for (const Layout y : kAllLayouts) {
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
  for (const Layout layout : kAllLayouts) {
    const Tensor x = Random({1, 21, 6, 5}, layout, random);
    PairedOp op("opencl.unary.rows");
    op.AddInput(x);
    op.AddOutputInPlace(0, x);
    CHECK(op.Excess(AttributesOf(UnaryFunction::kLeakyRelu)) <= 1.0);
  }
}

}  // namespace tenon::opencl::testing
