#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/movement_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

OpFixture MakeBinary() { return OpFixture(OpKind::kBinary); }

BinaryAttributes Plain(BinaryFunction function) { return {function, {}}; }

double BinaryReference(BinaryFunction function, double x, double y) {
  switch (function) {
    case BinaryFunction::kAdd:
      return x + y;
    case BinaryFunction::kSub:
      return x - y;
    case BinaryFunction::kMul:
      return x * y;
    case BinaryFunction::kDiv:
      return x / y;
    case BinaryFunction::kPow:
      return std::pow(x, y);
    case BinaryFunction::kMax:
      return std::max(x, y);
    case BinaryFunction::kMin:
      return std::min(x, y);
    case BinaryFunction::kPrelu:
      return x < 0.0 ? x * y : x;
    case BinaryFunction::kMod:
      return x - std::floor(x / y) * y;
    case BinaryFunction::kFmod:
      return x - std::trunc(x / y) * y;
    case BinaryFunction::kEqual:
      return x == y ? 1.0 : 0.0;
    case BinaryFunction::kLess:
      return x < y ? 1.0 : 0.0;
    case BinaryFunction::kLessOrEqual:
      return x <= y ? 1.0 : 0.0;
    case BinaryFunction::kGreater:
      return x > y ? 1.0 : 0.0;
    case BinaryFunction::kGreaterOrEqual:
      return x >= y ? 1.0 : 0.0;
    default:
      return std::nan("");
  }
}

/// Value of `tensor` that broadcasts to `index` of an output.
template <typename T>
T At(const std::vector<T>& values, const Dims& dims, const Dims& index) {
  Dims own(index.end() - static_cast<std::ptrdiff_t>(dims.size()), index.end());
  for (size_t k = 0; k < dims.size(); ++k) {
    if (dims[k] == 1) own[k] = 0;
  }
  return values[static_cast<size_t>(Ravel(own, dims))];
}

/// Runs `function` on random f32 operands and compares with the reference.
void CheckFloat(const BinaryAttributes& attributes, const Dims& a, const Dims& b, const Dims& out,
                Generator& random, int threads = 1) {
  const bool is_power = attributes.function == BinaryFunction::kPow;
  OpFixture op = MakeBinary();
  const Tensor x =
      op.AddInput(Random(a, PickLayout(random), random, is_power ? 0.1F : -3.0F, 3.0F));
  const Tensor y = op.AddInput(Random(b, PickLayout(random), random, -3.0F, 3.0F));
  const bool gives_bool = GivesBool(attributes.function);
  const Tensor z =
      op.AddOutput(Tensor(gives_bool ? DType::kBool : DType::kF32, out, PickLayout(random)));
  REQUIRE(op.Run(attributes, threads).ok());
  CHECK(z.GapsIntact());
  std::vector<double> expected(z.count());
  const std::vector<float> left = x.Values<float>();
  const std::vector<float> right = y.Values<float>();
  for (size_t i = 0; i < expected.size(); ++i) {
    const Dims index = Unravel(static_cast<int64_t>(i), out);
    expected[i] = BinaryReference(attributes.function, static_cast<double>(At(left, a, index)),
                                  static_cast<double>(At(right, b, index)));
    if (attributes.activation.function == UnaryFunction::kRelu) {
      expected[i] = std::max(expected[i], 0.0);
    }
  }
  if (gives_bool) {
    const std::vector<uint8_t> actual = z.Values<uint8_t>();
    CHECK(std::equal(actual.begin(), actual.end(), expected.begin(), expected.end()));
  } else {
    CHECK(LargestRelativeError(z.Values<float>(), expected) < 1e-6);
  }
}

const std::vector<std::pair<Dims, Dims>> kBroadcasts = {{{2, 3, 5, 31}, {2, 3, 5, 31}},
                                                        {{2, 3, 5, 31}, {}},
                                                        {{}, {2, 3, 5, 31}},
                                                        {{2, 6, 5, 7}, {6, 1, 1}},
                                                        {{1, 300, 3, 2}, {300, 1, 1}},
                                                        {{4, 1, 7}, {5, 1}},
                                                        {{3, 200}, {200}},
                                                        {{3, 200}, {3, 1}},
                                                        {{1, 4, 9, 9}, {1, 1, 9, 1}},
                                                        {{}, {}},
                                                        {{1}, {1, 1, 1}}};

Dims BroadcastOf(const Dims& a, const Dims& b) {
  Dims out = a.size() >= b.size() ? a : b;
  const Dims& other = a.size() >= b.size() ? b : a;
  for (size_t k = 0; k < other.size(); ++k) {
    int32_t& dim = out[out.size() - other.size() + k];
    dim = std::max(dim, other[k]);
  }
  return out;
}

TEST_CASE("Binary: every function in f32, under every kind of broadcasting") {
  Generator random(1);
  for (int f = 0; f <= static_cast<int>(BinaryFunction::kGreaterOrEqual); ++f) {
    const auto function = static_cast<BinaryFunction>(f);
    // The quotient's rounding decides these two near a multiple; they have a test of their own.
    if (function == BinaryFunction::kMod || function == BinaryFunction::kFmod) continue;
    CAPTURE(f);
    for (const auto& [a, b] : kBroadcasts) {
      for (int repeat = 0; repeat < 3; ++repeat) {
        CheckFloat(Plain(function), a, b, BroadcastOf(a, b), random);
      }
    }
  }
}

TEST_CASE("Binary: an activation is applied to the result") {
  Generator random(2);
  const BinaryAttributes attributes = {BinaryFunction::kSub, {UnaryFunction::kRelu, 0.0F, 0.0F}};
  for (const auto& [a, b] : kBroadcasts) {
    CheckFloat(attributes, a, b, BroadcastOf(a, b), random);
  }
  CheckFloat(attributes, {5000}, {5000}, {5000}, random);
}

TEST_CASE("Binary: large operands are cut over threads without a trace") {
  Generator random(3);
  for (int threads : {2, 3}) {
    CheckFloat(Plain(BinaryFunction::kAdd), {1, 9, 70, 71}, {1, 9, 70, 71}, {1, 9, 70, 71}, random,
               threads);
    CheckFloat(Plain(BinaryFunction::kMul), {1, 9, 70, 71}, {9, 1, 1}, {1, 9, 70, 71}, random,
               threads);
    CheckFloat(Plain(BinaryFunction::kLess), {50000}, {}, {50000}, random, threads);
  }
}

TEST_CASE("Binary: the output may take over either input") {
  Generator random(4);
  for (int taken : {0, 1}) {
    for (Layout layout : kAllLayouts) {
      OpFixture op = MakeBinary();
      const Dims dims = {1, 5, 40, 41};
      const Tensor x = op.AddInput(Random(dims, layout, random));
      const Tensor y = op.AddInput(Random(dims, layout, random));
      std::vector<double> expected;
      const std::vector<float> left = x.Values<float>();
      const std::vector<float> right = y.Values<float>();
      for (size_t i = 0; i < left.size(); ++i) {
        expected.push_back(static_cast<double>(left[i]) - static_cast<double>(right[i]));
      }
      const Tensor z = op.AddOutput(taken == 0 ? x : y);
      REQUIRE(op.Run(Plain(BinaryFunction::kSub)).ok());
      CHECK(LargestRelativeError(z.Values<float>(), expected) < 1e-6);
    }
  }
}

template <typename T>
std::vector<T> RunOn(DType dtype, BinaryFunction function, const std::vector<T>& x,
                     const std::vector<T>& y) {
  OpFixture op = MakeBinary();
  op.AddInput(Tensor::From(dtype, {static_cast<int32_t>(x.size())}, x));
  op.AddInput(Tensor::From(dtype, {static_cast<int32_t>(y.size())}, y));
  const Tensor z = op.AddOutput(Tensor(dtype, {static_cast<int32_t>(x.size())}));
  REQUIRE(op.Run(Plain(function)).ok());
  return z.Values<T>();
}

TEST_CASE("Binary: powers with common exponents agree with pow, at the special values too") {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> x = {0.0F,  -0.0F,    1.0F,      -1.0F,         2.5F,
                                -2.5F, infinity, -infinity, std::nanf(""), 1e-30F};
  for (float exponent : {2.0F, 3.0F, 4.0F, 1.0F, 0.5F, -1.0F, -2.0F, 0.0F, 1.7F}) {
    const std::vector<float> z = RunOn<float>(DType::kF32, BinaryFunction::kPow, x, {exponent});
    for (size_t i = 0; i < x.size(); ++i) {
      CAPTURE(x[i]);
      CAPTURE(exponent);
      const float expected = std::pow(x[i], exponent);
      if (std::isnan(expected)) {
        CHECK(std::isnan(z[i]));
      } else if (std::isinf(expected) || expected == 0.0F) {
        CHECK(z[i] == expected);
        CHECK(std::signbit(z[i]) == std::signbit(expected));
      } else {
        CHECK(z[i] == doctest::Approx(static_cast<double>(expected)).epsilon(1e-6));
      }
    }
  }
}

TEST_CASE("Binary: mod takes the divisor's sign and fmod the dividend's") {
  const std::vector<float> x = {5.5F, -5.5F, 5.5F, -5.5F, 6.0F};
  const std::vector<float> y = {3.0F, 3.0F, -3.0F, -3.0F, 3.0F};
  CHECK(RunOn<float>(DType::kF32, BinaryFunction::kMod, x, y) ==
        std::vector<float>{2.5F, 0.5F, -0.5F, -2.5F, 0.0F});
  CHECK(RunOn<float>(DType::kF32, BinaryFunction::kFmod, x, y) ==
        std::vector<float>{2.5F, -2.5F, 2.5F, -2.5F, 0.0F});
}

TEST_CASE("Binary: NaN in either operand reaches maximum and minimum") {
  const float nan = std::nanf("");
  for (BinaryFunction function : {BinaryFunction::kMax, BinaryFunction::kMin}) {
    const std::vector<float> z = RunOn<float>(DType::kF32, function, {nan, 1.0F}, {1.0F, nan});
    CHECK(std::isnan(z[0]));
    CHECK(std::isnan(z[1]));
  }
}

TEST_CASE("Binary: f64 keeps its precision") {
  CHECK(RunOn<double>(DType::kF64, BinaryFunction::kAdd, {1.0}, {1e-15}) ==
        std::vector<double>{1.0 + 1e-15});
  CHECK(RunOn<double>(DType::kF64, BinaryFunction::kPow, {2.0}, {0.5}) ==
        std::vector<double>{std::pow(2.0, 0.5)});
}

template <typename T>
void CheckSignedIntegers(DType dtype) {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  using Values = std::vector<T>;
  const auto run = [&](BinaryFunction function, const Values& x, const Values& y) {
    return RunOn<T>(dtype, function, x, y);
  };
  CHECK(run(BinaryFunction::kAdd, {kHigh, 2}, {1, 3}) == Values{kLow, 5});
  CHECK(run(BinaryFunction::kSub, {kLow, 2}, {1, 3}) == Values{kHigh, -1});
  CHECK(run(BinaryFunction::kMul, {kLow, -7}, {-1, 3}) == Values{kLow, -21});
  CHECK(run(BinaryFunction::kDiv, {7, -7, 5, kLow}, {2, 2, 0, -1}) == Values{3, -3, 0, kLow});
  CHECK(run(BinaryFunction::kMod, {7, -7, 7, -7, 5, kLow}, {3, 3, -3, -3, 0, -1}) ==
        Values{1, 2, -2, -1, 0, 0});
  CHECK(run(BinaryFunction::kFmod, {7, -7, 7, -7, 5, kLow}, {3, 3, -3, -3, 0, -1}) ==
        Values{1, -1, 1, -1, 0, 0});
  CHECK(run(BinaryFunction::kPow, {3, -2, 5, 0, 2, -1, 1, 0}, {4, 3, 0, 0, -1, -3, -5, -2}) ==
        Values{81, -8, 1, 1, 0, -1, 1, 0});
  CHECK(run(BinaryFunction::kMax, {kLow, 3}, {kHigh, -3}) == Values{kHigh, 3});
  CHECK(run(BinaryFunction::kMin, {kLow, 3}, {kHigh, -3}) == Values{kLow, -3});
  CHECK(run(BinaryFunction::kPrelu, {-4, 4}, {5, 5}) == Values{-20, 4});
}

TEST_CASE("Binary: signed integers wrap, and dividing by zero gives zero") {
  CheckSignedIntegers<int8_t>(DType::kI8);
  CheckSignedIntegers<int32_t>(DType::kI32);
  CheckSignedIntegers<int64_t>(DType::kI64);
}

TEST_CASE("Binary: unsigned bytes wrap, and dividing by zero gives zero") {
  using Values = std::vector<uint8_t>;
  const auto run = [](BinaryFunction function, const Values& x, const Values& y) {
    return RunOn<uint8_t>(DType::kU8, function, x, y);
  };
  CHECK(run(BinaryFunction::kAdd, {250, 1}, {10, 2}) == Values{4, 3});
  CHECK(run(BinaryFunction::kSub, {3, 9}, {5, 2}) == Values{254, 7});
  CHECK(run(BinaryFunction::kMul, {200, 3}, {2, 4}) == Values{144, 12});
  CHECK(run(BinaryFunction::kDiv, {200, 255, 9}, {255, 2, 0}) == Values{0, 127, 0});
  CHECK(run(BinaryFunction::kMod, {200, 255, 9}, {255, 2, 0}) == Values{200, 1, 0});
  CHECK(run(BinaryFunction::kPow, {3, 255}, {5, 2}) == Values{243, 1});
}

TEST_CASE("Binary: comparisons of integers are exact beyond 2^53") {
  OpFixture op = MakeBinary();
  const int64_t big = int64_t{1} << 60;
  op.AddInput(Tensor::From(DType::kI64, {2}, std::vector<int64_t>{big, big + 1}));
  op.AddInput(Tensor::From(DType::kI64, {2}, std::vector<int64_t>{big + 1, big}));
  const Tensor z = op.AddOutput(Tensor(DType::kBool, {2}));
  REQUIRE(op.Run(Plain(BinaryFunction::kLess)).ok());
  CHECK(z.Values<uint8_t>() == std::vector<uint8_t>{1, 0});
}

TEST_CASE("Binary: logic on bool") {
  const std::vector<uint8_t> x = {0, 0, 1, 1};
  const std::vector<uint8_t> y = {0, 1, 0, 1};
  const auto run = [&](BinaryFunction function) {
    return RunOn<uint8_t>(DType::kBool, function, x, y);
  };
  CHECK(run(BinaryFunction::kAnd) == std::vector<uint8_t>{0, 0, 0, 1});
  CHECK(run(BinaryFunction::kOr) == std::vector<uint8_t>{0, 1, 1, 1});
  CHECK(run(BinaryFunction::kXor) == std::vector<uint8_t>{0, 1, 1, 0});
  CHECK(run(BinaryFunction::kEqual) == std::vector<uint8_t>{1, 0, 0, 1});
}

TEST_CASE("Binary: an activation on anything but f32 is refused") {
  OpFixture op = MakeBinary();
  op.AddInput(Tensor(DType::kI32, {2}));
  op.AddInput(Tensor(DType::kI32, {2}));
  op.AddOutput(Tensor(DType::kI32, {2}));
  const BinaryAttributes attributes = {BinaryFunction::kAdd, {UnaryFunction::kRelu, 0.0F, 0.0F}};
  CHECK(op.Check(attributes).code() == StatusCode::kUnsupported);
}

TEST_CASE("Binary: operands without elements are left alone") {
  OpFixture op = MakeBinary();
  op.AddInput(Tensor(DType::kF32, {0, 3}));
  op.AddInput(Tensor(DType::kF32, {1, 3}));
  op.AddOutput(Tensor(DType::kF32, {0, 3}));
  CHECK(op.Run(Plain(BinaryFunction::kAdd)).ok());
}

}  // namespace
}  // namespace tenon::cpu::testing
