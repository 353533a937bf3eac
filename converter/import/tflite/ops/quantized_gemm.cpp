// CONV_2D, DEPTHWISE_CONV_2D, FULLY_CONNECTED and BATCH_MATMUL of integers.
#include <algorithm>
#include <cmath>

#include "converter/import/tflite/ops/ops.hpp"
#include "converter/import/tflite/ops/quantized.hpp"
#include "converter/import/tflite/ops/window.hpp"
#include "converter/ir/elements.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

Shape VectorShape(size_t count) {
  Shape shape;
  shape.rank = 1;
  shape.dims[0] = static_cast<int32_t>(count);
  return shape;
}

/// Weights whose first dimension are the outputs, and their zero points if they need any.
struct Weights {
  TensorId w = kNone;
  TensorId zero_point = kNone;
};

/// Constant weights become i8 with zero point 0 wherever their differences to it fit: kernels are
/// fastest on those.
Weights MakeSymmetric(Node& node, TensorId w, const Quantization& quantization) {
  const std::vector<int32_t>& zero_points = quantization.zero_points;
  const bool zero =
      std::all_of(zero_points.begin(), zero_points.end(), [](int32_t value) { return value == 0; });
  if (zero && node.DTypeOf(w) == DType::kI8) return {w, kNone};
  const Tensor tensor = node.graph().tensor(w);
  if (tensor.IsConstant()) {
    std::vector<double> values = ReadElements(tensor);
    const size_t each = values.size() / zero_points.size();
    for (size_t i = 0; i < values.size(); ++i) values[i] -= zero_points[i / each];
    if (std::all_of(values.begin(), values.end(),
                    [](double value) { return value >= -128.0 && value <= 127.0; })) {
      return {node.Constant("weights", DType::kI8, tensor.shape, values), kNone};
    }
  }
  if (zero) return {w, kNone};
  return {w, node.Constant("weights_zero_point", tensor.dtype, VectorShape(zero_points.size()),
                           {zero_points.begin(), zero_points.end()})};
}

/// From sums to outputs. Where there is one scale for all, TFLite's GEMM kernels multiply the
/// scales in floats; convolutions of i8 take the way of one scale a channel, in doubles.
std::vector<double> FactorsOf(const Quantization& x, const Quantization& w, const Quantization& y,
                              bool in_floats) {
  if (in_floats && w.IsPerTensor()) {
    const float product = x.scale() * w.scale();
    return {double{product} / double{y.scale()}};
  }
  std::vector<double> factors;
  for (const float scale : w.scales) {
    factors.push_back(double{x.scale()} * double{scale} / double{y.scale()});
  }
  return factors;
}

/// TFLite refuses a bias on another scale than the sums, if this is one scale for all, and so tells
/// a model that is not what it was meant to be. A fiftieth of an output's step may be missing.
Status CheckBiasScale(const Node& node, const Quantization& x, const Quantization& w,
                      const Quantization& y) {
  TENON_ASSIGN_OR_RETURN(const Quantization bias, node.InputQuantization(2));
  if (!w.IsPerTensor() || !bias.IsPerTensor()) return {};
  const double sums = double{x.scale()} * double{w.scale()};
  if (std::fabs(sums - double{bias.scale()}) <= 0.02 * double{y.scale()}) return {};
  return InputError("its bias is on a scale of {}, but its input and weights on one of {}",
                    bias.scale(), static_cast<float>(sums));
}

/// Inputs of a quantized GEMM: operands, bias, factors, zero points.
Result<std::vector<TensorId>> GemmInputs(Node& node, TensorId x, TensorId w, bool in_floats) {
  TENON_ASSIGN_OR_RETURN(const Quantization x_numbers, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization w_numbers, node.InputQuantization(1));
  TENON_ASSIGN_OR_RETURN(const Quantization y_numbers, node.OutputQuantization(0));
  const Weights weights = MakeSymmetric(node, w, w_numbers);
  std::vector<TensorId> inputs = {x, weights.w, kNone};
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(inputs[GemmInput::kBias], node.Input(2));
    if (node.DTypeOf(inputs[GemmInput::kBias]) != DType::kI32) {
      return InputError("its bias is {}, not i32",
                        DTypeName(node.DTypeOf(inputs[GemmInput::kBias])));
    }
    TENON_RETURN_IF_ERROR(CheckBiasScale(node, x_numbers, w_numbers, y_numbers));
  }
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> factors,
                         Factors(node, FactorsOf(x_numbers, w_numbers, y_numbers, in_floats)));
  inputs.insert(inputs.end(), factors.begin(), factors.end());
  if (x_numbers.zero_point() != 0 || weights.zero_point != kNone) {
    inputs.push_back(node.Constant("input_zero_point", node.DTypeOf(x), VectorShape(1),
                                   {double(x_numbers.zero_point())}));
  }
  if (weights.zero_point != kNone) inputs.push_back(weights.zero_point);
  return inputs;
}

/// True if operands and result are 8-bit integers, the weights possibly with a scale a channel.
Result<bool> AreIntegers(const Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(1));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.InputDType(1));
  return scaled && !w.IsNone() && (dtype == DType::kI8 || dtype == DType::kU8);
}

Status GemmInFloats(Node& node, Status (*lower)(Node&)) {
  node.ComputeInFloats();
  return lower(node);
}

}  // namespace

Result<std::vector<TensorId>> Factors(Node& node, const std::vector<double>& factors) {
  std::vector<double> multipliers;
  std::vector<double> shifts;
  for (const double factor : factors) {
    TENON_ASSIGN_OR_RETURN(const QuantizedScale scale, ScaleOf(QuantizeMultiplier(factor)));
    multipliers.push_back(scale.multiplier);
    shifts.push_back(scale.shift);
  }
  const Shape shape = VectorShape(factors.size());
  return std::vector<TensorId>{node.Constant("multiplier", DType::kI32, shape, multipliers),
                               node.Constant("shift", DType::kI8, shape, shifts)};
}

// Where only the weights are integers, they are made real: what TFLite computes with then depends
// on the range of each input.
Status LowerQuantizedConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool integers, AreIntegers(node));
  if (!integers) return GemmInFloats(node, LowerConv);
  TENON_ASSIGN_OR_RETURN(const ConvNode conv, ReadConv(node));
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(1));
  if (!w.IsPerTensor() && w.scales.size() != static_cast<size_t>(node.ShapeOf(conv.w)[0])) {
    return InputError("its weights' scales are not one for each output channel");
  }
  QuantizedConvAttributes attributes;
  attributes.conv = conv.attributes;
  TENON_ASSIGN_OR_RETURN(attributes.output, OutputBounds(node, conv.activation));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs,
                         GemmInputs(node, conv.x, conv.w, node.DTypeOf(conv.x) == DType::kU8));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kQuantizedConv, inputs, Attributes(attributes)));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

Status LowerQuantizedFullyConnected(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool integers, AreIntegers(node));
  if (!integers) return GemmInFloats(node, LowerFullyConnected);
  TENON_ASSIGN_OR_RETURN(const FullyConnectedNode layer, ReadFullyConnected(node));
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(1));
  if (!w.IsPerTensor() && w.axis != 0) {
    return InputError("its weights' scales are not one for each output");
  }
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = 1;
  TENON_ASSIGN_OR_RETURN(attributes.output, OutputBounds(node, layer.activation));
  attributes.output.rounding = Rounding::kFixedPointOnce;  // these kernels alone round so
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs,
                         GemmInputs(node, layer.x, layer.w, /*in_floats=*/true));
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         node.Emit(OpKind::kQuantizedMatMul, inputs, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, layer.dims));
  return node.SetOutput(0, y);
}

Status LowerQuantizedBatchMatMul(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0, 1}));
  if (!scaled) return GemmInFloats(node, LowerBatchMatMul);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  QuantizedMatMulAttributes attributes;
  attributes.matmul = BatchMatMulAttributes(node);
  TENON_ASSIGN_OR_RETURN(attributes.output,
                         OutputBounds(node, format::ActivationFunctionType::NONE));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs,
                         GemmInputs(node, x, w, /*in_floats=*/true));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kQuantizedMatMul, inputs, Attributes(attributes)));
  return node.SetOutput(0, y);
}

}  // namespace tenon::converter::tflite
