// ADD, SUB, MUL, MAXIMUM, MINIMUM and PRELU of integers, with the arithmetic of TFLite's reference
// kernels.
#include <algorithm>

#include "converter/import/tflite/ops/quantized.hpp"
#include "runtime/ops/requantize.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;
using format::ActivationFunctionType;

/// Bits that sums of two scales are widened by before they are scaled.
constexpr int32_t kSumShift = 20;

Status ArithmeticInFloats(Node& node, Status (*lower)(Node&)) {
  node.ComputeInFloats();
  return lower(node);
}

Result<QuantizedBinaryAttributes> Start(const Node& node, ActivationFunctionType activation) {
  QuantizedBinaryAttributes attributes;
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.InputQuantization(1));
  attributes.x_zero_point = x.zero_point();
  attributes.y_zero_point = y.zero_point();
  TENON_ASSIGN_OR_RETURN(attributes.output, OutputBounds(node, activation));
  return attributes;
}

Status EmitBinary(Node& node, const QuantizedBinaryAttributes& attributes) {
  TENON_ASSIGN_OR_RETURN(const Operands x, node.Aligned({0, 1}));
  TENON_ASSIGN_OR_RETURN(const TensorId z,
                         node.Emit(OpKind::kQuantizedBinary, x.ids, Attributes(attributes)));
  return node.SetOutput(0, z, x.order);
}

}  // namespace

// Both operands on twice the larger scale, with 20 more bits.
Status LowerQuantizedSum(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0, 1}));
  if (!scaled) return ArithmeticInFloats(node, LowerBinary);
  const auto* add = node.stored().builtin_options_as_AddOptions();
  const auto* sub = node.stored().builtin_options_as_SubOptions();
  const ActivationFunctionType activation = add != nullptr   ? add->fused_activation_function()
                                            : sub != nullptr ? sub->fused_activation_function()
                                                             : ActivationFunctionType::NONE;
  TENON_ASSIGN_OR_RETURN(QuantizedBinaryAttributes attributes, Start(node, activation));
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.InputQuantization(1));
  TENON_ASSIGN_OR_RETURN(const Quantization z, node.OutputQuantization(0));
  const double twice = 2.0 * double{std::max(x.scale(), y.scale())};
  const double output = twice / ((1 << kSumShift) * double{z.scale()});
  attributes.function = node.op() == Op::ADD ? BinaryFunction::kAdd : BinaryFunction::kSub;
  attributes.left_shift = kSumShift;
  TENON_ASSIGN_OR_RETURN(attributes.x_scale, ScaleOf(QuantizeMultiplier(x.scale() / twice)));
  TENON_ASSIGN_OR_RETURN(attributes.y_scale, ScaleOf(QuantizeMultiplier(y.scale() / twice)));
  TENON_ASSIGN_OR_RETURN(attributes.output_scale, ScaleOf(QuantizeMultiplier(output)));
  return EmitBinary(node, attributes);
}

Status LowerQuantizedMul(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0, 1}));
  if (!scaled) return ArithmeticInFloats(node, LowerBinary);
  const auto* mul = node.stored().builtin_options_as_MulOptions();
  TENON_ASSIGN_OR_RETURN(QuantizedBinaryAttributes attributes,
                         Start(node, mul == nullptr ? ActivationFunctionType::NONE
                                                    : mul->fused_activation_function()));
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.InputQuantization(1));
  TENON_ASSIGN_OR_RETURN(const Quantization z, node.OutputQuantization(0));
  const float factor = x.scale() * y.scale() / z.scale();  // in floats, as TFLite does
  attributes.function = BinaryFunction::kMul;
  TENON_ASSIGN_OR_RETURN(attributes.output_scale, ScaleOf(QuantizeMultiplier(double{factor})));
  return EmitBinary(node, attributes);
}

// Integers of one scale compare as what they stand for.
Status LowerQuantizedExtremum(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool same, SameQuantization(node, {0, 1}));
  return same ? LowerBinary(node) : ArithmeticInFloats(node, LowerBinary);
}

// x >= 0: x on the output's scale; else x times its slope. Slopes of one value make a table.
Status LowerQuantizedPrelu(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0, 1}));
  if (!scaled || !node.IsConstant(1)) return ArithmeticInFloats(node, LowerBinary);
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization slope, node.InputQuantization(1));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.OutputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  const float factor = x.scale() / y.scale();
  const float slope_factor = x.scale() * slope.scale() / y.scale();
  TENON_ASSIGN_OR_RETURN(const QuantizedScale positive,
                         ScaleOf(QuantizeMultiplier(double{factor})));
  TENON_ASSIGN_OR_RETURN(const QuantizedScale negative,
                         ScaleOf(QuantizeMultiplier(double{slope_factor})));
  TENON_ASSIGN_OR_RETURN(const Operands operands, node.Aligned({0, 1}));
  TENON_ASSIGN_OR_RETURN(const std::vector<double> slopes, node.Doubles(1));
  const bool one_slope = slopes.size() == 1;
  const auto slope_value = one_slope ? static_cast<int32_t>(slopes[0]) - slope.zero_point() : 0;
  TENON_ASSIGN_OR_RETURN(
      const TensorId table, Lookup(node, operands.ids[0], to, [&](int32_t value) {
        const int32_t difference = value - x.zero_point();
        return difference >= 0 ? Rescale(difference, positive, y.zero_point())
                               : Rescale(difference * slope_value, negative, y.zero_point());
      }));
  if (one_slope) return node.SetOutput(0, table, operands.order);

  TENON_ASSIGN_OR_RETURN(QuantizedBinaryAttributes product,
                         Start(node, ActivationFunctionType::NONE));
  product.function = BinaryFunction::kMul;
  product.output_scale = negative;
  TENON_ASSIGN_OR_RETURN(const TensorId times_slope,
                         node.Emit(OpKind::kQuantizedBinary, operands.ids, Attributes(product)));
  const TensorId zero = node.Scalar("zero", node.DTypeOf(operands.ids[0]), x.zero_point());
  TENON_ASSIGN_OR_RETURN(const TensorId below,
                         node.Binary(BinaryFunction::kLess, operands.ids[0], zero));
  TENON_ASSIGN_OR_RETURN(const TensorId result,
                         node.Emit(OpKind::kSelect, {below, times_slope, table}, Attributes()));
  return node.SetOutput(0, result, operands.order);
}

}  // namespace tenon::converter::tflite
