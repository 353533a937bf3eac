#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/half.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/math.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/rows.hpp"
#include "tests/unit/backends/cpu/kernels/op_fixture.hpp"

namespace tenon::cpu::testing {
namespace {

/// Every function by its definition in functions.hpp, in double and with libm.
double UnaryReference(UnaryFunction function, double x, double a, double b) {
  const auto elu = [&] { return x < 0.0 ? a * (std::exp(x) - 1.0) : x; };
  const auto hard = [](double v) { return std::max(0.0, std::min(1.0, v)); };
  switch (function) {
    case UnaryFunction::kRelu:
      return std::max(x, 0.0);
    case UnaryFunction::kClip:
      return std::min(std::max(x, a), b);
    case UnaryFunction::kLeakyRelu:
      return x < 0.0 ? a * x : x;
    case UnaryFunction::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kHardSigmoid:
      return hard(a * x + b);
    case UnaryFunction::kHardSwish:
      return x * hard(x / 6.0 + 0.5);
    case UnaryFunction::kElu:
      return elu();
    case UnaryFunction::kSelu:
      return b * elu();
    case UnaryFunction::kSilu:
      return x / (1.0 + std::exp(-x));
    case UnaryFunction::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case UnaryFunction::kSoftplus:
      return std::log(1.0 + std::exp(x));
    case UnaryFunction::kSoftsign:
      return x / (1.0 + std::abs(x));
    case UnaryFunction::kMish:
      return x * std::tanh(std::log(1.0 + std::exp(x)));
    case UnaryFunction::kExp:
      return std::exp(x);
    case UnaryFunction::kLog:
      return std::log(x);
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kReciprocal:
      return 1.0 / x;
    case UnaryFunction::kErf:
      return std::erf(x);
    case UnaryFunction::kAbs:
      return std::abs(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kFloor:
      return std::floor(x);
    case UnaryFunction::kCeil:
      return std::ceil(x);
    case UnaryFunction::kRound:
      return std::nearbyint(x);
    case UnaryFunction::kSign:
      return x > 0.0 ? 1.0 : (x < 0.0 ? -1.0 : 0.0);
    case UnaryFunction::kSin:
      return std::sin(x);
    case UnaryFunction::kCos:
      return std::cos(x);
    case UnaryFunction::kAtan:
      return std::atan(x);
    case UnaryFunction::kGeluTanh:
      return x / (1.0 + std::exp(-1.5957691216057308 * x * (1.0 + 0.044715 * x * x)));
    default:
      return x;
  }
}

UnaryAttributes AttributesFor(UnaryFunction function) {
  return {function, function == UnaryFunction::kClip ? -0.5F : 0.3F, 1.25F};
}

/// Numbers of all functions but not, which is for bool.
std::vector<int> FloatFunctions() {
  std::vector<int> numbers;
  for (int f = 0; f < kUnaryFunctionCount; ++f) {
    if (static_cast<UnaryFunction>(f) != UnaryFunction::kNot) numbers.push_back(f);
  }
  return numbers;
}

OpFixture MakeUnary() { return OpFixture(OpKind::kUnary); }

template <typename T>
std::vector<double> ReferenceOf(const std::vector<T>& x, const UnaryAttributes& attributes) {
  std::vector<double> expected;
  for (const T value : x) {
    expected.push_back(UnaryReference(attributes.function, static_cast<double>(value),
                                      static_cast<double>(attributes.a),
                                      static_cast<double>(attributes.b)));
  }
  return expected;
}

/// What sigmoid or tanh make of every number of 16 bits with `bits` bits before the point.
std::vector<int16_t> FixedPointCurve(UnaryFunction function, int bits) {
  OpFixture op(OpKind::kUnary);
  std::vector<int16_t> all(65536);
  for (int i = 0; i < 65536; ++i) all[static_cast<size_t>(i)] = static_cast<int16_t>(i - 32768);
  Tensor x(DType::kI16, {65536});
  x.Set(all);
  (void)op.AddInput(x);
  const Tensor y = op.AddOutput(Tensor(DType::kI16, {65536}));
  const Status status = op.Run(UnaryAttributes{function, static_cast<float>(bits), 0.0F});
  REQUIRE_MESSAGE(status.ok(), Words(status));
  return y.Values<int16_t>();
}

TEST_CASE("Unary: sigmoid and tanh of fixed-point numbers of 16 bits") {
  for (int bits = 0; bits <= 6; ++bits) {
    CAPTURE(bits);
    for (const UnaryFunction function : {UnaryFunction::kTanh, UnaryFunction::kSigmoid}) {
      if (function == UnaryFunction::kSigmoid && bits != 3) continue;
      const std::vector<int16_t> y = FixedPointCurve(function, bits);
      double worst = 0;
      for (int i = 0; i < 65536; ++i) {
        const double exact = UnaryReference(function, std::ldexp(i - 32768, bits - 15), 0, 0);
        worst = std::max(worst, std::abs(y[static_cast<size_t>(i)] / 32768.0 - exact));
      }
      CHECK(worst < 4e-4);
    }
  }
  // Some that LiteRT has: its LSTM is defined by these bits.
  const std::vector<int16_t> tanh = FixedPointCurve(UnaryFunction::kTanh, 3);
  CHECK(tanh[32768] == 0);
  CHECK(tanh[0] == -tanh[65535]);
  const std::vector<int16_t> sigmoid = FixedPointCurve(UnaryFunction::kSigmoid, 3);
  CHECK(sigmoid[32768] == 16384);
  CHECK(sigmoid[32768 + 4096] + sigmoid[32768 - 4096] == 32767);
}

TEST_CASE("Unary: every function in f32, in every pair of layouts") {
  Generator random(1);
  for (const int f : FloatFunctions()) {
    const UnaryAttributes attributes = AttributesFor(static_cast<UnaryFunction>(f));
    for (Layout from : kAllLayouts) {
      for (Layout to : kAllLayouts) {
        CAPTURE(f);
        OpFixture op = MakeUnary();
        const Tensor x = op.AddInput(Random({2, 3, 5, 31}, from, random, -6.0F, 6.0F));
        const Tensor y = op.AddOutput(Tensor(DType::kF32, {2, 3, 5, 31}, to));
        REQUIRE(op.Run(attributes).ok());
        CHECK(LargestRelativeError(y.Values<float>(), ReferenceOf(x.Values<float>(), attributes)) <
              1e-6);
        CHECK(y.GapsIntact());
      }
    }
  }
}

TEST_CASE("Unary: rows give the same bits as the scalar form of fused activations") {
  Generator random(2);
  std::vector<float> values = RandomValues(1003, random, -20.0F, 20.0F);
  for (float special : {0.0F, -0.0F, 1e-40F, -1e-40F, 3e38F, -3e38F, 1e-20F}) {
    values.push_back(special);
  }
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(-std::numeric_limits<float>::infinity());
  values.push_back(std::nanf(""));
  for (const int f : FloatFunctions()) {
    const UnaryAttributes attributes = AttributesFor(static_cast<UnaryFunction>(f));
    OpFixture op = MakeUnary();
    op.AddInput(Tensor::From(DType::kF32, {static_cast<int32_t>(values.size())}, values));
    const Tensor y = op.AddOutput(Tensor(DType::kF32, {static_cast<int32_t>(values.size())}));
    REQUIRE(op.Run(attributes).ok());
    const std::vector<float> actual = y.Values<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      CAPTURE(f);
      CAPTURE(values[i]);
      const float expected =
          portable::Apply(attributes.function, values[i], attributes.a, attributes.b);
      if (std::isnan(expected)) {
        CHECK(std::isnan(actual[i]));
      } else {
        CHECK(portable::math::BitsOf(actual[i]) == portable::math::BitsOf(expected));
      }
    }
  }
}

TEST_CASE("Unary: works in place and over threads") {
  Generator random(3);
  for (Layout layout : kAllLayouts) {
    for (int threads : {1, 3}) {
      OpFixture op = MakeUnary();
      const Tensor x = op.AddInput(Random({1, 16, 61, 67}, layout, random, -3.0F, 3.0F));
      op.AddOutput(x);
      const std::vector<float> before = x.Values<float>();
      const UnaryAttributes attributes = AttributesFor(UnaryFunction::kSilu);
      REQUIRE(op.Run(attributes, threads).ok());
      CHECK(LargestRelativeError(x.Values<float>(), ReferenceOf(before, attributes)) < 1e-6);
      CHECK(x.GapsIntact());
    }
  }
}

TEST_CASE("Unary: every function in f64") {
  Generator random(4);
  for (const int f : FloatFunctions()) {
    CAPTURE(f);
    const UnaryAttributes attributes = AttributesFor(static_cast<UnaryFunction>(f));
    const std::vector<float> narrow = RandomValues(60, random, -6.0F, 6.0F);
    const std::vector<double> values(narrow.begin(), narrow.end());
    OpFixture op = MakeUnary();
    op.AddInput(Tensor::From(DType::kF64, {1, 3, 4, 5}, values, Layout::kChannelsLastGaps));
    const Tensor y = op.AddOutput(Tensor(DType::kF64, {1, 3, 4, 5}));
    REQUIRE(op.Run(attributes).ok());
    CHECK(LargestRelativeError(y.Values<double>(), ReferenceOf(values, attributes)) < 1e-14);
  }
}

TEST_CASE("Unary: f16 is computed in f32 and rounded once") {
  std::vector<uint16_t> halves(0x7C00);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  for (UnaryFunction function : {UnaryFunction::kTanh, UnaryFunction::kClip, UnaryFunction::kNeg}) {
    const UnaryAttributes attributes = AttributesFor(function);
    OpFixture op = MakeUnary();
    op.AddInput(Tensor::From(DType::kF16, {0x7C00}, halves));
    const Tensor y = op.AddOutput(Tensor(DType::kF16, {0x7C00}));
    REQUIRE(op.Run(attributes).ok());
    const std::vector<uint16_t> actual = y.Values<uint16_t>();
    for (size_t i = 0; i < halves.size(); ++i) {
      const float x = portable::HalfToFloat(halves[i]);
      const float expected = portable::Apply(function, x, attributes.a, attributes.b);
      REQUIRE(actual[i] == portable::FloatToHalf(expected));
    }
  }
}

template <typename T>
void CheckIntegers(DType dtype) {
  constexpr T kLow = std::numeric_limits<T>::min();
  constexpr T kHigh = std::numeric_limits<T>::max();
  const std::vector<T> x = {kLow, static_cast<T>(kLow + 1), -3, -1, 0, 1, 3, kHigh};
  const auto run = [&](UnaryFunction function, float a, float b) {
    OpFixture op = MakeUnary();
    op.AddInput(Tensor::From(dtype, {8}, x));
    const Tensor y = op.AddOutput(Tensor(dtype, {8}));
    REQUIRE(op.Run(UnaryAttributes{function, a, b}).ok());
    return y.Values<T>();
  };
  using Values = std::vector<T>;
  CHECK(run(UnaryFunction::kIdentity, 0.0F, 0.0F) == x);
  CHECK(run(UnaryFunction::kRelu, 0.0F, 0.0F) == Values{0, 0, 0, 0, 0, 1, 3, kHigh});
  CHECK(run(UnaryFunction::kAbs, 0.0F, 0.0F) == Values{kLow, kHigh, 3, 1, 0, 1, 3, kHigh});
  CHECK(run(UnaryFunction::kNeg, 0.0F, 0.0F) ==
        Values{kLow, kHigh, 3, 1, 0, -1, -3, static_cast<T>(-kHigh)});
  CHECK(run(UnaryFunction::kSign, 0.0F, 0.0F) == Values{-1, -1, -1, -1, 0, 1, 1, 1});
  CHECK(run(UnaryFunction::kClip, -2.0F, 2.0F) == Values{-2, -2, -2, -1, 0, 1, 2, 2});
  CHECK(run(UnaryFunction::kClip, -1e30F, 1e30F) == x);
}

TEST_CASE("Unary: signed integers, the lowest value included") {
  CheckIntegers<int8_t>(DType::kI8);
  CheckIntegers<int16_t>(DType::kI16);
  CheckIntegers<int32_t>(DType::kI32);
  CheckIntegers<int64_t>(DType::kI64);
}

TEST_CASE("Unary: not turns 0 into 1 and the rest into 0") {
  OpFixture op = MakeUnary();
  op.AddInput(Tensor::From(DType::kBool, {3}, std::vector<uint8_t>{0, 1, 0}));
  const Tensor y = op.AddOutput(Tensor(DType::kBool, {3}));
  REQUIRE(op.Run(UnaryAttributes{UnaryFunction::kNot, 0.0F, 0.0F}).ok());
  CHECK(y.Values<uint8_t>() == std::vector<uint8_t>{1, 0, 1});
}

TEST_CASE("Unary: scalars and tensors without elements") {
  OpFixture scalar = MakeUnary();
  scalar.AddInput(Tensor::From(DType::kF32, {}, std::vector<float>{-2.5F}));
  const Tensor y = scalar.AddOutput(Tensor(DType::kF32, {}));
  REQUIRE(scalar.Run(UnaryAttributes{UnaryFunction::kAbs, 0.0F, 0.0F}).ok());
  CHECK(y.Values<float>() == std::vector<float>{2.5F});

  OpFixture empty = MakeUnary();
  empty.AddInput(Tensor(DType::kF32, {3, 0}));
  empty.AddOutput(Tensor(DType::kF32, {3, 0}));
  CHECK(empty.Run(UnaryAttributes{UnaryFunction::kAbs, 0.0F, 0.0F}).ok());
}

}  // namespace
}  // namespace tenon::cpu::testing
