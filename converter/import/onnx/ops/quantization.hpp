// What the lowerings of quantized operators share: scales and zero points that stand among a node's
// inputs.
//
// The QLinear operators become dequantize, the float op and quantize. That is what they are defined
// as; the pass FuseQuantized makes quantized ops of it, as of models that spell it out themselves.
#pragma once

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// A scalar or vector as a vector, which is how ops take scales and zero points. Refuses tensors of
/// more dimensions (quantization in blocks).
[[nodiscard]] Result<TensorId> ParameterVector(Lowering& node, TensorId id);

/// The real numbers that `x` stands for, f32. `zero_point` may be kNone. With several scales, they
/// run along `axis` of x.
[[nodiscard]] Result<TensorId> Dequantized(Lowering& node, TensorId x, TensorId scale,
                                           TensorId zero_point, int64_t axis,
                                           int output = kIntermediate);

/// f32 numbers as `to`. `zero_point` may be kNone.
[[nodiscard]] Result<TensorId> Quantized(Lowering& node, TensorId x, TensorId scale,
                                         TensorId zero_point, DType to, int64_t axis,
                                         int output = kIntermediate);

/// Where among a node's inputs a quantized operand stands, or only its parameters: `zero_point` may
/// be absent. Both must be known at conversion.
struct OperandPlaces {
  int tensor = kNone;
  int scale = kNone;
  int zero_point = kNone;
};

/// Scale and zero point (kNone if absent) of an operand, as constants.
struct OperandParameters {
  TensorId scale = kNone;
  TensorId zero_point = kNone;
};
[[nodiscard]] Result<OperandParameters> ReadParameters(Lowering& node, const OperandPlaces& places);

/// Input `places.tensor` of the node as f32.
[[nodiscard]] Result<TensorId> DequantizedInput(Lowering& node, const OperandPlaces& places,
                                                int64_t axis = 0);

/// `y` becomes the node's first output, in the dtype of the zero point, or u8 where there is none.
[[nodiscard]] Status QuantizeOutput(Lowering& node, TensorId y, const OperandPlaces& places);

/// Scale and zero point (u8) that DynamicQuantizeLinear gives x (f32): scalars, known when it runs.
/// An output number >= 0 makes the value that output of the node.
struct DynamicParameters {
  TensorId scale = kNone;
  TensorId zero_point = kNone;
};
[[nodiscard]] Result<DynamicParameters> DynamicRange(Lowering& node, TensorId x,
                                                     int scale_output = kIntermediate,
                                                     int zero_point_output = kIntermediate);

}  // namespace tenon::converter
