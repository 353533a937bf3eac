// QuantizeLinear, DequantizeLinear, DynamicQuantizeLinear, and what other files share.
#include "converter/import/onnx/ops/quantization.hpp"

#include <numeric>

#include "converter/import/onnx/ops/block_quantization.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// The axis that the parameters run along; 0 where there is only one of each.
Result<int32_t> ParameterAxis(Lowering& node, TensorId x, TensorId scale, int64_t axis) {
  const int32_t rank = node.ShapeOf(x).rank;
  if (node.ShapeOf(scale).Elements() == 1 || rank == 0) return 0;
  return node.Axis(axis, rank);
}

/// x, scale and zero point (where there is one) in the form that the ops take.
Result<std::vector<TensorId>> Operands(Lowering& node, TensorId x, TensorId scale,
                                       TensorId zero_point) {
  std::vector<TensorId> operands = {x};
  TENON_ASSIGN_OR_RETURN(scale, ParameterVector(node, scale));
  TENON_ASSIGN_OR_RETURN(scale, node.Cast(scale, DType::kF32));
  operands.push_back(scale);
  if (zero_point != kNone) {
    TENON_ASSIGN_OR_RETURN(zero_point, ParameterVector(node, zero_point));
    operands.push_back(zero_point);
  }
  return operands;
}

Result<TensorId> OptionalInput(Lowering& node, int index) {
  if (index < 0 || !node.HasInput(index)) return kNone;
  return node.Input(index);
}

/// What QuantizeLinear's results are: integers, which may be narrower than a byte.
struct QuantizedType {
  DType dtype = DType::kU8;
  int32_t bits = 0;  ///< of a number narrower than a byte; 0: of others
};

Result<QuantizedType> TypeFromOnnx(int32_t element_type) {
  constexpr int32_t kInt4 = 22;
  constexpr int32_t kInt2 = 26;
  const int32_t bits = PackedBits(element_type);
  if (bits != 0) {
    const bool is_signed = element_type == kInt4 || element_type == kInt2;
    return QuantizedType{is_signed ? DType::kI8 : DType::kU8, bits};
  }
  TENON_ASSIGN_OR_RETURN(const DType dtype, DTypeFromOnnx(element_type));
  return QuantizedType{dtype, 0};
}

/// The node's first output, of `y` that has not less values than the type: within its bounds.
Status Narrowed(Lowering& node, TensorId y, const QuantizedType& type) {
  const bool is_signed = type.dtype == DType::kI8;
  const double values = 1 << type.bits;
  const double least = is_signed ? -values / 2 : 0;
  TENON_ASSIGN_OR_RETURN(const TensorId low, node.Scalar("least", type.dtype, least));
  TENON_ASSIGN_OR_RETURN(const TensorId high, node.Scalar("most", type.dtype, least + values - 1));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMax, y, low));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMin, y, high, 0));
  node.SetPackedBits(y, type.bits);
  return {};
}

Status LowerQuantizeLinear(Lowering& node) {
  node.Ignore({"saturate", "precision"});  // of 8-bit floats; of the division, f32 here
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId scale, node.Input(1));
  TENON_ASSIGN_OR_RETURN(TensorId zero_point, OptionalInput(node, 2));
  const int32_t asked = node.Int32("output_dtype", 0);
  QuantizedType to;
  if (zero_point != kNone) {
    to = {node.DTypeOf(zero_point), node.PackedBitsOf(zero_point)};
  } else if (asked != 0) {
    TENON_ASSIGN_OR_RETURN(to, TypeFromOnnx(asked));
  }
  const int64_t axis = node.Int("axis", 1);
  const int64_t block = node.Int("block_size", 0);
  if (block == 0 && to.bits == 0) {
    return Quantized(node, x, scale, zero_point, to.dtype, axis, 0).status();
  }
  TensorId y = x;
  if (block != 0) {
    TENON_ASSIGN_OR_RETURN(const BlockedAxis blocks, ReadBlockedAxis(node, x, scale, axis, block));
    TENON_ASSIGN_OR_RETURN(y, ScaledBlocks(node, x, scale, zero_point, blocks));
    TENON_ASSIGN_OR_RETURN(scale, node.Scalar("scale", DType::kF32, 1));
    zero_point = kNone;
  }
  if (to.bits == 0) return Quantized(node, y, scale, zero_point, to.dtype, axis, 0).status();
  TENON_ASSIGN_OR_RETURN(y, Quantized(node, y, scale, zero_point, to.dtype, axis));
  return Narrowed(node, y, to);
}

Status LowerDequantizeLinear(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId scale, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId zero_point, OptionalInput(node, 2));
  DType to = node.DTypeOf(scale);
  if (const int32_t asked = node.Int32("output_dtype", 0); asked != 0) {
    TENON_ASSIGN_OR_RETURN(to, DTypeFromOnnx(asked));
  }
  const int64_t axis = node.Int("axis", 1);
  if (const int64_t block = node.Int("block_size", 0); block != 0) {
    TENON_ASSIGN_OR_RETURN(const BlockedAxis blocks, ReadBlockedAxis(node, x, scale, axis, block));
    TENON_ASSIGN_OR_RETURN(const TensorId y,
                           DequantizedBlocks(node, x, scale, zero_point, blocks, to));
    node.Alias(0, y);
    return {};
  }
  if (to == DType::kF32) return Dequantized(node, x, scale, zero_point, axis, 0).status();
  TENON_ASSIGN_OR_RETURN(const TensorId y, Dequantized(node, x, scale, zero_point, axis));
  return node.Cast(y, to, 0).status();
}

Status LowerDynamicQuantizeLinear(Lowering& node) {
  if (node.OutputCount() != 3) return InputError("it has {} outputs, not 3", node.OutputCount());
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const DynamicParameters made, DynamicRange(node, x, 1, 2));
  return Quantized(node, x, made.scale, made.zero_point, DType::kU8, 0, 0).status();
}

constexpr LoweringRow kQuantizationRows[] = {
    {"DequantizeLinear", LowerDequantizeLinear},
    {"DynamicQuantizeLinear", LowerDynamicQuantizeLinear},
    {"QuantizeLinear", LowerQuantizeLinear},
    {"DequantizeLinear", LowerDequantizeLinear, "com.microsoft"},
    {"QuantizeLinear", LowerQuantizeLinear, "com.microsoft"},
};

}  // namespace

Result<TensorId> ParameterVector(Lowering& node, TensorId id) {
  const Shape shape = node.ShapeOf(id);
  if (shape.rank == 1) return id;
  if (shape.Elements() == 1) return node.Reshape(id, {1});
  return InputError(
      "'{}' has {} dimensions: scales and zero points are single or run along one axis, unless "
      "block_size says how long the blocks are",
      node.graph().tensor(id).name, shape.rank);
}

Result<TensorId> Dequantized(Lowering& node, TensorId x, TensorId scale, TensorId zero_point,
                             int64_t axis, int output) {
  DequantizeAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis, ParameterAxis(node, x, scale, axis));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> operands,
                         Operands(node, x, scale, zero_point));
  return node.Emit(OpKind::kDequantize, operands, Attributes(attributes), output);
}

Result<TensorId> Quantized(Lowering& node, TensorId x, TensorId scale, TensorId zero_point,
                           DType to, int64_t axis, int output) {
  TENON_ASSIGN_OR_RETURN(x, node.Cast(x, DType::kF32));
  QuantizeAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  TENON_ASSIGN_OR_RETURN(attributes.axis, ParameterAxis(node, x, scale, axis));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> operands,
                         Operands(node, x, scale, zero_point));
  return node.Emit(OpKind::kQuantize, operands, Attributes(attributes), output);
}

Result<OperandParameters> ReadParameters(Lowering& node, const OperandPlaces& places) {
  OperandParameters parameters;
  TENON_ASSIGN_OR_RETURN(parameters.scale, node.Input(places.scale));
  TENON_RETURN_IF_ERROR(node.RequireConstant(parameters.scale));
  TENON_ASSIGN_OR_RETURN(parameters.zero_point, OptionalInput(node, places.zero_point));
  if (parameters.zero_point != kNone) {
    TENON_RETURN_IF_ERROR(node.RequireConstant(parameters.zero_point));
  }
  return parameters;
}

Result<TensorId> DequantizedInput(Lowering& node, const OperandPlaces& places, int64_t axis) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(places.tensor));
  TENON_ASSIGN_OR_RETURN(const OperandParameters parameters, ReadParameters(node, places));
  return Dequantized(node, x, parameters.scale, parameters.zero_point, axis);
}

Status QuantizeOutput(Lowering& node, TensorId y, const OperandPlaces& places) {
  TENON_ASSIGN_OR_RETURN(const OperandParameters parameters, ReadParameters(node, places));
  const DType to =
      parameters.zero_point == kNone ? DType::kU8 : node.DTypeOf(parameters.zero_point);
  return Quantized(node, y, parameters.scale, parameters.zero_point, to, 0, 0).status();
}

// The range of x, made to hold 0, becomes that of u8. Where all of x is 0 the definition divides 0
// by 0; any scale is right then.
Result<DynamicParameters> DynamicRange(Lowering& node, TensorId x, int scale_output,
                                       int zero_point_output) {
  if (node.DTypeOf(x) != DType::kF32) return InputError("its input must be f32");
  if (node.ShapeOf(x).rank == 0) {
    TENON_ASSIGN_OR_RETURN(x, node.Reshape(x, {1}));
  }
  std::vector<int32_t> axes(static_cast<size_t>(node.ShapeOf(x).rank));
  std::iota(axes.begin(), axes.end(), 0);
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", DType::kF32, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Scalar("one", DType::kF32, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId steps, node.Scalar("steps", DType::kF32, 255));
  TENON_ASSIGN_OR_RETURN(TensorId least, node.Reduce(ReduceFunction::kMin, x, axes, false));
  TENON_ASSIGN_OR_RETURN(least, node.Binary(BinaryFunction::kMin, least, zero));
  TENON_ASSIGN_OR_RETURN(TensorId most, node.Reduce(ReduceFunction::kMax, x, axes, false));
  TENON_ASSIGN_OR_RETURN(most, node.Binary(BinaryFunction::kMax, most, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId range, node.Binary(BinaryFunction::kSub, most, least));
  TENON_ASSIGN_OR_RETURN(const TensorId step, node.Binary(BinaryFunction::kDiv, range, steps));
  TENON_ASSIGN_OR_RETURN(const TensorId flat, node.Binary(BinaryFunction::kEqual, step, zero));
  DynamicParameters made;
  TENON_ASSIGN_OR_RETURN(made.scale,
                         node.Emit(OpKind::kSelect, {flat, one, step}, Attributes(), scale_output));
  TENON_ASSIGN_OR_RETURN(const TensorId below,
                         node.Binary(BinaryFunction::kDiv, least, made.scale));
  TENON_ASSIGN_OR_RETURN(TensorId place, node.Unary(below, {UnaryFunction::kNeg}));
  TENON_ASSIGN_OR_RETURN(place, node.Unary(place, {UnaryFunction::kClip, 0.0F, 255.0F}));
  TENON_ASSIGN_OR_RETURN(place, node.Unary(place, {UnaryFunction::kRound}));
  TENON_ASSIGN_OR_RETURN(made.zero_point, node.Cast(place, DType::kU8, zero_point_output));
  return made;
}

constexpr Span<const LoweringRow> kQuantizationLowerings = kQuantizationRows;

}  // namespace tenon::converter
