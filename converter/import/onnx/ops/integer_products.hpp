// Matrix products of integers whose scales or zero points are known only when they run, as dynamic
// quantization makes them: computed in integers all the same.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// A matrix of i8 or u8 with its scale (one, or one for each column) and zero point (kNone: 0).
struct QuantizedMatrix {
  TensorId id = kNone;
  TensorId scale = kNone;
  TensorId zero_point = kNone;
  /// Of each column: the sum of its elements less the zero point, i32. kNone: not known yet.
  TensorId column_sums = kNone;
};

/// Finds the sums of `b`'s columns, where it is one constant matrix; else they stay unknown. For
/// matrices that several products take: each would find them for itself.
[[nodiscard]] Status FindColumnSums(Lowering& node, QuantizedMatrix& b);

/// (a - a_zero_point) (b - b_zero_point) as i32; the scale of b is not looked at. Zero points may
/// be kNone; that of a is single. One that is not constant is taken off the sums, where b is one
/// constant matrix: the fast products take only constant ones. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> IntegerSums(Lowering& node, TensorId a, TensorId a_zero_point,
                                           QuantizedMatrix b, int output = kIntermediate);

/// What the product of the integers `a` and `b` stands for, f32.
[[nodiscard]] Result<TensorId> ScaledProduct(Lowering& node, const QuantizedMatrix& a,
                                             const QuantizedMatrix& b);

/// a (f32) b, a being brought to u8 first by its own range, as DynamicQuantizeLinear does.
[[nodiscard]] Result<TensorId> DynamicProduct(Lowering& node, TensorId a, const QuantizedMatrix& b);

}  // namespace tenon::converter
