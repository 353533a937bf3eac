// Activations, Eltwise, Power, PReLU.
#include "caffe_subset.pb.h"
#include "converter/import/caffe/lowering_table.hpp"

namespace tenon::converter::caffe {
namespace {

Status LowerUnary(Layer& layer, UnaryFunction function, float a = 0) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Unary(x, function, a));
  return layer.SetTop(0, y);
}

Status LowerAbs(Layer& layer) { return LowerUnary(layer, UnaryFunction::kAbs); }
Status LowerBnll(Layer& layer) { return LowerUnary(layer, UnaryFunction::kSoftplus); }
Status LowerElu(Layer& layer) {
  return LowerUnary(layer, UnaryFunction::kElu, layer.stored().elu_param().alpha());
}
Status LowerSigmoid(Layer& layer) { return LowerUnary(layer, UnaryFunction::kSigmoid); }
Status LowerTanh(Layer& layer) { return LowerUnary(layer, UnaryFunction::kTanh); }

Status LowerRelu(Layer& layer) {
  const float slope = layer.stored().relu_param().negative_slope();
  return slope == 0 ? LowerUnary(layer, UnaryFunction::kRelu)
                    : LowerUnary(layer, UnaryFunction::kLeakyRelu, slope);
}

Status LowerPrelu(Layer& layer) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, layer.Bottom(0));
  const Shape shape = layer.ShapeOf(x);
  if (shape.rank < 2) return InputError("its input has {} dimensions, no channels", shape.rank);
  const bool shared = layer.stored().prelu_param().channel_shared();
  TENON_ASSIGN_OR_RETURN(const TensorId slopes,
                         layer.Weights(0, "slopes", shared ? Shape() : ShapeAlong(shape, 1)));
  TENON_ASSIGN_OR_RETURN(const TensorId y, layer.Binary(BinaryFunction::kPrelu, x, slopes));
  return layer.SetTop(0, y);
}

Status LowerEltwise(Layer& layer) {
  const format::Eltwise& given = layer.stored().eltwise_param();
  const bool is_sum = given.operation() == format::Eltwise::SUM;
  if (layer.BottomCount() < 2) return InputError("it has one input only");
  if (given.coeff_size() > 0 && (!is_sum || given.coeff_size() != layer.BottomCount())) {
    return InputError("{} coefficients for {} inputs, of which a sum takes one each",
                      given.coeff_size(), layer.BottomCount());
  }
  const BinaryFunction function = is_sum ? BinaryFunction::kAdd
                                  : given.operation() == format::Eltwise::PROD
                                      ? BinaryFunction::kMul
                                      : BinaryFunction::kMax;
  TensorId y = kNone;
  for (int i = 0; i < layer.BottomCount(); ++i) {
    TENON_ASSIGN_OR_RETURN(TensorId x, layer.Bottom(i));
    if (y != kNone && !(layer.ShapeOf(x) == layer.ShapeOf(y))) {
      return InputError("its inputs have different shapes");
    }
    if (given.coeff_size() > 0 && given.coeff(i) != 1) {
      TENON_ASSIGN_OR_RETURN(x, layer.Binary(BinaryFunction::kMul, x, given.coeff(i)));
    }
    if (y == kNone) {
      y = x;
      continue;
    }
    TENON_ASSIGN_OR_RETURN(y, layer.Binary(function, y, x));
  }
  return layer.SetTop(0, y);
}

/// (shift + scale * x) ^ power.
Status LowerPower(Layer& layer) {
  const format::Power& given = layer.stored().power_param();
  TENON_ASSIGN_OR_RETURN(TensorId y, layer.Bottom(0));
  if (given.scale() != 1) {
    TENON_ASSIGN_OR_RETURN(y, layer.Binary(BinaryFunction::kMul, y, given.scale()));
  }
  if (given.shift() != 0) {
    TENON_ASSIGN_OR_RETURN(y, layer.Binary(BinaryFunction::kAdd, y, given.shift()));
  }
  if (given.power() != 1) {
    TENON_ASSIGN_OR_RETURN(y, layer.Binary(BinaryFunction::kPow, y, given.power()));
  }
  return layer.SetTop(0, y);
}

constexpr LoweringRow kElementwiseLowerings[] = {
    {"AbsVal", LowerAbs},      {"BNLL", LowerBnll},       {"ELU", LowerElu},
    {"Eltwise", LowerEltwise}, {"PReLU", LowerPrelu},     {"Power", LowerPower},
    {"ReLU", LowerRelu},       {"Sigmoid", LowerSigmoid}, {"TanH", LowerTanh},
};

}  // namespace

constexpr Span<const LoweringRow> kElementwiseRows = kElementwiseLowerings;

}  // namespace tenon::converter::caffe
