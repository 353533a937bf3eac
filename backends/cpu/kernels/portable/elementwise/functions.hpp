// Elementwise functions as the portable kernels compute them: of one f32, for activations fused
// into other ops and wherever the function is only known at run time (activation.cpp); and of
// contiguous rows, one vectorised loop per function and dtype (unary_row.cpp, binary_row.cpp).
#pragma once

#include "runtime/base/dtype.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::cpu::portable {

/// Returns `function` of `x` with the parameters `a` and `b`, as functions.hpp defines it. NaN
/// stays NaN. kNot, which is for bool, gives 1 for 0 and else 0.
[[nodiscard]] float Apply(UnaryFunction function, float x, float a, float b);

[[nodiscard]] inline float Apply(const Activation& activation, float x) {
  return Apply(activation.function, x, activation.a, activation.b);
}

/// Applies it to `count` values at once with the same bits; fast for none, relu and clip.
void ApplyInPlace(const Activation& activation, float* values, int count);

/// Applies a function with the parameters a and b to a row of `count` contiguous elements; y may be
/// exactly x. kNot gives 1 for 0 and else 0. The bits are those of Apply on each element.
void UnaryRow(UnaryFunction function, float a, float b, const float* x, float* y, int count);

/// Applies `activation` to a row in place.
inline void ActivateRow(const Activation& activation, float* y, int count) {
  if (activation.function == UnaryFunction::kIdentity) return;
  UnaryRow(activation.function, activation.a, activation.b, y, y, count);
}

/// Computes z[i] = f(x[i], y[i]) for i < count; z may be exactly x or y where it has their dtype.
using BinaryRowFunction = void (*)(const void* x, const void* y, void* z, int count);

/// Returns the row function of `function` for operands of `dtype` (f32, f64, i8, u8, i32, i64; bool
/// for equality and logic), or null where there is none. Integer overflow wraps.
[[nodiscard]] BinaryRowFunction FindBinaryRow(BinaryFunction function, DType dtype);

/// Returns a row function that computes x^exponent by multiplications and roots, if the f32
/// exponent allows it (2, 3, -1, 0.5, ...), or null. It ignores y.
[[nodiscard]] BinaryRowFunction FindPowerRow(float exponent);

/// Returns the fastest of these for the second operand `y`, which has data: a constant exponent is
/// known only when the op runs.
[[nodiscard]] BinaryRowFunction ChooseBinaryRow(BinaryFunction function, const TensorView& y);

}  // namespace tenon::cpu::portable
