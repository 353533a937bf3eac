// Elementwise functions on f32, for activations fused into other ops and wherever the function is
// only known at run time.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::cpu::portable {

/// `function` of `x` with the parameters `a` and `b`, as functions.hpp defines it. NaN stays NaN.
/// kNot, which is for bool, gives 1 for 0 and else 0.
[[nodiscard]] float Apply(UnaryFunction function, float x, float a, float b);

[[nodiscard]] inline float Apply(const Activation& activation, float x) {
  return Apply(activation.function, x, activation.a, activation.b);
}

/// The same for `count` values at once, bit for bit; fast for none, relu and clip.
void ApplyInPlace(const Activation& activation, float* values, int count);

}  // namespace tenon::cpu::portable
