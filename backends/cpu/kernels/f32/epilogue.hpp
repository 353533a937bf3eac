// Applies a fused activation as the vector kernels do: as a clamp inside the inner loops, or in a
// pass over what was just stored.
#pragma once

#include "backends/cpu/kernels/f32/simd/routines.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::f32 {

struct Epilogue {
  float low = -__builtin_inff();
  float high = __builtin_inff();
  bool is_clamp = true;  ///< else `Activate` follows
};

[[nodiscard]] inline Epilogue MakeEpilogue(const Activation& activation) {
  Epilogue epilogue;
  switch (activation.function) {
    case UnaryFunction::kIdentity:
      break;
    case UnaryFunction::kRelu:
      epilogue.low = 0.0F;
      break;
    case UnaryFunction::kClip:
      epilogue.low = activation.a;
      epilogue.high = activation.b;
      break;
    default:
      epilogue.is_clamp = false;
  }
  return epilogue;
}

/// Applies an activation that is no clamp in place to `rows` rows of `count` floats, which begin
/// `step` floats apart.
void Activate(const Routines& routines, const Activation& activation, float* values, int64_t step,
              int rows, int count);

}  // namespace tenon::cpu::f32
