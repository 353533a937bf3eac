// TRANSPOSE_CONV, CONV_3D_TRANSPOSE, and MediaPipe's custom operator Convolution2DTransposeBias:
// see conv_phases.hpp and depth_taps.hpp.
#include <algorithm>
#include <cstring>

#include "converter/import/conv_phases.hpp"
#include "converter/import/depth_taps.hpp"
#include "converter/import/tflite/ops/quantized.hpp"
#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

using phases::Extent;

/// Inputs of TRANSPOSE_CONV and CONV_3D_TRANSPOSE.
struct TransposedInput {
  enum : int { kOutputShape, kWeights, kX, kBias };
};

/// Inputs of Convolution2DTransposeBias.
struct BiasedInput {
  enum : int { kX, kWeights, kBias };
};

/// With SAME, `before` is what SAME cuts off in front of the convolution that this one transposes.
Result<Extent> ExtentOf(int64_t input, int64_t taps, int64_t stride, int64_t output,
                        format::Padding padding, int64_t dilation = 1) {
  const int64_t kernel = (taps - 1) * dilation + 1;
  if (stride < 1 || stride > kMostExtent || dilation < 1 || taps < 1 || kernel > kMostExtent ||
      output < 1 || output > kMostExtent) {
    return InputError("window {} with stride {} and output {} is out of range", taps, stride,
                      output);
  }
  if (padding != format::Padding::SAME && padding != format::Padding::VALID) {
    return InputError("padding {} is not known", static_cast<int>(padding));
  }
  Extent extent;
  extent.input = input;
  extent.kernel = kernel;
  extent.taps = taps;
  extent.dilation = dilation;
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

/// Of either operator: where its inputs are, and what its options say.
struct TransposedWindow {
  int x = 0;
  int weights = 0;
  int bias = 0;
  int64_t stride_height = 1;
  int64_t stride_width = 1;
  format::Padding padding = format::Padding::SAME;
  format::ActivationFunctionType activation = format::ActivationFunctionType::NONE;
};

/// `y`: the dims of the output, channels last.
Result<Geometry> ReadGeometry(const TransposedWindow& window, const std::vector<int64_t>& y,
                              const Shape& x, const Shape& w) {
  if (y.size() != 4 || y[0] != x[0] || y[3] != w[0]) {
    return InputError("its output shape is not [{}, height, width, {}]", x[0], w[0]);
  }
  Geometry geometry;
  TENON_ASSIGN_OR_RETURN(geometry.height,
                         ExtentOf(x[2], w[1], window.stride_height, y[1], window.padding));
  TENON_ASSIGN_OR_RETURN(geometry.width,
                         ExtentOf(x[3], w[2], window.stride_width, y[2], window.padding));
  return geometry;
}

/// The convolution that makes the phases, and what joins them.
struct PhasesNode {
  TensorId x = kNone;
  TensorId w = kNone;
  TensorId bias = kNone;  ///< none: kNone
  Geometry geometry;
  ConvAttributes conv;

  [[nodiscard]] int64_t Phases() const { return geometry.height.stride * geometry.width.stride; }
};

/// `output`: its dims, channels last; empty: all that the input reaches.
Result<PhasesNode> ReadPhases(Node& node, const TransposedWindow& window,
                              std::vector<int64_t> output) {
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(window.weights));
  const Shape w_shape = node.ShapeOf(given);
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(window.x, node.OrderOf(window.x)));
  if (node.ShapeOf(image).rank != 4 || w_shape.rank != 4) {
    return InputError("its input and weights must have 4 dimensions");
  }
  PhasesNode read;
  TENON_ASSIGN_OR_RETURN(read.x, node.Input(window.x, Order::kChannelsFirst));
  const Shape x_shape = node.ShapeOf(read.x);
  if (w_shape[3] != x_shape[1]) {
    return InputError("{} channels and weights for {} of them do not fit", x_shape[1], w_shape[3]);
  }
  if (output.empty()) {
    const auto reached = [&](int64_t input, int64_t kernel, int64_t stride) {
      const bool same = window.padding == format::Padding::SAME;
      return input * stride + (same ? 0 : std::max<int64_t>(0, kernel - stride));
    };
    output = {x_shape[0], reached(x_shape[2], w_shape[1], window.stride_height),
              reached(x_shape[3], w_shape[2], window.stride_width), w_shape[0]};
  }
  TENON_ASSIGN_OR_RETURN(read.geometry, ReadGeometry(window, output, x_shape, w_shape));
  phases::SetPads(read.geometry.height, read.geometry.width, read.conv);
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Transpose(given, {3, 0, 1, 2}));
  TENON_ASSIGN_OR_RETURN(
      read.w, phases::PhaseWeights(node, w, 1, read.geometry.height, read.geometry.width));
  if (node.HasInput(window.bias)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(window.bias));
    TENON_ASSIGN_OR_RETURN(read.bias, phases::PhaseBias(node, bias, read.Phases()));
  }
  return read;
}

Result<TransposedWindow> ReadWindow(const Node& node) {
  const auto* options = node.stored().builtin_options_as_TransposeConvOptions();
  if (options == nullptr) return InputError("its options are missing");
  TransposedWindow window = {TransposedInput::kX, TransposedInput::kWeights, TransposedInput::kBias,
                             options->stride_h(), options->stride_w()};
  window.padding = options->padding();
  window.activation = options->fused_activation_function();
  return window;
}

// Three words, as they lay in MediaPipe's memory: 1 for SAME or 2 for VALID, the strides along
// width and height.
Result<TransposedWindow> ReadBiasedWindow(const Node& node) {
  const auto* bytes = node.stored().custom_options();
  int32_t words[3];
  if (bytes == nullptr || bytes->size() != sizeof words) {
    return InputError("malformed: its options are not {} bytes", sizeof words);
  }
  std::memcpy(words, bytes->data(), sizeof words);
  if (words[0] != 1 && words[0] != 2) return InputError("padding {} is not known", words[0]);
  TransposedWindow window = {BiasedInput::kX, BiasedInput::kWeights, BiasedInput::kBias, words[2],
                             words[1]};
  window.padding = words[0] == 1 ? format::Padding::SAME : format::Padding::VALID;
  return window;
}

Result<PhasesNode> ReadTransposeConv(Node& node, const TransposedWindow& window) {
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> output,
                         node.Ints(TransposedInput::kOutputShape));
  if (output.empty()) return InputError("its output shape is empty");
  return ReadPhases(node, window, output);
}

/// y without what the padding cuts off.
Result<TensorId> Joined(Node& node, const PhasesNode& read, TensorId y) {
  TENON_ASSIGN_OR_RETURN(const phases::JoinedPhases joined,
                         phases::JoinPhases(node, y, read.geometry.height, read.geometry.width));
  return node.Slice(joined.y, joined.kept);
}

Status EmitPhases(Node& node, const PhasesNode& read, format::ActivationFunctionType activation) {
  std::vector<TensorId> inputs = {read.x, read.w};
  if (read.bias != kNone) inputs.push_back(read.bias);
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(read.conv)));
  TENON_ASSIGN_OR_RETURN(y, Joined(node, read, y));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, activation));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

/// True of i8 weights around 0 in the file, with a scale each output or one for all.
Result<bool> HasSymmetricWeights(Node& node) {
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(TransposedInput::kWeights));
  TENON_ASSIGN_OR_RETURN(const DType dtype, node.InputDType(TransposedInput::kWeights));
  if (dtype != DType::kI8 || w.IsNone() || !node.IsConstant(TransposedInput::kWeights))
    return false;
  return std::all_of(w.zero_points.begin(), w.zero_points.end(),
                     [](int32_t value) { return value == 0; });
}

/// Factors from sums to outputs, one for all or one for each phase of each output.
Result<std::vector<double>> PhaseFactors(Node& node, int64_t outputs, int64_t phase_count) {
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(TransposedInput::kX));
  TENON_ASSIGN_OR_RETURN(const Quantization w, node.InputQuantization(TransposedInput::kWeights));
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
  TENON_ASSIGN_OR_RETURN(const TransposedWindow window, ReadWindow(node));
  TENON_ASSIGN_OR_RETURN(const PhasesNode read, ReadTransposeConv(node, window));
  return EmitPhases(node, read, window.activation);
}

Status LowerBiasedTransposeConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const TransposedWindow window, ReadBiasedWindow(node));
  TENON_ASSIGN_OR_RETURN(const PhasesNode read, ReadPhases(node, window, {}));
  return EmitPhases(node, read, window.activation);
}

// Output shape, weights [D, H, W, M, C], x [N, D, H, W, C], bias.
Status LowerVolumeTransposeConv(Node& node) {
  const auto* options = node.stored().builtin_options_as_Conv3DOptions();
  if (options == nullptr) return InputError("its options are missing");
  TENON_ASSIGN_OR_RETURN(const std::vector<int64_t> y_dims,
                         node.Ints(TransposedInput::kOutputShape));
  TENON_ASSIGN_OR_RETURN(const TensorId given, node.Input(TransposedInput::kWeights));
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(TransposedInput::kX));
  const Shape x_shape = node.ShapeOf(image);
  const Shape w_shape = node.ShapeOf(given);
  if (x_shape.rank != 5 || w_shape.rank != 5 || x_shape[4] != w_shape[4]) {
    return InputError("its input and weights are no volumes of equally many channels");
  }
  if (y_dims.size() != 5 || y_dims[0] != x_shape[0] || y_dims[4] != w_shape[3]) {
    return InputError("its output shape is not [{}, depth, height, width, {}]", x_shape[0],
                      w_shape[3]);
  }
  const auto extent = [&](int32_t axis, int32_t stride, int32_t dilation) {
    return ExtentOf(x_shape[axis + 1], w_shape[axis], stride, y_dims[static_cast<size_t>(axis) + 1],
                    options->padding(), dilation);
  };
  volumes::TransposedExtents e;
  TENON_ASSIGN_OR_RETURN(e.depth, extent(0, options->stride_d(), options->dilation_d_factor()));
  TENON_ASSIGN_OR_RETURN(e.height, extent(1, options->stride_h(), options->dilation_h_factor()));
  TENON_ASSIGN_OR_RETURN(e.width, extent(2, options->stride_w(), options->dilation_w_factor()));
  TENON_ASSIGN_OR_RETURN(const TensorId x, node.Transpose(image, {0, 1, 4, 2, 3}));
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Transpose(given, {4, 3, 0, 1, 2}));
  TensorId bias = kNone;
  if (node.HasInput(TransposedInput::kBias)) {
    TENON_ASSIGN_OR_RETURN(bias, node.Input(TransposedInput::kBias));
  }
  TENON_ASSIGN_OR_RETURN(TensorId y,
                         volumes::ConvolveTransposedVolume(node, x, w, bias, /*group=*/1, e));
  TENON_ASSIGN_OR_RETURN(y, node.Transpose(y, {0, 1, 3, 4, 2}));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, options->fused_activation_function()));
  return node.SetOutput(0, y);
}

// Weights with zero points, and those of u8, are made real.
Status LowerQuantizedTransposeConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const bool scaled, HasPerTensorScales(node, {TransposedInput::kX}));
  TENON_ASSIGN_OR_RETURN(const bool symmetric, HasSymmetricWeights(node));
  if (!scaled || !symmetric) {
    node.ComputeInFloats();
    return LowerTransposeConv(node);
  }
  TENON_ASSIGN_OR_RETURN(const TransposedWindow window, ReadWindow(node));
  TENON_ASSIGN_OR_RETURN(const PhasesNode read, ReadTransposeConv(node, window));
  QuantizedConvAttributes attributes;
  attributes.conv = read.conv;
  TENON_ASSIGN_OR_RETURN(attributes.output, OutputBounds(node, window.activation));
  const int64_t outputs = node.ShapeOf(read.w)[0] / read.Phases();
  TENON_ASSIGN_OR_RETURN(const std::vector<double> factors,
                         PhaseFactors(node, outputs, read.Phases()));
  TENON_ASSIGN_OR_RETURN(const std::vector<TensorId> scales, Factors(node, factors));
  std::vector<TensorId> inputs = {read.x, read.w, read.bias};
  inputs.insert(inputs.end(), scales.begin(), scales.end());
  TENON_ASSIGN_OR_RETURN(const Quantization x, node.InputQuantization(TransposedInput::kX));
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
