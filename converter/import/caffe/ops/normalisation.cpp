// BatchNorm, Scale, Bias, LRN, Normalize, Softmax.
#include <cmath>

#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {
namespace {

// y = (x - mean / f) / sqrt(variance / f + eps); f, the third array, is what the sums of training
// count, and 0 stands for none. In f64, as a factor and a number to add.
Status LowerBatchNorm(Layer& layer) {
  const format::BatchNorm& given = layer.stored().batch_norm_param();
  if (given.has_use_global_stats() && !given.use_global_stats()) {
    return InputError("use_global_stats: false (training) is not supported");
  }
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank < 2) return InputError("its input has {} dimensions, no channels", shape.rank);
  TENON_ASSIGN_OR_RETURN(const std::vector<float> mean, layer.WeightValues(0, shape[1]));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> variance, layer.WeightValues(1, shape[1]));
  TENON_ASSIGN_OR_RETURN(const std::vector<float> count, layer.WeightValues(2, 1));
  const double factor = count[0] == 0 ? 0 : 1 / double{count[0]};
  std::vector<float> scale;
  std::vector<float> shift;
  for (size_t i = 0; i < mean.size(); ++i) {
    const double of_channel =
        1 / std::sqrt(variance[i] * factor + static_cast<double>(given.eps()));
    scale.push_back(static_cast<float>(of_channel));
    shift.push_back(static_cast<float>(-mean[i] * factor * of_channel));
  }
  const Shape along = ShapeAlong(shape, 1);
  TENON_ASSIGN_OR_RETURN(
      TensorId y, layer.Binary(BinaryFunction::kMul, x, layer.Constant("scale", along, scale)));
  TENON_ASSIGN_OR_RETURN(
      y, layer.Binary(BinaryFunction::kAdd, y, layer.Constant("shift", along, shift)));
  return layer.SetTop(0, y);
}

/// The second operand of Scale and Bias: the second input, or array 0 of the weights; with the dims
/// of x from its axis on.
Result<TensorId> AlongAxis(Layer& layer, const format::Scale& given, TensorId x, Shape* along) {
  const Shape shape = layer.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, layer.Axis(given.axis(), shape.rank));
  const bool is_input = layer.BottomCount() > 1;
  int32_t axes = given.num_axes();
  TensorId operand = kNone;
  if (is_input) {
    TENON_ASSIGN_OR_RETURN(operand, layer.Bottom(1));
    axes = layer.ShapeOf(operand).rank;
  }
  if (axes == -1) axes = shape.rank - axis;
  if (axes < 0 || axes > shape.rank - axis) return InputError("it has no {} axes to scale", axes);
  *along = ShapeAlong(shape, axis, axes);
  if (!is_input) return layer.Weights(0, "factors", *along);
  return layer.Reshape(operand, {along->dims, along->dims + along->rank});
}

Status LowerScale(Layer& layer) {
  const format::Scale& given = layer.stored().scale_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  Shape along;
  TENON_ASSIGN_OR_RETURN(const TensorId factor, AlongAxis(layer, given, x, &along));
  TENON_ASSIGN_OR_RETURN(TensorId y, layer.Binary(BinaryFunction::kMul, x, factor));
  if (given.bias_term()) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias,
                           layer.Weights(layer.BottomCount() > 1 ? 0 : 1, "bias", along));
    TENON_ASSIGN_OR_RETURN(y, layer.Binary(BinaryFunction::kAdd, y, bias));
  }
  return layer.SetTop(0, y);
}

Status LowerBias(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  Shape along;
  TENON_ASSIGN_OR_RETURN(const TensorId bias,
                         AlongAxis(layer, layer.stored().bias_param(), x, &along));
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Binary(BinaryFunction::kAdd, x, bias));
  return layer.SetTop(0, y);
}

Status LowerLrn(Layer& layer) {
  const format::Lrn& given = layer.stored().lrn_param();
  if (given.norm_region() != format::Lrn::ACROSS_CHANNELS) {
    return InputError("norm_region WITHIN_CHANNEL is not supported");
  }
  if (given.local_size() > 65536)
    return InputError("local_size {} is out of range", given.local_size());
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  LrnAttributes attributes;
  attributes.size = static_cast<int32_t>(given.local_size());
  attributes.alpha = given.alpha();
  attributes.beta = given.beta();
  attributes.bias = given.k();
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Emit(OpKind::kLrn, {x}, Attributes(attributes)));
  return layer.SetTop(0, y);
}

// y = x / sqrt(sum of squares + eps) * scale, the sum over channels, or over the whole image too.
Status LowerNormalize(Layer& layer) {
  const format::Normalize& given = layer.stored().norm_param();
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank != 4) return InputError("its input has {} dimensions, not 4", shape.rank);
  ReduceAttributes sum;
  sum.function = ReduceFunction::kSumSquare;
  sum.axes_mask = given.across_spatial() ? 14 : 2;
  TENON_ASSIGN_OR_RETURN(TensorId norm, layer.Emit(OpKind::kReduce, {x}, Attributes(sum)));
  TENON_ASSIGN_OR_RETURN(norm, layer.Binary(BinaryFunction::kAdd, norm, given.eps()));
  TENON_ASSIGN_OR_RETURN(norm, layer.Unary(norm, UnaryFunction::kSqrt));
  TENON_ASSIGN_OR_RETURN(TensorId y, layer.Binary(BinaryFunction::kDiv, x, norm));
  TENON_ASSIGN_OR_RETURN(
      const TensorId scale,
      layer.Weights(0, "scale", given.channel_shared() ? Shape() : ShapeAlong(shape, 1)));
  TENON_ASSIGN_OR_RETURN(y, layer.Binary(BinaryFunction::kMul, y, scale));
  return layer.SetTop(0, y);
}

Status LowerSoftmax(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  SoftmaxAttributes attributes;
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         layer.Axis(layer.stored().softmax_param().axis(), layer.ShapeOf(x).rank));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         layer.Emit(OpKind::kSoftmax, {x}, Attributes(attributes)));
  return layer.SetTop(0, y);
}

constexpr LoweringRow kNormalisationLowerings[] = {
    {"BatchNorm", LowerBatchNorm, "statistics as trained"},
    {"Bias", LowerBias},
    {"LRN", LowerLrn, "across channels"},
    {"Normalize", LowerNormalize},
    {"Scale", LowerScale},
    {"Softmax", LowerSoftmax},
};

}  // namespace

constexpr Span<const LoweringRow> kNormalisationRows = kNormalisationLowerings;

}  // namespace tenon::converter::caffe
