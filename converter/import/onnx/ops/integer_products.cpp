#include "converter/import/onnx/ops/integer_products.hpp"

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/quantization.hpp"

namespace tenon::converter {
namespace {

bool IsConstant(Lowering& node, TensorId id) { return node.graph().tensor(id).IsConstant(); }

/// Of each column of a constant matrix: the sum of its elements less the zero point, i32 [columns].
Result<TensorId> ColumnSums(Lowering& node, TensorId b, TensorId zero_point) {
  TENON_ASSIGN_OR_RETURN(const std::vector<double> elements, node.ConstantDoubles(b));
  std::vector<double> zeros = {0.0};
  if (zero_point != kNone) {
    TENON_ASSIGN_OR_RETURN(zeros, node.ConstantDoubles(zero_point));
  }
  const auto columns = static_cast<size_t>(node.ShapeOf(b)[1]);
  if (zeros.size() != 1 && zeros.size() != columns) {
    return InputError("{} zero points for {} columns", zeros.size(), columns);
  }
  std::vector<double> sums(columns, 0.0);
  for (size_t i = 0; i < elements.size(); ++i) {
    const size_t column = i % columns;
    sums[column] += elements[i] - zeros[zeros.size() == 1 ? 0 : column];
  }
  return node.Constant("column_sums", DType::kI32, Shape({static_cast<int32_t>(columns)}), sums);
}

}  // namespace

Result<TensorId> IntegerSums(Lowering& node, TensorId a, TensorId a_zero_point, TensorId b,
                             TensorId b_zero_point, int output) {
  std::vector<TensorId> inputs(QuantizedGemmInput::kWeightsZeroPoint + 1, kNone);
  inputs[GemmInput::kX] = a;
  inputs[GemmInput::kWeights] = b;
  inputs[QuantizedGemmInput::kXZeroPoint] = a_zero_point;
  inputs[QuantizedGemmInput::kWeightsZeroPoint] = b_zero_point;
  QuantizedMatMulAttributes attributes;
  attributes.output.to = static_cast<int32_t>(DType::kI32);
  const bool known = b_zero_point == kNone || IsConstant(node, b_zero_point);
  const bool split = a_zero_point != kNone && !IsConstant(node, a_zero_point) && known &&
                     IsConstant(node, b) && node.ShapeOf(b).rank == 2 && node.ShapeOf(a).rank > 1;
  if (!split) {
    return EmitMatMul(node, OpKind::kQuantizedMatMul, inputs, Attributes(attributes), output);
  }
  inputs[QuantizedGemmInput::kXZeroPoint] = kNone;
  TENON_ASSIGN_OR_RETURN(const TensorId sums, EmitMatMul(node, OpKind::kQuantizedMatMul, inputs,
                                                         Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(const TensorId columns, ColumnSums(node, b, b_zero_point));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Cast(a_zero_point, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId shift, node.Binary(BinaryFunction::kMul, columns, zero));
  return node.Binary(BinaryFunction::kSub, sums, shift, output);
}

Result<TensorId> ScaledProduct(Lowering& node, const QuantizedMatrix& a, const QuantizedMatrix& b) {
  TENON_ASSIGN_OR_RETURN(const TensorId sums,
                         IntegerSums(node, a.id, a.zero_point, b.id, b.zero_point));
  TENON_ASSIGN_OR_RETURN(const TensorId floats, node.Cast(sums, DType::kF32));
  TENON_ASSIGN_OR_RETURN(const TensorId scale, node.Binary(BinaryFunction::kMul, a.scale, b.scale));
  return node.Binary(BinaryFunction::kMul, floats, scale);
}

Result<TensorId> DynamicProduct(Lowering& node, TensorId a, const QuantizedMatrix& b) {
  TENON_ASSIGN_OR_RETURN(const DynamicParameters made, DynamicRange(node, a));
  TENON_ASSIGN_OR_RETURN(const TensorId integers,
                         Quantized(node, a, made.scale, made.zero_point, DType::kU8, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId zero_point, ParameterVector(node, made.zero_point));
  return ScaledProduct(node, {integers, made.scale, zero_point}, b);
}

}  // namespace tenon::converter
