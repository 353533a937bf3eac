// Elementwise functions of two contiguous rows: one vectorised loop per function and dtype.
#pragma once

#include "runtime/base/dtype.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::cpu::portable {

/// z[i] = f(x[i], y[i]) for i < count; z may be exactly x or y where it has their dtype.
using BinaryRowFunction = void (*)(const void* x, const void* y, void* z, int count);

/// The row of `function` for operands of `dtype` (f32, f64, i8, u8, i32, i64; bool for equality and
/// logic), or null where there is none. Integer overflow wraps.
[[nodiscard]] BinaryRowFunction FindBinaryRow(BinaryFunction function, DType dtype);

/// x^exponent by multiplications and roots for an f32 exponent that allows it (2, 3, -1, 0.5, ...),
/// or null. The row ignores y.
[[nodiscard]] BinaryRowFunction FindPowerRow(float exponent);

}  // namespace tenon::cpu::portable
