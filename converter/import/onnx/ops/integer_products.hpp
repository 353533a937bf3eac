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
};

/// (a - a_zero_point) (b - b_zero_point) as i32. Zero points may be kNone; that of a is single. One
/// that is not constant is taken off the sums, where b is one constant matrix: the fast products
/// take only constant ones. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> IntegerSums(Lowering& node, TensorId a, TensorId a_zero_point,
                                           TensorId b, TensorId b_zero_point,
                                           int output = kIntermediate);

/// What the product of the integers `a` and `b` stands for, f32.
[[nodiscard]] Result<TensorId> ScaledProduct(Lowering& node, const QuantizedMatrix& a,
                                             const QuantizedMatrix& b);

/// a (f32) b, a being brought to u8 first by its own range, as DynamicQuantizeLinear does.
[[nodiscard]] Result<TensorId> DynamicProduct(Lowering& node, TensorId a, const QuantizedMatrix& b);

}  // namespace tenon::converter
