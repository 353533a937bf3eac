// Convolutions and matrix products of quantized tensors: QLinearConv, QLinearMatMul, ConvInteger,
// MatMulInteger; of com.microsoft QGemm, MatMulIntegerToFloat and DynamicQuantizeMatMul.
#include <algorithm>

#include "converter/import/onnx/ops/integer_products.hpp"
#include "converter/import/onnx/ops/ops.hpp"
#include "converter/import/onnx/ops/quantization.hpp"
#include "converter/import/onnx/ops/window.hpp"

namespace tenon::converter {
namespace {

/// i32 in units of a's scale times b's, as f32. `factor` scales the units.
Result<TensorId> DequantizedBias(Lowering& node, TensorId bias, TensorId a_scale, TensorId b_scale,
                                 double factor = 1.0) {
  if (node.DTypeOf(bias) != DType::kI32) return InputError("its bias must be i32");
  TENON_ASSIGN_OR_RETURN(const std::vector<double> a, node.ConstantDoubles(a_scale));
  TENON_ASSIGN_OR_RETURN(std::vector<double> unit, node.ConstantDoubles(b_scale));
  if (a.size() != 1) return InputError("its input must have one scale");
  for (double& scale : unit) scale *= a.front() * factor;
  Shape shape;
  shape.rank = 1;
  shape[0] = static_cast<int32_t>(unit.size());
  TENON_ASSIGN_OR_RETURN(const TensorId scale,
                         node.Constant("bias_scale", DType::kF32, shape, unit));
  return Dequantized(node, bias, scale, kNone, node.ShapeOf(bias).rank - 1);
}

/// The zero point at input `index` as a vector, or kNone.
Result<TensorId> ZeroPoint(Lowering& node, int index, bool single) {
  if (!node.HasInput(index)) return kNone;
  TENON_ASSIGN_OR_RETURN(const TensorId zero_point, node.Input(index));
  if (single && node.ShapeOf(zero_point).Elements() != 1) {
    return InputError("a zero point for each row is not supported");
  }
  return ParameterVector(node, zero_point);
}

/// The dimension of a matrix's columns; one zero point or scale for each may come with it.
int64_t ColumnAxis(Lowering& node, TensorId matrix) { return node.ShapeOf(matrix).rank - 1; }

Status LowerQLinearConv(Lowering& node) {
  if (node.Int("channels_last", 0) != 0) return InputError("channels_last is not supported");
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId w, node.Input(3));
  const bool one_dimensional = node.ShapeOf(x).rank == 3;
  TENON_ASSIGN_OR_RETURN(const ConvAttributes attributes, ReadConv(node, x, w));
  TENON_ASSIGN_OR_RETURN(x, WithHeight(node, x));
  TENON_ASSIGN_OR_RETURN(w, WithHeight(node, w));
  TENON_ASSIGN_OR_RETURN(const OperandParameters of_x, ReadParameters(node, {0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(const OperandParameters of_w, ReadParameters(node, {3, 4, 5}));
  std::vector<TensorId> inputs(2);
  TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kX],
                         Dequantized(node, x, of_x.scale, of_x.zero_point, 1));
  TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kWeights],
                         Dequantized(node, w, of_w.scale, of_w.zero_point, 0));
  if (node.HasInput(8)) {
    TENON_ASSIGN_OR_RETURN(TensorId bias, node.Input(8));
    TENON_ASSIGN_OR_RETURN(bias, DequantizedBias(node, bias, of_x.scale, of_w.scale));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(attributes)));
  if (one_dimensional) {
    const Shape shape = node.ShapeOf(y);
    TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, {shape[0], shape[1], shape[3]}));
  }
  return QuantizeOutput(node, y, {kNone, 6, 7});
}

Status LowerQLinearMatMul(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId a_quantized, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId b_quantized, node.Input(3));
  const int64_t rows = std::max<int64_t>(0, ColumnAxis(node, a_quantized) - 1);
  TENON_ASSIGN_OR_RETURN(const TensorId a, DequantizedInput(node, {0, 1, 2}, rows));
  TENON_ASSIGN_OR_RETURN(const TensorId b,
                         DequantizedInput(node, {3, 4, 5}, ColumnAxis(node, b_quantized)));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         EmitMatMul(node, OpKind::kMatMul, {a, b}, Attributes(MatMulAttributes())));
  return QuantizeOutput(node, y, {kNone, 6, 7});
}

using GemmInputs = std::vector<TensorId>;

bool IsPadded(const ConvAttributes& conv) {
  return std::any_of(conv.pads, conv.pads + 4, [](int32_t pad) { return pad != 0; });
}

/// The sums of a convolution whose zero point of x is made at run time, without that operand: it is
/// taken off afterwards, times the sum of the weights that lie on the image, which is known. Fast
/// kernels take only constant zero points.
Result<TensorId> SumsLessZeroPoint(Lowering& node, GemmInputs inputs,
                                   const QuantizedConvAttributes& attributes) {
  const TensorId zero_point = inputs[QuantizedGemmInput::kXZeroPoint];
  inputs[QuantizedGemmInput::kXZeroPoint] = kNone;
  TENON_ASSIGN_OR_RETURN(const TensorId sums,
                         node.Emit(OpKind::kQuantizedConv, inputs, Attributes(attributes)));
  const Shape x = node.ShapeOf(inputs[GemmInput::kX]);
  const Shape w = node.ShapeOf(inputs[GemmInput::kWeights]);
  const auto& conv = attributes.conv;
  const bool padded = IsPadded(conv);
  // Of weights that always lie on the image one place is as good as any.
  Shape ones = x;
  ones[0] = 1;
  for (int i = 0; i < 2 && !padded; ++i) ones[2 + i] = (w[2 + i] - 1) * conv.dilations[i] + 1;
  TENON_ASSIGN_OR_RETURN(
      inputs[GemmInput::kX],
      node.Constant("ones", node.DTypeOf(inputs[GemmInput::kX]), ones,
                    std::vector<double>(static_cast<size_t>(ones.Elements()), 1.0)));
  TENON_ASSIGN_OR_RETURN(const TensorId weights,
                         node.Emit(OpKind::kQuantizedConv, inputs, Attributes(attributes)));
  TENON_RETURN_IF_ERROR(node.RequireConstant(weights));
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Cast(zero_point, DType::kI32));
  TENON_ASSIGN_OR_RETURN(const TensorId shift, node.Binary(BinaryFunction::kMul, weights, zero));
  return node.Binary(BinaryFunction::kSub, sums, shift);
}

bool IsKnown(Lowering& node, TensorId id) {
  return id == kNone || node.graph().tensor(id).IsConstant();
}

/// True if SumsLessZeroPoint is for this convolution.
bool HasZeroPointOfRunTime(Lowering& node, const GemmInputs& inputs, const ConvAttributes& conv) {
  // With padding the sums of weights are as large as an image of results, which is at most this.
  constexpr int64_t kMostSums = 1 << 22;
  const Shape x = node.ShapeOf(inputs[GemmInput::kX]);
  const Shape w = node.ShapeOf(inputs[GemmInput::kWeights]);
  return !IsKnown(node, inputs[QuantizedGemmInput::kXZeroPoint]) &&
         IsKnown(node, inputs[GemmInput::kWeights]) &&
         IsKnown(node, inputs[QuantizedGemmInput::kWeightsZeroPoint]) && x.Elements() > 0 &&
         (!IsPadded(conv) || int64_t{x[2]} * x[3] * w[0] <= kMostSums);
}

// The sum itself, which no scale is needed for; zero points may be known at run time only.
Status LowerConvInteger(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  QuantizedConvAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.conv, ReadConv(node, x, w));
  attributes.output.to = static_cast<int32_t>(DType::kI32);
  std::vector<TensorId> inputs(QuantizedGemmInput::kWeightsZeroPoint + 1, kNone);
  TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kX], WithHeight(node, x));
  TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kWeights], WithHeight(node, w));
  TENON_ASSIGN_OR_RETURN(inputs[QuantizedGemmInput::kXZeroPoint], ZeroPoint(node, 2, true));
  TENON_ASSIGN_OR_RETURN(inputs[QuantizedGemmInput::kWeightsZeroPoint], ZeroPoint(node, 3, false));
  const bool one_dimensional = node.ShapeOf(x).rank == 3;
  if (!HasZeroPointOfRunTime(node, inputs, attributes.conv)) {
    return EmitWindowed(node, OpKind::kQuantizedConv, inputs, Attributes(attributes),
                        one_dimensional)
        .status();
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y, SumsLessZeroPoint(node, inputs, attributes));
  const Shape shape = node.ShapeOf(y);
  if (!one_dimensional) {
    node.Alias(0, y);
    return {};
  }
  return node.Reshape(y, {shape[0], shape[1], shape[3]}, 0).status();
}

Status LowerMatMulInteger(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId b, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId a_zero_point, ZeroPoint(node, 2, true));
  TENON_ASSIGN_OR_RETURN(const TensorId b_zero_point, ZeroPoint(node, 3, false));
  return IntegerSums(node, a, a_zero_point, {b, kNone, b_zero_point}, 0).status();
}

// Y = alpha A' B' + C; the units of C are alpha times the scales of A and B. Float without a scale
// of Y.
Status LowerQGemm(Lowering& node) {
  MatMulAttributes attributes;
  attributes.transpose_a = node.Flag("transA", false) ? 1 : 0;
  attributes.transpose_b = node.Flag("transB", false) ? 1 : 0;
  const double alpha = node.Float("alpha", 1.0F);
  TENON_ASSIGN_OR_RETURN(const TensorId b, node.Input(3));
  TENON_ASSIGN_OR_RETURN(const OperandParameters of_a, ReadParameters(node, {0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(OperandParameters of_b, ReadParameters(node, {3, 4, 5}));
  if (alpha != 1.0) {
    TENON_ASSIGN_OR_RETURN(std::vector<double> scales, node.ConstantDoubles(of_b.scale));
    for (double& scale : scales) scale *= alpha;
    TENON_ASSIGN_OR_RETURN(of_b.scale,
                           node.Constant("scaled", DType::kF32, node.ShapeOf(of_b.scale), scales));
  }
  std::vector<TensorId> inputs(2);
  TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kX], DequantizedInput(node, {0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(
      inputs[GemmInput::kWeights],
      Dequantized(node, b, of_b.scale, of_b.zero_point, attributes.transpose_b != 0 ? 0 : 1));
  if (node.HasInput(6)) {
    TENON_ASSIGN_OR_RETURN(TensorId bias, node.Input(6));
    TENON_ASSIGN_OR_RETURN(bias, DequantizedBias(node, bias, of_a.scale, of_b.scale));
    inputs.push_back(bias);
  }
  if (!node.HasInput(7)) {
    return node.Emit(OpKind::kMatMul, inputs, Attributes(attributes), 0).status();
  }
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kMatMul, inputs, Attributes(attributes)));
  return QuantizeOutput(node, y, {kNone, 7, 8});
}

/// `y` plus input `bias` (f32; may be absent), as the first output.
Status AddBias(Lowering& node, TensorId y, int bias) {
  if (!node.HasInput(bias)) {
    node.Alias(0, y);
    return {};
  }
  TENON_ASSIGN_OR_RETURN(const TensorId addend, node.Input(bias));
  return node.Binary(BinaryFunction::kAdd, y, addend, 0).status();
}

// Scales may be computed: those of A, as a rule, come from a DynamicQuantizeLinear.
Status LowerMatMulIntegerToFloat(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(TensorId b, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId a_scale, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const TensorId b_scale, node.Input(3));
  TENON_ASSIGN_OR_RETURN(const TensorId a_zero_point, ZeroPoint(node, 4, true));
  TENON_ASSIGN_OR_RETURN(const TensorId b_zero_point, ZeroPoint(node, 5, false));
  const bool computed = !node.graph().tensor(a_scale).IsConstant();
  if (computed && node.ShapeOf(a_scale).Elements() == 1) {
    TENON_ASSIGN_OR_RETURN(const TensorId y, ScaledProduct(node, {a, a_scale, a_zero_point},
                                                           {b, b_scale, b_zero_point}));
    return AddBias(node, y, 6);
  }
  TENON_ASSIGN_OR_RETURN(a, Dequantized(node, a, a_scale, a_zero_point, 0));
  TENON_ASSIGN_OR_RETURN(b, Dequantized(node, b, b_scale, b_zero_point, ColumnAxis(node, b)));
  return EmitMatMulWithBias(node, a, b, 6);
}

Status LowerDynamicQuantizeMatMul(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId a, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId b, node.Input(1));
  TENON_ASSIGN_OR_RETURN(const TensorId b_scale, node.Input(2));
  TENON_ASSIGN_OR_RETURN(const TensorId b_zero_point, ZeroPoint(node, 3, false));
  TENON_ASSIGN_OR_RETURN(const TensorId y, DynamicProduct(node, a, {b, b_scale, b_zero_point}));
  return AddBias(node, y, 4);
}

constexpr LoweringRow kQuantizedGemmRows[] = {
    {"ConvInteger", LowerConvInteger},
    {"MatMulInteger", LowerMatMulInteger},
    {"QLinearConv", LowerQLinearConv},
    {"QLinearMatMul", LowerQLinearMatMul},
    {"DynamicQuantizeMatMul", LowerDynamicQuantizeMatMul, "com.microsoft"},
    {"MatMulIntegerToFloat", LowerMatMulIntegerToFloat, "com.microsoft"},
    {"QGemm", LowerQGemm, "com.microsoft"},
    {"QLinearConv", LowerQLinearConv, "com.microsoft", "channels_last 0"},
};

}  // namespace

constexpr Span<const LoweringRow> kQuantizedGemmLowerings = kQuantizedGemmRows;

}  // namespace tenon::converter
