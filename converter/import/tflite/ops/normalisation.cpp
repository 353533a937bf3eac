// SOFTMAX, LOG_SOFTMAX, L2_NORMALIZATION and LOCAL_RESPONSE_NORMALIZATION, along the last
// dimension.
#include "converter/import/tflite/ops/quantized.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

/// The last dimension of an input, which stands in `order`.
Result<int32_t> LastAxis(Node& node, TensorId x, Order order) {
  const int32_t rank = node.ShapeOf(x).rank;
  if (rank < 1) return InputError("its input is a scalar");
  return AxisIn(order, rank - 1);
}

/// What the exponents of SOFTMAX are multiplied by.
Result<float> Beta(const Node& node) {
  if (node.op() == format::BuiltinOperator::LOG_SOFTMAX) return 1.0F;
  const auto* options = node.stored().builtin_options_as_SoftmaxOptions();
  if (options == nullptr) return InputError("its options are missing");
  return options->beta();
}

}  // namespace

Status LowerSoftmax(Node& node) {
  const bool log = node.op() == format::BuiltinOperator::LOG_SOFTMAX;
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const float beta, Beta(node));
  if (beta != 1.0F) {
    const TensorId factor = node.Scalar("beta", node.DTypeOf(x), beta);
    TENON_ASSIGN_OR_RETURN(x, node.Binary(BinaryFunction::kMul, x, factor));
  }
  SoftmaxAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis, LastAxis(node, x, order));
  attributes.log = log ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSoftmax, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, order);
}

Status LowerQuantizedSoftmax(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.OutputQuantization(0));
  // The integer form has this scale of its output built in; TFLite takes no other.
  if (!scaled || y.scale() != 1.0F / 256.0F) {
    node.ComputeInFloats();
    return LowerSoftmax(node);
  }
  TENON_ASSIGN_OR_RETURN(const Quantization x_numbers, node.InputQuantization(0));
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const float beta, Beta(node));
  const SoftmaxScaling scaling = ScaleSoftmax(double{beta}, double{x_numbers.scale()});
  QuantizedSoftmaxAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.softmax.axis, LastAxis(node, x, order));
  TENON_ASSIGN_OR_RETURN(attributes.scale, ScaleOf(scaling.factor));
  attributes.least_difference = scaling.least_difference;
  TENON_ASSIGN_OR_RETURN(attributes.output,
                         OutputBounds(node, format::ActivationFunctionType::NONE));
  TENON_ASSIGN_OR_RETURN(const TensorId result,
                         node.Emit(OpKind::kQuantizedSoftmax, {x}, Attributes(attributes)));
  return node.SetOutput(0, result, order);
}

Status LowerL2Normalization(Node& node) {
  constexpr double kLeastNorm = 1.0e-6;  // what TFLite divides by at least
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const int32_t axis, LastAxis(node, x, order));
  TENON_ASSIGN_OR_RETURN(TensorId norm, node.Reduce(ReduceFunction::kL2, x, 1 << axis, true));
  const TensorId least = node.Scalar("least", node.DTypeOf(x), kLeastNorm);
  TENON_ASSIGN_OR_RETURN(norm, node.Binary(BinaryFunction::kMax, norm, least));
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Binary(BinaryFunction::kDiv, x, norm));
  if (const auto* options = node.stored().builtin_options_as_L2NormOptions()) {
    TENON_ASSIGN_OR_RETURN(y, node.Activate(y, options->fused_activation_function()));
  }
  return node.SetOutput(0, y, order);
}

// TFLite multiplies the sum of squares by alpha, our op (ONNX's) by alpha over the number of terms.
Status LowerLocalResponse(Node& node) {
  const auto* options = node.stored().builtin_options_as_LocalResponseNormalizationOptions();
  constexpr int32_t kMostRadius = 1 << 20;
  if (options == nullptr || options->radius() < 0 || options->radius() > kMostRadius) {
    return InputError("its radius is missing or out of range");
  }
  TENON_ASSIGN_OR_RETURN(TensorId x, node.Input(0));
  if (node.ShapeOf(x).rank != 4) return InputError("its input must have 4 dimensions");
  TENON_ASSIGN_OR_RETURN(x, node.Input(0, Order::kChannelsFirst));
  LrnAttributes attributes;
  attributes.size = 2 * options->radius() + 1;
  attributes.alpha = options->alpha() * static_cast<float>(attributes.size);
  attributes.beta = options->beta();
  attributes.bias = options->bias();
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kLrn, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
