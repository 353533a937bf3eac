// MEAN, SUM, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD, REDUCE_ANY, REDUCE_ALL and CUMSUM.
#include "converter/import/tflite/ops/quantized.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using Op = format::BuiltinOperator;

struct ReduceNode {
  TensorId x = kNone;
  Order order = Order::kModel;
  int32_t axes_mask = 0;
  int64_t count = 1;  ///< elements that become one
  bool keep_dims = false;
  std::vector<int64_t> dims;  ///< of the result, in the model's order
};

Result<ReduceNode> ReadReduce(Node& node) {
  ReduceNode reduce;
  if (const auto* options = node.stored().builtin_options_as_ReducerOptions()) {
    reduce.keep_dims = options->keep_dims();
  }
  reduce.order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(reduce.x, node.Input(0, reduce.order));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(1));
  const Shape shape = node.ShapeOf(reduce.x);
  int32_t model_mask = 0;
  for (const int64_t value : axes) {
    TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(value, shape.rank));
    model_mask |= 1 << axis;
    reduce.axes_mask |= 1 << AxisIn(reduce.order, axis);
  }
  for (int32_t axis = 0; axis < shape.rank; ++axis) {
    const int32_t dim = shape[AxisIn(reduce.order, axis)];
    if ((model_mask >> axis & 1) == 0) {
      reduce.dims.push_back(dim);
    } else {
      reduce.count *= dim;
      if (reduce.keep_dims) reduce.dims.push_back(1);
    }
  }
  return reduce;
}

/// Sets the node's output to y, the reduction with all dims kept.
Status Finish(Node& node, const ReduceNode& reduce, TensorId y) {
  if (reduce.keep_dims) return node.SetOutput(0, y, reduce.order);
  if (reduce.order == Order::kChannelsFirst) {
    TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 2, 3, 1}));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Reshape(y, reduce.dims));
  return node.SetOutput(0, y);
}

Result<ReduceFunction> FunctionOf(Op op) {
  switch (op) {
    case Op::MEAN:
      return ReduceFunction::kMean;
    case Op::SUM:
      return ReduceFunction::kSum;
    case Op::REDUCE_MAX:
      return ReduceFunction::kMax;
    case Op::REDUCE_MIN:
      return ReduceFunction::kMin;
    case Op::REDUCE_PROD:
      return ReduceFunction::kProd;
    default:
      return InternalError("it is in no table of reductions");
  }
}

}  // namespace

Status LowerReduce(Node& node) {
  TENON_ASSIGN_OR_RETURN(const ReduceNode reduce, ReadReduce(node));
  TENON_ASSIGN_OR_RETURN(const ReduceFunction function, FunctionOf(node.op()));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Reduce(function, reduce.x, reduce.axes_mask, /*keep_dims=*/true));
  return Finish(node, reduce, y);
}

// Whether any, or every, element is true: the largest, or smallest, of ones and zeros.
Status LowerReduceBools(Node& node) {
  TENON_ASSIGN_OR_RETURN(const ReduceNode reduce, ReadReduce(node));
  const bool any = node.op() == Op::REDUCE_ANY;
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Cast(reduce.x, DType::kI32));
  TENON_ASSIGN_OR_RETURN(y, node.Reduce(any ? ReduceFunction::kMax : ReduceFunction::kMin, y,
                                        reduce.axes_mask, /*keep_dims=*/true));
  TENON_ASSIGN_OR_RETURN(y, node.Cast(y, DType::kBool));
  return Finish(node, reduce, y);
}

Status LowerQuantizedSumOrMean(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {0}));
  if (!scaled) {
    node.ComputeInFloats();
    return LowerReduce(node);
  }
  TENON_ASSIGN_OR_RETURN(const ReduceNode reduce, ReadReduce(node));
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(0));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.OutputQuantization(0));
  FixedPoint factor = QuantizeMultiplier(double{x.scale()} / double{y.scale()});
  if (node.op() == Op::MEAN && reduce.count > 0) factor = DividedBy(factor, reduce.count);
  QuantizedReduceAttributes attributes;
  attributes.reduce.axes_mask = reduce.axes_mask;
  attributes.x_zero_point = x.zero_point();
  TENON_ASSIGN_OR_RETURN(attributes.scale, ScaleOf(factor));
  TENON_ASSIGN_OR_RETURN(attributes.output,
                         OutputBounds(node, format::ActivationFunctionType::NONE));
  TENON_ASSIGN_OR_RETURN(const TensorId result,
                         node.Emit(OpKind::kQuantizedReduce, {reduce.x}, Attributes(attributes)));
  return Finish(node, reduce, result);
}

Status LowerCumSum(Node& node) {
  const auto* options = node.stored().builtin_options_as_CumsumOptions();
  const Order order = node.OrderOf(0);
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0, order));
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> axes, node.Ints(1));
  if (axes.size() != 1) return InputError("its axis is no scalar");
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(axes.front(), node.ShapeOf(x).rank));
  CumSumAttributes attributes;
  attributes.axis = AxisIn(order, axis);
  attributes.exclusive = options != nullptr && options->exclusive() ? 1 : 0;
  attributes.reverse = options != nullptr && options->reverse() ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(const TensorId y, node.Emit(OpKind::kCumSum, {x}, Attributes(attributes)));
  return node.SetOutput(0, y, order);
}

}  // namespace tenon::converter::tflite
