#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "runtime/ops/attributes.hpp"
#include "tests/unit/backends/cpu/kernels/f32/f32_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

constexpr const char* kVectorUnary = "cpu.unary.vector";

constexpr UnaryFunction kVectorFunctions[] = {
#define TENON_VECTOR_FUNCTION(Kind) UnaryFunction::k##Kind,
#include "backends/cpu/caps/vector_functions.inc"
};

/// Eight units in the last place; results below 1e-35 may be 0. Near their zeros the hard functions
/// are differences of numbers near 1, one of which may be a product that is not rounded.
bool IsNear(UnaryFunction function, float value, float expected) {
  if (std::isnan(expected)) return std::isnan(value);
  if (std::isinf(expected)) return value == expected;
  const bool is_hard =
      function == UnaryFunction::kHardSwish || function == UnaryFunction::kHardSigmoid;
  // The far end of the gelu of tanh is the exponential of a product of up to 80, which is rounded.
  const float relative = function == UnaryFunction::kGeluTanh ? 2e-5F : 1e-6F;
  return std::abs(value - expected) <= relative * std::abs(expected) + (is_hard ? 4e-7F : 1e-35F);
}

std::vector<float> Activated(const f32::Routines& routines, UnaryFunction function,
                             std::vector<float> values) {
  routines.activate({function, 0.2F, 0.5F, values.data(), /*x_step=*/0, values.data(),
                     /*y_step=*/0, /*rows=*/1, static_cast<int>(values.size())});
  return values;
}

void CheckAgainstPortable(const std::vector<float>& values) {
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const UnaryFunction function : kVectorFunctions) {
      CAPTURE(static_cast<int>(function));
      const std::vector<float> result = Activated(*routines, function, values);
      for (size_t i = 0; i < values.size(); ++i) {
        const float expected = portable::Apply(function, values[i], 0.2F, 0.5F);
        if (IsNear(function, result[i], expected)) continue;
        CAPTURE(values[i]);
        CAPTURE(expected);
        CHECK(result[i] == expected);
      }
    }
  }
}

}  // namespace

TEST_CASE("Vector functions: rows at a step are as one row each, and what lies between stays") {
  constexpr int kRows = 37, kXStep = 50, kYStep = 40;
  std::vector<float> x(kRows * kXStep);
  for (size_t i = 0; i < x.size(); ++i) x[i] = 0.01F * static_cast<float>(i) - 6.0F;
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const int count : {1, 5, 8, 15, 16, 19, 31, 40}) {
      CAPTURE(count);
      std::vector<float> y(kRows * kYStep, -7.0F);
      routines->activate(
          {UnaryFunction::kSilu, 0, 0, x.data(), kXStep, y.data(), kYStep, kRows, count});
      for (int row = 0; row < kRows; ++row) {
        const auto begin = x.begin() + row * kXStep;
        std::vector<float> expected =
            Activated(*routines, UnaryFunction::kSilu, {begin, begin + count});
        expected.resize(kYStep, -7.0F);
        CHECK(std::equal(expected.begin(), expected.end(), y.begin() + row * kYStep));
      }
    }
  }
}

TEST_CASE("Vector functions: extreme values, infinities and NaN as in the portable functions") {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  CheckAgainstPortable({0.0F,   -0.0F,  1e-30F, -1e-30F, 1e-40F, -2.9F,     3.1F,       -20.0F,
                        20.0F,  -86.0F, -87.5F, 88.5F,   -90.0F, 90.0F,     1e30F,      -1e30F,
                        -14.4F, -14.6F, -13.2F, 5.4F,    0.625F, kInfinity, -kInfinity, NAN,
                        -1.0F,  0.5F,   0.8F,   -0.801F, 9.5F,   88.73F,    -103.0F,    3e38F,
                        -3e38F, 1e19F,  -1e19F, -1e-40F, 1e-45F, -3.0F,     3.0F,       -88.4F});
}

TEST_CASE("Vector functions: what goes to 0 is small enough there for a product with its input") {
  const std::vector<float> values = {-88.5F, -1e3F, -1e10F, -1e20F, -1e34F, -3e38F};
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const UnaryFunction function : {UnaryFunction::kSigmoid, UnaryFunction::kExp}) {
      const std::vector<float> result = Activated(*routines, function, values);
      for (size_t i = 0; i < values.size(); ++i) {
        CAPTURE(values[i]);
        CHECK(std::abs(values[i] * result[i]) < 1e-35F);
      }
    }
    for (const UnaryFunction function : {UnaryFunction::kSilu, UnaryFunction::kGelu,
                                         UnaryFunction::kGeluTanh, UnaryFunction::kMish}) {
      CAPTURE(static_cast<int>(function));
      for (const float y : Activated(*routines, function, values)) CHECK(std::abs(y) < 1e-36F);
    }
  }
}

TEST_CASE("Vector functions: near the portable ones over their whole range") {
  std::vector<float> values;
  for (float x = -110.0F; x < 100.0F; x += 0.0173F) values.push_back(x);
  for (float x = 1e-20F; x < 20.0F; x *= 1.0371F) {
    values.push_back(x);
    values.push_back(-x);
  }
  CheckAgainstPortable(values);
}

TEST_CASE("Vector functions: what a lane gets does not depend on its neighbours") {
  std::vector<float> near;
  for (int i = 0; i < 64; ++i) near.push_back(0.17F * static_cast<float>(i) - 5.0F);
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const UnaryFunction function : kVectorFunctions) {
      CAPTURE(static_cast<int>(function));
      const std::vector<float> alone = Activated(*routines, function, near);
      std::vector<float> mixed = near;
      for (size_t i = 0; i < mixed.size(); i += 3) mixed[i] = i % 2 == 0 ? -40.0F : 40.0F;
      mixed = Activated(*routines, function, mixed);
      for (size_t i = 0; i < mixed.size(); ++i) {
        if (i % 3 != 0 && !std::isnan(alone[i])) CHECK(mixed[i] == alone[i]);
      }
    }
  }
}

TEST_CASE("Vector functions: gates that are open let through exactly what comes") {
  const std::vector<float> values = {20.0F, 31.7F, 1e4F, 3e38F};
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const UnaryFunction function :
         {UnaryFunction::kSilu, UnaryFunction::kGelu, UnaryFunction::kGeluTanh}) {
      CHECK(Activated(*routines, function, values) == values);
    }
    CHECK(Activated(*routines, UnaryFunction::kSigmoid, values) == std::vector<float>(4, 1.0F));
  }
}

TEST_CASE("Vector functions: sines and cosines of many turns, near their zeros too") {
  std::vector<float> values;
  for (float x = 0.37F; x < 3e5F; x *= 1.00171F) values.push_back(x);
  for (int quarter = 1; quarter < 5000; quarter += 7) {
    const auto zero = static_cast<float>(quarter * 1.5707963267948966);
    values.insert(values.end(), {zero, -zero, std::nextafter(zero, 0.0F)});
  }
  for (const f32::Routines* routines : f32::UsableRoutines()) {
    CAPTURE(routines->name);
    for (const UnaryFunction function : {UnaryFunction::kSin, UnaryFunction::kCos}) {
      const std::vector<float> result = Activated(*routines, function, values);
      for (size_t i = 0; i < values.size(); ++i) {
        const double angle = values[i];
        const double expected = function == UnaryFunction::kSin ? std::sin(angle) : std::cos(angle);
        if (std::abs(result[i] - expected) <= 3e-7 * std::abs(expected) + 1e-11) continue;
        CAPTURE(values[i]);
        CHECK(result[i] == expected);
      }
    }
  }
}

TEST_CASE("Vector unary: any shape, channels last too, and the same bits with several threads") {
  ForEachInstructionSet([] {
    Generator random(3);
    for (const std::vector<int32_t>& dims :
         std::vector<std::vector<int32_t>>{{1}, {17}, {3, 5}, {1, 7, 9, 4}, {2, 24, 31, 33}}) {
      for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
        if (layout == Layout::kChannelsLast && dims.size() != 4) continue;
        const Tensor x = Random(dims, layout, random);
        const UnaryAttributes attributes = {UnaryFunction::kGelu, 0, 0};
        const std::vector<float> one = RunUnary(kVectorUnary, x, dims, layout, attributes, 1);
        const std::vector<float> values = x.Values<float>();
        REQUIRE(one.size() == values.size());
        for (size_t i = 0; i < one.size(); ++i) {
          CHECK(IsNear(UnaryFunction::kGelu, one[i],
                       portable::Apply(UnaryFunction::kGelu, values[i], 0, 0)));
        }
        CHECK(RunUnary(kVectorUnary, x, dims, layout, attributes, 3) == one);
      }
    }
  });
}

TEST_CASE("Vector unary: tensors with gaps or of two layouts are turned down") {
  Generator random(5);
  const std::vector<int32_t> dims = {1, 4, 3, 2};
  for (const auto& [from, to] : {std::pair(Layout::kChannelsLastGaps, Layout::kChannelsLastGaps),
                                 std::pair(Layout::kRowMajor, Layout::kChannelsLast)}) {
    OpFixture op(FindKernel(kVectorUnary));
    op.AddInput(Random(dims, from, random));
    (void)op.AddOutput(Tensor(DType::kF32, dims, to));
    CHECK_FALSE(op.Run(UnaryAttributes{UnaryFunction::kTanh, 0, 0}).ok());
  }
}

}  // namespace tenon::cpu::testing
