// Numbers and integers that stand for them: what a node does around its own op.
#include <limits>

#include "converter/import/tflite/node.hpp"
#include "converter/ir/elements.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// Index along `axis` of element `i` of a row-major tensor.
int32_t IndexAlong(const Shape& shape, int32_t axis, int64_t i) {
  int64_t inner = 1;
  for (int32_t k = axis + 1; k < shape.rank; ++k) inner *= shape[k];
  return static_cast<int32_t>((i / inner) % shape[axis]);
}

std::vector<float> RealValues(const Tensor& constant, const Quantization& quantization) {
  const std::vector<double> stored = ReadElements(constant);
  std::vector<float> values(stored.size());
  for (size_t i = 0; i < stored.size(); ++i) {
    const auto k = quantization.IsPerTensor()
                       ? size_t{0}
                       : static_cast<size_t>(IndexAlong(constant.shape, quantization.axis,
                                                        static_cast<int64_t>(i)));
    // Exact before the product, which is rounded once.
    const double difference = stored[i] - quantization.zero_points[k];
    values[i] = static_cast<float>(difference * quantization.scales[k]);
  }
  return values;
}

Shape VectorShape(size_t count) {
  Shape shape;
  shape.rank = 1;
  shape.dims[0] = static_cast<int32_t>(count);
  return shape;
}

}  // namespace

Result<TensorId> Node::Dequantize(TensorId x, const Quantization& quantization) {
  const Tensor tensor = graph().tensor(x);
  if (tensor.IsConstant()) {
    if (tensor.dtype == DType::kI8) graph().weights = DType::kI8;
    return graph().AddConstantOf(tensor.name + "/real", DType::kF32, tensor.shape,
                                 RealValues(tensor, quantization));
  }
  if (!quantization.IsPerTensor()) {
    return InputError("'{}' is no constant and has a scale for each channel", tensor.name);
  }
  const TensorId scale = Constant("scale", DType::kF32, VectorShape(1), {quantization.scale()});
  const TensorId zero_point =
      Constant("zero_point", tensor.dtype, VectorShape(1), {double(quantization.zero_point())});
  return Emit(OpKind::kDequantize, {x, scale, zero_point}, Attributes(DequantizeAttributes()));
}

Result<TensorId> Node::Quantize(TensorId x, DType to, const Quantization& quantization) {
  if (!quantization.IsPerTensor()) {
    return InputError("its output has a scale for each channel, which is not supported");
  }
  const TensorId scale = Constant("scale", DType::kF32, VectorShape(1), {quantization.scale()});
  const TensorId zero_point =
      Constant("zero_point", to, VectorShape(1), {double(quantization.zero_point())});
  QuantizeAttributes attributes;
  attributes.to = static_cast<int32_t>(to);
  attributes.rounding = Rounding::kHalfAway;
  return Emit(OpKind::kQuantize, {x, scale, zero_point}, Attributes(attributes));
}

Result<TensorId> Node::Activate(TensorId x, format::ActivationFunctionType activation) {
  switch (activation) {
    case format::ActivationFunctionType::NONE:
      return x;
    case format::ActivationFunctionType::RELU:
      return Unary(x, {UnaryFunction::kRelu, 0.0F, 0.0F});
    case format::ActivationFunctionType::RELU_N1_TO_1:
      return Unary(x, {UnaryFunction::kClip, -1.0F, 1.0F});
    case format::ActivationFunctionType::RELU6:
      return Unary(x, {UnaryFunction::kClip, 0.0F, 6.0F});
    case format::ActivationFunctionType::TANH:
      return Unary(x, {UnaryFunction::kTanh, 0.0F, 0.0F});
    default:
      return InputError("fused activation {} is not supported", static_cast<int>(activation));
  }
}

}  // namespace tenon::converter::tflite
