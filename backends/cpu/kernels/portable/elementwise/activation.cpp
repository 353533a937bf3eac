#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/math.hpp"

namespace tenon::cpu::portable {

float Apply(UnaryFunction function, float x, float a, float b) {
  switch (function) {
    case UnaryFunction::kIdentity:
      return x;
    case UnaryFunction::kRelu:
      return x < 0.0F ? 0.0F : x;
    case UnaryFunction::kClip: {
      const float raised = x < a ? a : x;
      return raised > b ? b : raised;
    }
    case UnaryFunction::kLeakyRelu:
      return x < 0.0F ? a * x : x;
    case UnaryFunction::kSigmoid:
      return math::Sigmoid(x);
    case UnaryFunction::kTanh:
      return math::Tanh(x);
    case UnaryFunction::kHardSigmoid:
      return math::HardSigmoid(x, a, b);
    case UnaryFunction::kHardSwish:
      return math::HardSwish(x);
    case UnaryFunction::kElu:
      return math::Elu(x, a);
    case UnaryFunction::kSelu:
      return b * math::Elu(x, a);
    case UnaryFunction::kSilu:
      return math::Silu(x);
    case UnaryFunction::kGelu:
      return math::Gelu(x);
    case UnaryFunction::kSoftplus:
      return math::Softplus(x);
    case UnaryFunction::kSoftsign:
      return math::Softsign(x);
    case UnaryFunction::kMish:
      return math::Mish(x);
    case UnaryFunction::kExp:
      return math::Exp(x);
    case UnaryFunction::kLog:
      return math::Log(x);
    case UnaryFunction::kSqrt:
      return std::sqrt(x);
    case UnaryFunction::kReciprocal:
      return 1.0F / x;
    case UnaryFunction::kErf:
      return math::Erf(x);
    case UnaryFunction::kAbs:
      return math::Abs(x);
    case UnaryFunction::kNeg:
      return -x;
    case UnaryFunction::kFloor:
      return math::Floor(x);
    case UnaryFunction::kCeil:
      return math::Ceil(x);
    case UnaryFunction::kRound:
      return math::RoundHalfToEven(x);
    case UnaryFunction::kSign:
      return math::Sign(x);
    case UnaryFunction::kSin:
      return std::sin(x);
    case UnaryFunction::kCos:
      return std::cos(x);
    case UnaryFunction::kNot:
      return x == 0.0F ? 1.0F : 0.0F;
  }
  return x;
}

void ApplyInPlace(const Activation& activation, float* values, int count) {
  const float a = activation.a;
  const float b = activation.b;
  if (activation.function == UnaryFunction::kIdentity) return;
  if (activation.function == UnaryFunction::kRelu) {
    for (int i = 0; i < count; ++i) values[i] = values[i] < 0.0F ? 0.0F : values[i];
  } else if (activation.function == UnaryFunction::kClip) {
    for (int i = 0; i < count; ++i) {
      const float raised = values[i] < a ? a : values[i];
      values[i] = raised > b ? b : raised;
    }
  } else {
    for (int i = 0; i < count; ++i) values[i] = Apply(activation.function, values[i], a, b);
  }
}

}  // namespace tenon::cpu::portable
