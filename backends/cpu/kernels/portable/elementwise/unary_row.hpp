// Elementwise functions on a contiguous row of f32, vectorised: for the unary op and for fused
// activations. Gives the same bits as Apply (activation.hpp) on each element.
#pragma once

#include "runtime/ops/attributes.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::cpu::portable {

/// to[i] = function(from[i]) with the parameters a and b, for i < count. `to` may be exactly
/// `from`. kNot gives 1 for 0 and else 0.
void UnaryRow(UnaryFunction function, float a, float b, const float* from, float* to, int count);

/// Applies `activation` to a row in place.
inline void ActivateRow(const Activation& activation, float* y, int count) {
  if (activation.function == UnaryFunction::kIdentity) return;
  UnaryRow(activation.function, activation.a, activation.b, y, y, count);
}

}  // namespace tenon::cpu::portable
