#include "converter/import/onnx/ops/integer_products.hpp"

#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/quantization.hpp"

namespace tenon::converter {
namespace {

/// True if `id` is a constant, or is made of constants alone; it is one afterwards.
bool BecomesConstant(Lowering& node, TensorId id) { return node.RequireConstant(id).ok(); }

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

Status FindColumnSums(Lowering& node, QuantizedMatrix& b) {
  if (b.column_sums != kNone || node.ShapeOf(b.id).rank != 2 || !BecomesConstant(node, b.id) ||
      (b.zero_point != kNone && !BecomesConstant(node, b.zero_point))) {
    return {};
  }
  TENON_ASSIGN_OR_RETURN(b.column_sums, ColumnSums(node, b.id, b.zero_point));
  return {};
}

Result<TensorId> IntegerSums(Lowering& node, TensorId a, TensorId a_zero_point, QuantizedMatrix b,
                             int output) {
  const bool is_late = a_zero_point != kNone && !BecomesConstant(node, a_zero_point);
  if (is_late) TENON_RETURN_IF_ERROR(FindColumnSums(node, b));
  const bool split = is_late && b.column_sums != kNone && node.ShapeOf(a).rank > 1;
  std::vector<TensorId> inputs(QuantizedGemmInput::kWeightsZeroPoint + 1, kNone);
  inputs[GemmInput::kX] = a;
  inputs[GemmInput::kWeights] = b.id;
  inputs[QuantizedGemmInput::kXZeroPoint] = split ? kNone : a_zero_point;
  inputs[QuantizedGemmInput::kWeightsZeroPoint] = b.zero_point;
  QuantizedMatMulAttributes attributes;
  attributes.output.to = static_cast<int32_t>(DType::kI32);
  TENON_ASSIGN_OR_RETURN(const TensorId sums,
                         EmitMatMul(node, OpKind::kQuantizedMatMul, inputs, Attributes(attributes),
                                    split ? kIntermediate : output));
  if (!split) return sums;
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Cast(a_zero_point, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId shift,
                         node.Binary(BinaryFunction::kMul, b.column_sums, zero));
  return node.Binary(BinaryFunction::kSub, sums, shift, output);
}

Result<TensorId> ScaledProduct(Lowering& node, const QuantizedMatrix& a, const QuantizedMatrix& b) {
  TENON_ASSIGN_OR_RETURN(const TensorId sums, IntegerSums(node, a.id, a.zero_point, b));
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
