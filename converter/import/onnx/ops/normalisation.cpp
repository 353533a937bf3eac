// Normalisations: folded to constants where their statistics are known, else put together from
// reductions.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "converter/import/onnx/ops/indexing.hpp"
#include "converter/import/onnx/ops/normalised.hpp"
#include "converter/import/onnx/ops/ops.hpp"

namespace tenon::converter {
namespace {

/// [C, 1, ..., 1] with one dimension for each of x's but the first.
std::vector<int64_t> PerChannelDims(const Shape& x) {
  std::vector<int64_t> dims(static_cast<size_t>(x.rank - 1), 1);
  dims[0] = x[1];
  return dims;
}

Status RefuseTraining(Lowering& node) {
  TENON_RETURN_IF_ERROR(node.OnlyFirstOutput());
  if (node.opset() < 7 && !node.Flag("is_test", false)) {
    return InputError("is_test = 0 (training) is not supported");
  }
  if (!node.Flag("spatial", true)) return InputError("spatial = 0 is not supported");
  node.Ignore({"momentum"});
  return {};
}

/// (x - mean) / deviation * scale + bias, by channel.
Status NormaliseChannels(Lowering& node, const Normalised& parts, TensorId scale, TensorId bias) {
  const Shape shape = node.ShapeOf(parts.centred);
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Binary(BinaryFunction::kDiv, parts.centred, parts.deviation));
  TENON_ASSIGN_OR_RETURN(scale, node.Reshape(scale, PerChannelDims(shape)));
  TENON_ASSIGN_OR_RETURN(bias, node.Reshape(bias, PerChannelDims(shape)));
  return ScaleAndShift(node, y, scale, bias);
}

/// Output `output` is given * momentum + current * (1 - momentum).
Status UpdateRunning(Lowering& node, TensorId given, TensorId current, int output) {
  const DType dtype = node.DTypeOf(given);
  const double momentum = node.Float("momentum", 0.9F);
  TENON_ASSIGN_OR_RETURN(const TensorId old_part, node.Scalar("momentum", dtype, momentum));
  TENON_ASSIGN_OR_RETURN(const TensorId new_part, node.Scalar("momentum", dtype, 1.0 - momentum));
  TENON_ASSIGN_OR_RETURN(current, node.Reshape(current, DimsOf(node.ShapeOf(given))));
  TENON_ASSIGN_OR_RETURN(given, node.Binary(BinaryFunction::kMul, given, old_part));
  TENON_ASSIGN_OR_RETURN(current, node.Binary(BinaryFunction::kMul, current, new_part));
  return node.Binary(BinaryFunction::kAdd, given, current, output).status();
}

/// By the batch's own statistics: exporters write weights that are standardised so.
Status LowerTraining(Lowering& node, const std::vector<TensorId>& inputs) {
  std::vector<int32_t> axes = AxisRange(0, node.ShapeOf(inputs[0]).rank);
  axes.erase(axes.begin() + 1);
  TENON_ASSIGN_OR_RETURN(const Normalised parts,
                         Statistics(node, inputs[0], axes, node.Float("epsilon", 1e-5F)));
  node.Ignore({"momentum"});
  if (node.OutputUsed(1)) TENON_RETURN_IF_ERROR(UpdateRunning(node, inputs[3], parts.mean, 1));
  if (node.OutputUsed(2)) TENON_RETURN_IF_ERROR(UpdateRunning(node, inputs[4], parts.variance, 2));
  return NormaliseChannels(node, parts, inputs[1], inputs[2]);
}

// y = x * g + (beta - mean * g), g = gamma / sqrt(variance + epsilon), computed in f64.
Status LowerBatchNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  if (inputs.size() != 5) return InputError("it has {} inputs, 5 are wanted", inputs.size());
  const Shape x = node.ShapeOf(inputs[0]);
  if (x.rank < 2) return InputError("its input has {} dimensions, no channels", x.rank);
  if (node.Flag("training_mode", false)) return LowerTraining(node, inputs);
  TENON_RETURN_IF_ERROR(RefuseTraining(node));
  std::vector<double> parameters[4];
  for (size_t i = 0; i < 4; ++i) {
    TENON_ASSIGN_OR_RETURN(parameters[i], node.ConstantDoubles(inputs[i + 1]));
    if (parameters[i].size() != static_cast<size_t>(x[1])) {
      return InputError("its input {} has {} values for {} channels", i + 1, parameters[i].size(),
                        x[1]);
    }
  }
  const auto& [gamma, beta, mean, variance] = parameters;
  const double epsilon = node.Float("epsilon", 1e-5F);
  std::vector<double> scale(gamma.size());
  std::vector<double> shift(gamma.size());
  for (size_t i = 0; i < gamma.size(); ++i) {
    scale[i] = gamma[i] / std::sqrt(variance[i] + epsilon);
    shift[i] = beta[i] - mean[i] * scale[i];
  }
  const DType dtype = node.DTypeOf(inputs[0]);
  TENON_ASSIGN_OR_RETURN(const Shape shape, ShapeFromDims(PerChannelDims(x)));
  TENON_ASSIGN_OR_RETURN(const TensorId factor, node.Constant("scale", dtype, shape, scale));
  TENON_ASSIGN_OR_RETURN(const TensorId offset, node.Constant("shift", dtype, shape, shift));
  return ScaleAndShift(node, inputs[0], factor, offset);
}

Status LowerInstanceNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  if (inputs.size() != 3) return InputError("it has {} inputs, 3 are wanted", inputs.size());
  const Shape x = node.ShapeOf(inputs[0]);
  if (x.rank < 3) return InputError("its input has {} dimensions, no spatial one", x.rank);
  TENON_ASSIGN_OR_RETURN(const Normalised parts, Statistics(node, inputs[0], AxisRange(2, x.rank),
                                                            node.Float("epsilon", 1e-5F)));
  return NormaliseChannels(node, parts, inputs[1], inputs[2]);
}

/// (x - mean) / deviation in x's own type; `parts`, from which it comes, are in `stash`.
Result<TensorId> NormaliseStashed(Lowering& node, TensorId x, const std::vector<int32_t>& axes,
                                  DType stash, Normalised& parts) {
  const DType dtype = node.DTypeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId stashed, node.Cast(x, stash));
  TENON_ASSIGN_OR_RETURN(parts, Statistics(node, stashed, axes, node.Float("epsilon", 1e-5F)));
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Binary(BinaryFunction::kDiv, parts.centred, parts.deviation));
  return node.Cast(y, dtype);
}

// Channels in groups, each normalised as one; scale and bias are per group before opset 21, per
// channel since.
Status LowerGroupNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> inputs, node.Inputs());
  if (inputs.size() != 3) return InputError("it has {} inputs, 3 are wanted", inputs.size());
  const Shape x = node.ShapeOf(inputs[0]);
  const int64_t groups = node.Int("num_groups", 0);
  if (x.rank < 2 || groups < 1 || x[1] % groups != 0 || x.Elements() == 0) {
    return InputError("{} groups do not divide the channels of its input", groups);
  }
  const int64_t channels = x[1] / groups;
  const int64_t rest = x.Elements() / (int64_t{x[0]} * x[1]);
  TENON_ASSIGN_OR_RETURN(const TensorId grouped,
                         node.Reshape(inputs[0], {x[0], groups, channels, rest}));
  DType stash = node.DTypeOf(grouped);
  if (node.opset() >= 21) {
    TENON_ASSIGN_OR_RETURN(stash, DTypeFromOnnx(node.Int32("stash_type", 1)));
  }
  Normalised parts{};
  TENON_ASSIGN_OR_RETURN(TensorId y, NormaliseStashed(node, grouped, {2, 3}, stash, parts));
  TensorId parameters[2];
  for (int i = 0; i < 2; ++i) {
    const TensorId given = inputs[static_cast<size_t>(i) + 1];
    const bool each =
        node.ShapeOf(given).Elements() == x[1] && (node.opset() >= 21 || channels == 1);
    TENON_ASSIGN_OR_RETURN(parameters[i], node.Reshape(given, {groups, each ? channels : 1, 1}));
  }
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kMul, y, parameters[0]));
  TENON_ASSIGN_OR_RETURN(y, node.Binary(BinaryFunction::kAdd, y, parameters[1]));
  return node.Reshape(y, {x.dims, x.dims + x.rank}, 0).status();
}

// Statistics are computed in `stash_type` (f32), the scale is applied in x's own type. The
// outputs Mean and InvStdDev are in `stash_type`.
Status LowerLayerNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  TENON_ASSIGN_OR_RETURN(const TensorId scale, node.Input(1));
  const Shape shape = node.ShapeOf(x);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", -1), shape.rank));
  TENON_ASSIGN_OR_RETURN(const DType stash, DTypeFromOnnx(node.Int32("stash_type", 1)));
  Normalised parts{};
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         NormaliseStashed(node, x, AxisRange(axis, shape.rank), stash, parts));
  if (node.OutputUsed(1)) node.Alias(1, parts.mean);
  if (node.OutputUsed(2)) {
    TENON_RETURN_IF_ERROR(
        node.Unary(parts.deviation, {UnaryFunction::kReciprocal, 0.0F, 0.0F}, 2).status());
  }
  TensorId bias = kNone;
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(2));
  }
  return ScaleAndShift(node, y, scale, bias);
}

// y = (x - mean) / (sqrt(variance) + 1e-9), as ONNX's function body has it.
Status LowerMeanVarianceNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  std::vector<int64_t> given = node.Ints("axes");
  if (given.empty()) given = {0, 2, 3};
  TENON_ASSIGN_OR_RETURN(const std::vector<int32_t> axes, node.Axes(given, node.ShapeOf(x).rank));
  TENON_ASSIGN_OR_RETURN(const Normalised parts, Statistics(node, x, axes, 0.0));
  TENON_ASSIGN_OR_RETURN(const TensorId epsilon, node.Scalar("epsilon", node.DTypeOf(x), 1e-9));
  TENON_ASSIGN_OR_RETURN(const TensorId divisor,
                         node.Binary(BinaryFunction::kAdd, parts.deviation, epsilon));
  return node.Binary(BinaryFunction::kDiv, parts.centred, divisor, 0).status();
}

Status LowerLpNormalization(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  const int64_t p = node.Int("p", 2);
  if (p != 1 && p != 2) return InputError("p = {} is not supported", p);
  TENON_ASSIGN_OR_RETURN(const int32_t axis, node.Axis(node.Int("axis", -1), node.ShapeOf(x).rank));
  TENON_ASSIGN_OR_RETURN(
      const TensorId norm,
      node.Reduce(p == 1 ? ReduceFunction::kL1 : ReduceFunction::kL2, x, {axis}, true));
  // Of zeros all are zeros.
  const DType dtype = node.DTypeOf(x);
  TENON_ASSIGN_OR_RETURN(const TensorId zero, node.Scalar("zero", dtype, 0));
  TENON_ASSIGN_OR_RETURN(const TensorId one, node.Scalar("one", dtype, 1));
  TENON_ASSIGN_OR_RETURN(const TensorId none, node.Binary(BinaryFunction::kEqual, norm, zero));
  TENON_ASSIGN_OR_RETURN(const TensorId divisor, Select(node, none, one, norm));
  return node.Binary(BinaryFunction::kDiv, x, divisor, 0).status();
}

Status LowerLrn(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  if (!node.HasAttribute("size")) return InputError("attribute 'size' is missing");
  LrnAttributes attributes;
  attributes.size = node.Int32("size", 1);
  attributes.alpha = node.Float("alpha", 0.0001F);
  attributes.beta = node.Float("beta", 0.75F);
  attributes.bias = node.Float("bias", 1.0F);
  return node.Emit(OpKind::kLrn, {x}, Attributes(attributes), 0).status();
}

Status LowerSoftmax(Lowering& node) {
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Input(0));
  return EmitSoftmax(node, x, node.opset() < 13, node.op_type() == "LogSoftmax", 0).status();
}

constexpr LoweringRow kNormalisationRows[] = {
    {"BatchNormalization",
     LowerBatchNormalization,
     {},
     "parameters constant but in training_mode; spatial 1"},
    {"GroupNormalization", LowerGroupNormalization},
    {"InstanceNormalization", LowerInstanceNormalization},
    {"LRN", LowerLrn, {}, "f32 and f16"},
    {"LayerNormalization", LowerLayerNormalization},
    {"LogSoftmax", LowerSoftmax},
    {"LpNormalization", LowerLpNormalization},
    {"MeanVarianceNormalization", LowerMeanVarianceNormalization},
    {"Softmax", LowerSoftmax},
};

}  // namespace

std::vector<int32_t> AxisRange(int32_t begin, int32_t end) {
  std::vector<int32_t> axes(static_cast<size_t>(std::max(0, end - begin)));
  std::iota(axes.begin(), axes.end(), begin);
  return axes;
}

Result<Normalised> StatisticsAroundZero(Lowering& node, TensorId x,
                                        const std::vector<int32_t>& axes, double epsilon) {
  Normalised result;
  result.centred = x;
  TENON_ASSIGN_OR_RETURN(const TensorId squares, node.Binary(BinaryFunction::kMul, x, x));
  TENON_ASSIGN_OR_RETURN(result.variance, node.Reduce(ReduceFunction::kMean, squares, axes, true));
  TensorId variance = result.variance;
  if (epsilon != 0.0) {
    TENON_ASSIGN_OR_RETURN(const TensorId constant,
                           node.Scalar("epsilon", node.DTypeOf(x), epsilon));
    TENON_ASSIGN_OR_RETURN(variance, node.Binary(BinaryFunction::kAdd, variance, constant));
  }
  TENON_ASSIGN_OR_RETURN(result.deviation,
                         node.Unary(variance, {UnaryFunction::kSqrt, 0.0F, 0.0F}));
  return result;
}

Result<Normalised> Statistics(Lowering& node, TensorId x, const std::vector<int32_t>& axes,
                              double epsilon) {
  TENON_ASSIGN_OR_RETURN(const TensorId mean, node.Reduce(ReduceFunction::kMean, x, axes, true));
  TENON_ASSIGN_OR_RETURN(const TensorId centred, node.Binary(BinaryFunction::kSub, x, mean));
  TENON_ASSIGN_OR_RETURN(Normalised result, StatisticsAroundZero(node, centred, axes, epsilon));
  result.mean = mean;
  return result;
}

Status ScaleAndShift(Lowering& node, TensorId x, TensorId scale, TensorId bias, int output) {
  TENON_ASSIGN_OR_RETURN(
      x, node.Binary(BinaryFunction::kMul, x, scale, bias == kNone ? output : kIntermediate));
  if (bias == kNone) return {};
  return node.Binary(BinaryFunction::kAdd, x, bias, output).status();
}

Result<TensorId> EmitSoftmax(Lowering& node, TensorId x, bool flattens, bool log, int output) {
  const Shape shape = node.ShapeOf(x);
  SoftmaxAttributes attributes;
  attributes.log = log ? 1 : 0;
  TENON_ASSIGN_OR_RETURN(attributes.axis,
                         node.Axis(node.Int("axis", flattens ? 1 : -1), shape.rank));
  if (shape.Elements() == 0) {
    if (output >= 0) node.Alias(output, x);
    return x;
  }
  const int32_t* first = shape.dims + attributes.axis;
  const int32_t* end = shape.dims + shape.rank;
  const auto is_long = [](int32_t dim) { return dim != 1; };
  if (!flattens || std::count_if(first, end, is_long) <= 1) {
    // One dimension holds all columns: a softmax over that one is the same.
    const int32_t* columns = flattens ? std::find_if(first, end, is_long) : first;
    if (columns != end) attributes.axis = static_cast<int32_t>(columns - shape.dims);
    return node.Emit(OpKind::kSoftmax, {x}, Attributes(attributes), output);
  }
  const auto product = [](const int32_t* begin, const int32_t* stop) {
    return std::accumulate(begin, stop, int64_t{1}, std::multiplies<>());
  };
  TENON_ASSIGN_OR_RETURN(const TensorId matrix,
                         node.Reshape(x, {product(shape.dims, first), product(first, end)}));
  attributes.axis = 1;
  TENON_ASSIGN_OR_RETURN(const TensorId y,
                         node.Emit(OpKind::kSoftmax, {matrix}, Attributes(attributes)));
  return node.Reshape(y, {shape.dims, end}, output);
}

constexpr Span<const LoweringRow> kNormalisationLowerings = kNormalisationRows;

}  // namespace tenon::converter
