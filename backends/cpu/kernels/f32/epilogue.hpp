// A fused activation as the vector kernels apply it: a clamp inside the inner loops, or a pass over
// what was just stored.
#pragma once

#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {

struct Finish {
  float low = -__builtin_inff();
  float high = __builtin_inff();
  bool is_clamp = true;  ///< else `Activate` follows
};

[[nodiscard]] inline Finish MakeFinish(const Activation& activation) {
  Finish finish;
  switch (activation.function) {
    case UnaryFunction::kIdentity:
      break;
    case UnaryFunction::kRelu:
      finish.low = 0.0F;
      break;
    case UnaryFunction::kClip:
      finish.low = activation.a;
      finish.high = activation.b;
      break;
    default:
      finish.is_clamp = false;
  }
  return finish;
}

/// Applies an activation that is no clamp to `count` floats in place.
void Activate(const Routines& routines, const Activation& activation, float* values, int count);

}  // namespace tenon::cpu::f32
