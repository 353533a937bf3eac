// TRANSPOSE_CONV: see conv_phases.hpp.
#include <algorithm>

#include "converter/import/conv_phases.hpp"
#include "converter/import/tflite/ops/quantized.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using phases::Extent;

enum : int { kOutputShape, kWeights, kX, kBias };

constexpr int64_t kMostExtent = 1 << 28;  // of windows, as attributes.hpp says

/// With SAME, `before` is what SAME cuts off in front of the convolution that this one transposes.
Result<Extent> ExtentOf(int64_t input, int64_t kernel, int64_t stride, int64_t output,
                        format::Padding padding) {
  if (stride < 1 || stride > kMostExtent || kernel < 1 || kernel > kMostExtent || output < 1 ||
      output > kMostExtent) {
    return InputError("window {} with stride {} and output {} is out of range", kernel, stride,
                      output);
  }
  if (padding != format::Padding::SAME && padding != format::Padding::VALID) {
    return InputError("padding {} is not known", static_cast<int>(padding));
  }
  Extent extent;
  extent.input = input;
  extent.kernel = extent.taps = kernel;
  extent.stride = stride;
  extent.output = output;
  const bool same = padding == format::Padding::SAME;
  const int64_t windows =
      same ? (output + stride - 1) / stride : (output + stride - kernel) / stride;
  extent.before = std::max<int64_t>(0, (windows - 1) * stride + kernel - output) / 2;
  if (windows != input) {
    return InputError("{} outputs at a stride of {} come from {} inputs, not from {}", output,
                      stride, windows, input);
  }
  return extent;
}

struct Geometry {
  Extent height;
  Extent width;
};

Result<Geometry> ReadGeometry(Node& node, const format::TransposeConvOptions& options,
                              const Shape& x, const Shape& w) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> y, node.Ints(kOutputShape));
  if (y.size() != 4 || y[0] != x[0] || y[3] != w[0]) {
    return InputError("its output shape is not [{}, height, width, {}]", x[0], w[0]);
  }
  Geometry geometry;
  TENON_ASSIGN_OR_RETURN(geometry.height,
                         ExtentOf(x[2], w[1], options.stride_h(), y[1], options.padding()));
  TENON_ASSIGN_OR_RETURN(geometry.width,
                         ExtentOf(x[3], w[2], options.stride_w(), y[2], options.padding()));
  return geometry;
}

/// The convolution that makes the phases, and what joins them.
struct PhasesNode {
  TensorId x = kNone;
  TensorId w = kNone;
  TensorId bias = kNone;  ///< none: kNone
  Geometry geometry;
  ConvAttributes conv;
  format::ActivationFunctionType activation = format::ActivationFunctionType::NONE;

  [[nodiscard]] int64_t Phases() const { return geometry.height.stride * geometry.width.stride; }
};

// Output shape, weights [M, KH, KW, C], x, bias.
Result<PhasesNode> ReadTransposeConv(Node& node) {
  const auto* options = node.stored().builtin_options_as_TransposeConvOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(kWeights));
  const Shape w_shape = node.ShapeOf(given);
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(kX, node.OrderOf(kX)));
  if (node.ShapeOf(image).rank != 4 || w_shape.rank != 4) {
    return InputError("its input and weights must have 4 dimensions");
  }
  PhasesNode read;
  read.activation = options->fused_activation_function();
  TENON_ASSIGN_OR_RETURN(read.x, node.Input(kX, Order::kChannelsFirst));
  const Shape x_shape = node.ShapeOf(read.x);
  if (w_shape[3] != x_shape[1]) {
    return InputError("{} channels and weights for {} of them do not fit", x_shape[1], w_shape[3]);
  }
  TENON_ASSIGN_OR_RETURN(read.geometry, ReadGeometry(node, *options, x_shape, w_shape));
  phases::SetPads(read.geometry.height, read.geometry.width, read.conv);
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Transpose(given, {3, 0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(
      read.w, phases::PhaseWeights(node, w, 1, read.geometry.height, read.geometry.width));
  if (node.HasInput(kBias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(kBias));
    TENON_ASSIGN_OR_RETURN(read.bias, phases::PhaseBias(node, bias, read.Phases()));
  }
  return read;
}

/// y without what the padding cuts off.
Result<TensorId> Joined(Node& node, const PhasesNode& read, TensorId y) {
  TENON_ASSIGN_OR_RETURN(const phases::JoinedPhases joined,
                         phases::JoinPhases(node, y, read.geometry.height, read.geometry.width));
  return node.Slice(joined.y, joined.kept);
}

/// True of i8 weights around 0 in the file, with a scale each output or one for all.
Result<bool> HasSymmetricWeights(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(kWeights));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.InputDType(kWeights));
  if (dtype != DType::kI8 || w.IsNone() || !node.IsConstant(kWeights)) return false;
  return std::all_of(w.zero_points.begin(), w.zero_points.end(),
                     [](int32_t value) { return value == 0; });
}

/// Factors from sums to outputs, one for all or one for each phase of each output.
Result<std::vector<double>> PhaseFactors(Node& node, int64_t outputs, int64_t phase_count) {
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(kX));
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(kWeights));
  TENON_ASSIGN_OR_RETURN(const Quantization y, node.OutputQuantization(0));
  if (!w.IsPerTensor() && static_cast<int64_t>(w.scales.size()) != outputs) {
    return InputError("its weights' scales are not one for each output channel");
  }
  std::vector<double> factors;
  for (const float scale : w.scales) {
    const double factor = double{x.scale()} * double{scale} / double{y.scale()};
    factors.insert(factors.end(), w.IsPerTensor() ? 1 : static_cast<size_t>(phase_count), factor);
  }
  return factors;
}

}  // namespace

Status LowerTransposeConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const PhasesNode read, ReadTransposeConv(node));
  std::vector<TensorId> inputs = {read.x, read.w};
  if (read.bias != kNone) inputs.push_back(read.bias);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(read.conv)));
  TENON_ASSIGN_OR_RETURN(y, Joined(node, read, y));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, read.activation));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

// Weights with zero points, and those of u8, are made real.
Status LowerQuantizedTransposeConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {kX}));
  TENON_ASSIGN_OR_RETURN(const bool symmetric, HasSymmetricWeights(node));
  if (!scaled || !symmetric) {
    node.ComputeInFloats();
    return LowerTransposeConv(node);
  }
  TENON_ASSIGN_OR_RETURN(const PhasesNode read, ReadTransposeConv(node));
  QuantizedConvAttributes attributes;
  attributes.conv = read.conv;
  TENON_ASSIGN_OR_RETURN(attributes.output, OutputBounds(node, read.activation));
  const int64_t outputs = node.ShapeOf(read.w)[0] / read.Phases();
  TENON_ASSIGN_OR_RETURN(const std::vector<double> factors,
                         PhaseFactors(node, outputs, read.Phases()));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> scales, Factors(node, factors));
  std::vector<TensorId> inputs = {read.x, read.w, read.bias};
  inputs.insert(inputs.end(), scales.begin(), scales.end());
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(kX));
  if (x.zero_point() != 0) {
    Shape one;
    one.rank = 1;
    one.dims[0] = 1;
    inputs.push_back(
        node.Constant("input_zero_point", node.DTypeOf(read.x), one, {double(x.zero_point())}));
  }
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         node.Emit(OpKind::kQuantizedConv, inputs, Attributes(attributes)));
  TENON_ASSIGN_OR_RETURN(y, Joined(node, read, y));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
