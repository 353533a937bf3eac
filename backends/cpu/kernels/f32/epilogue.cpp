#include "backends/cpu/kernels/f32/epilogue.hpp"

#include "backends/cpu/kernels/portable/elementwise/functions.hpp"

namespace tenon::cpu::f32 {

void Activate(const Routines& routines, const Activation& activation, float* values, int count) {
  const auto run = [&](VectorActivation function) {
    routines.activate(function, activation.a, activation.b, values, count);
  };
  switch (activation.function) {
    case UnaryFunction::kLeakyRelu:
      return run(VectorActivation::kLeakyRelu);
    case UnaryFunction::kHardSwish:
      return run(VectorActivation::kHardSwish);
    case UnaryFunction::kHardSigmoid:
      return run(VectorActivation::kHardSigmoid);
    case UnaryFunction::kSigmoid:
      return run(VectorActivation::kSigmoid);
    case UnaryFunction::kSilu:
      return run(VectorActivation::kSilu);
    default:
      portable::ApplyInPlace(activation, values, count);
  }
}

}  // namespace tenon::cpu::f32
