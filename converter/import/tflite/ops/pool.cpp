// MAX_POOL_2D and AVERAGE_POOL_2D. Padding counts in neither.
#include "converter/import/tflite/ops/quantized.hpp"
#include "converter/import/tflite/ops/window.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

struct PoolNode {
  TensorId x = kNone;
  PoolAttributes attributes;
  format::ActivationFunctionType activation;
};

Result<PoolNode> ReadPool(Node& node) {
  const auto* options = node.stored().builtin_options_as_Pool2DOptions();
  if (options == nullptr) return InputError("its options are missing");
  PoolNode pool;
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(0, node.OrderOf(0)));
  if (node.ShapeOf(image).rank != 4) {
    return InputError("its input has {} dimensions, not 4", node.ShapeOf(image).rank);
  }
  TENON_ASSIGN_OR_RETURN(pool.x, node.Input(0, Order::kChannelsFirst));
  pool.activation = options->fused_activation_function();
  PoolAttributes& attributes = pool.attributes;
  attributes.kernel[0] = options->filter_height();
  attributes.kernel[1] = options->filter_width();
  attributes.strides[0] = options->stride_h();
  attributes.strides[1] = options->stride_w();
  const Shape x = node.ShapeOf(pool.x);
  TENON_RETURN_IF_ERROR(SetPads(options->padding(), attributes.kernel, attributes.strides,
                                attributes.dilations, x[2], x[3], attributes.pads));
  return pool;
}

bool IsAverage(const Node& node) { return node.op() == format::BuiltinOperator::AVERAGE_POOL_2D; }

Status LowerFloats(Node& node, const PoolNode& pool) {
  const OpKind kind = IsAverage(node) ? OpKind::kAveragePool : OpKind::kMaxPool;
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(kind, {pool.x}, Attributes(pool.attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, pool.activation));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

/// Of 16 bits: in floats, with the input on the output's scale, so that its own does not count.
Status LowerWords(Node& node, const Quantization& quantization) {
  TENON_ASSIGN_OR_RETURN(PoolNode pool, ReadPool(node));
  TENON_ASSIGN_OR_RETURN(pool.x, node.Dequantize(pool.x, quantization));
  node.ComputeInFloats();
  return LowerFloats(node, pool);
}

}  // namespace

Status LowerPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(const PoolNode pool, ReadPool(node));
  return LowerFloats(node, pool);
}

// TFLite takes averages and maxima of the integers as they are, whatever the scales say.
Status LowerQuantizedPool(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  TENON_ASSIGN_OR_RETURN(const DType from, node.InputDType(0));
  TENON_ASSIGN_OR_RETURN(const DType to, node.OutputDType(0));
  TENON_ASSIGN_OR_RETURN(const Quantization y_numbers, node.OutputQuantization(0));
  if (from == DType::kI16 && to == from && y_numbers.IsPerTensor()) {
    return LowerWords(node, y_numbers);
  }
  if (!scaled || from != to) {
    node.ComputeInFloats();
    return LowerPool(node);
  }
  TENON_ASSIGN_OR_RETURN(const PoolNode pool, ReadPool(node));
  TENON_ASSIGN_OR_RETURN(const QuantizedOutput bounds, OutputBounds(node, pool.activation));
  TensorId y = kNone;
  if (IsAverage(node)) {
    QuantizedAveragePoolAttributes attributes;
    attributes.pool = pool.attributes;
    attributes.output = bounds;
    attributes.output.rounding = Rounding::kHalfAway;
    attributes.output.zero_point = 0;
    TENON_ASSIGN_OR_RETURN(
        y, node.Emit(OpKind::kQuantizedAveragePool, {pool.x}, Attributes(attributes)));
  } else {
    TENON_ASSIGN_OR_RETURN(y, node.Emit(OpKind::kMaxPool, {pool.x}, Attributes(pool.attributes)));
    TENON_ASSIGN_OR_RETURN(y, Clamp(node, y, bounds));
  }
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
