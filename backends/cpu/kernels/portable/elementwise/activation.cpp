#include "backends/cpu/kernels/portable/elementwise/functions.hpp"
#include "backends/cpu/kernels/portable/math.hpp"

namespace tenon::cpu::portable {

float Apply(UnaryFunction function, float x, float a, float b) {
  switch (function) {
#define TENON_UNARY_FORMULA(Kind, in_floats, in_doubles) \
  case UnaryFunction::k##Kind:                           \
    return in_floats;
#include "backends/cpu/kernels/portable/elementwise/unary_functions.inc"
#undef TENON_UNARY_FORMULA
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
