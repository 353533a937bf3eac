#include "converter/import/tflite/ops/wide_integers.hpp"

#include <cstdint>

namespace tenon::converter::tflite {
namespace {

Shape OneElement() {
  Shape shape;
  shape.rank = 1;
  shape.dims[0] = 1;
  return shape;
}

}  // namespace

QuantizedScale PowerOfTwo(int32_t exponent) {
  QuantizedScale scale;
  scale.multiplier = INT32_MAX;  // so near to 1 that nothing below 2^30 is rounded by it
  scale.shift = -exponent;
  return scale;
}

Result<QuantizedScale> FactorOf(float factor) {
  return ScaleOf(QuantizeMultiplier(double{factor}));
}

QuantizedOutput Words(int32_t most) {
  QuantizedOutput output;
  output.to = static_cast<int32_t>(DType::kI16);
  output.rounding = Rounding::kFixedPoint;
  output.min = -most;
  output.max = most;
  return output;
}

QuantizedOutput Words() {
  QuantizedOutput output = Words(INT16_MAX);
  output.min = INT16_MIN;
  return output;
}

Result<TensorId> IntegerSums(Node& node, TensorId x, int32_t zero_point, TensorId weights,
                             TensorId bias) {
  QuantizedMatMulAttributes attributes;
  attributes.matmul.transpose_b = 1;
  attributes.output.to = static_cast<int32_t>(DType::kI32);
  std::vector<TensorId> inputs = {x, weights, bias, kNone, kNone, kNone};
  if (zero_point != 0) {
    inputs[QuantizedGemmInput::kXZeroPoint] =
        node.Constant("input_zero_point", node.DTypeOf(x), OneElement(), {double(zero_point)});
  }
  while (inputs.back() == kNone) inputs.pop_back();
  return node.Emit(OpKind::kQuantizedMatMul, inputs, Attributes(attributes));
}

Result<TensorId> Rescaled(Node& node, TensorId x, const QuantizedScale& factor,
                          const QuantizedOutput& output) {
  const TensorId nothing = node.Constant("nothing", DType::kI16, OneElement(), {0.0});
  return ScaledPlus(node, x, factor, nothing, output);
}

Result<TensorId> ScaledPlus(Node& node, TensorId x, const QuantizedScale& factor, TensorId y,
                            const QuantizedOutput& output) {
  QuantizedBinaryAttributes attributes;
  attributes.function = BinaryFunction::kAdd;
  attributes.x_scale = factor;
  attributes.y_scale = PowerOfTwo(0);
  attributes.output_scale = PowerOfTwo(0);
  attributes.output = output;
  return node.Emit(OpKind::kQuantizedBinary, {x, y}, Attributes(attributes));
}

Result<TensorId> ScaledProduct(Node& node, TensorId x, TensorId y, const QuantizedScale& factor,
                               const QuantizedOutput& output) {
  QuantizedBinaryAttributes attributes;
  attributes.function = BinaryFunction::kMul;
  attributes.x_scale = PowerOfTwo(0);
  attributes.y_scale = PowerOfTwo(0);
  attributes.output_scale = factor;
  attributes.output = output;
  return node.Emit(OpKind::kQuantizedBinary, {x, y}, Attributes(attributes));
}

}  // namespace tenon::converter::tflite
