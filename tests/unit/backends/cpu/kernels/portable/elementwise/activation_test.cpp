#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"

namespace tenon::cpu::portable {
namespace {

constexpr double kA = 0.3;
constexpr double kB = 1.7;

/// functions.hpp in double precision, with a = kA and b = kB.
double Naive(UnaryFunction function, double x) {
  const double softplus = std::log1p(std::exp(x));
  const double elu = x < 0.0 ? kA * (std::exp(x) - 1.0) : x;
  switch (function) {
    case UnaryFunction::kIdentity:
      return x;
    case UnaryFunction::kRelu:
      return std::max(x, 0.0);
    case UnaryFunction::kClip:
      return std::min(std::max(x, kA), kB);
    case UnaryFunction::kLeakyRelu:
      return x < 0.0 ? kA * x : x;
    case UnaryFunction::kSigmoid:
      return 1.0 / (1.0 + std::exp(-x));
    case UnaryFunction::kTanh:
      return std::tanh(x);
    case UnaryFunction::kHardSigmoid:
      return std::max(0.0, std::min(1.0, kA * x + kB));
    case UnaryFunction::kHardSwish:
      return x * std::max(0.0, std::min(1.0, x / 6.0 + 0.5));
    case UnaryFunction::kElu:
      return elu;
    case UnaryFunction::kSelu:
      return kB * elu;
    case UnaryFunction::kSilu:
      return x / (1.0 + std::exp(-x));
    case UnaryFunction::kGelu:
      return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case UnaryFunction::kSoftplus:
      return softplus;
    case UnaryFunction::kSoftsign:
      return x / (1.0 + std::abs(x));
    case UnaryFunction::kMish:
      return x * std::tanh(softplus);
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
      return 0.5 * x *
             (1.0 + std::tanh(std::sqrt(2.0 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
    case UnaryFunction::kNot:
      return x == 0.0 ? 1.0 : 0.0;
  }
  return 0.0;
}

const std::vector<float>& Samples() {
  static const std::vector<float> samples = [] {
    std::vector<float> values = {0.0F, 0.5F, -0.5F, 1.5F, 2.5F, -2.5F, 80.0F, -80.0F};
    for (int i = -400; i <= 400; ++i) values.push_back(static_cast<float>(i) * 0.037F);
    return values;
  }();
  return samples;
}

TEST_CASE("Activation: every function agrees with its formula in double precision") {
  for (int i = 0; i < kUnaryFunctionCount; ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    for (const float x : Samples()) {
      const auto actual =
          static_cast<double>(Apply(function, x, static_cast<float>(kA), static_cast<float>(kB)));
      const double expected = Naive(function, static_cast<double>(x));
      INFO("function ", i, " of ", x);
      if (std::isnan(expected)) {
        CHECK(std::isnan(actual));
      } else if (std::isinf(expected)) {
        CHECK(actual == expected);
      } else {
        CHECK(std::abs(actual - expected) <= 2e-6 * std::abs(expected) + 2e-7);
      }
    }
  }
}

TEST_CASE("Activation: NaN stays NaN") {
  for (int i = 0; i < kUnaryFunctionCount; ++i) {
    const auto function = static_cast<UnaryFunction>(i);
    if (function == UnaryFunction::kNot) continue;  // for bool, which has no NaN
    INFO("function ", i);
    CHECK(std::isnan(Apply(function, std::nanf(""), 0.3F, 1.7F)));
  }
}

TEST_CASE("Activation: many values at once give the same bits as one by one") {
  for (int i = 0; i < kUnaryFunctionCount; ++i) {
    const Activation activation = {static_cast<UnaryFunction>(i), 0.3F, 1.7F};
    std::vector<float> values = Samples();
    values.push_back(-0.0F);
    std::vector<float> expected = values;
    for (float& value : expected) value = Apply(activation, value);
    ApplyInPlace(activation, values.data(), static_cast<int>(values.size()));
    INFO("function ", i);
    CHECK(std::memcmp(values.data(), expected.data(), values.size() * sizeof(float)) == 0);
  }
}

}  // namespace
}  // namespace tenon::cpu::portable
