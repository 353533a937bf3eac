#include "converter/import/tflite/ops/window.hpp"

#include <algorithm>

#include "tflite_subset_generated.h"

namespace tenon::converter::tflite {
namespace {

Status SetWindow(int32_t stride_h, int32_t stride_w, int32_t dilation_h, int32_t dilation_w,
                 format::Padding padding, const Shape& x, const Shape& w,
                 ConvAttributes& attributes) {
  attributes.strides[0] = stride_h;
  attributes.strides[1] = stride_w;
  attributes.dilations[0] = dilation_h;
  attributes.dilations[1] = dilation_w;
  const int32_t kernel[2] = {w[2], w[3]};
  return SetPads(padding, kernel, attributes.strides, attributes.dilations, x[2], x[3],
                 attributes.pads);
}

/// Weights with the outputs first: of CONV_2D [M, KH, KW, C / group], of DEPTHWISE_CONV_2D
/// [1, KH, KW, M].
Result<TensorId> WindowWeights(Node& node, bool depthwise) {
  TENON_ASSIGN_OR_RETURN(const TensorId w, node.Input(1));
  const Shape shape = node.ShapeOf(w);
  if (shape.rank != 4) return InputError("its weights have {} dimensions, not 4", shape.rank);
  if (!depthwise) return node.Input(1, Order::kChannelsFirst);
  if (shape[0] != 1) return InputError("its weights' first dimension is {}, not 1", shape[0]);
  return node.Transpose(w, {3, 0, 1, 2});
}

}  // namespace

Result<WindowPads> PadsOf(format::Padding padding, int32_t kernel, int32_t stride, int32_t dilation,
                          int32_t size) {
  const bool sound = kernel >= 1 && stride >= 1 && dilation >= 1;
  const int64_t extent = (int64_t{kernel} - 1) * dilation + 1;
  if (!sound || stride > kMostExtent || extent > kMostExtent) {
    return InputError("window {} with stride {} and dilation {} is out of range", kernel, stride,
                      dilation);
  }
  if (padding == format::Padding::VALID) return WindowPads();
  if (padding != format::Padding::SAME) {
    return InputError("padding {} is not known", static_cast<int>(padding));
  }
  const int64_t outputs = (int64_t{size} + stride - 1) / stride;
  const int64_t total = std::max<int64_t>(0, (outputs - 1) * stride + extent - size);
  return WindowPads{static_cast<int32_t>(total / 2), static_cast<int32_t>(total - total / 2)};
}

Status SetPads(format::Padding padding, const int32_t (&kernel)[2], const int32_t (&strides)[2],
               const int32_t (&dilations)[2], int32_t height, int32_t width, int32_t (&pads)[4]) {
  const int32_t image[2] = {height, width};
  for (size_t i = 0; i < 2; ++i) {
    TENON_ASSIGN_OR_RETURN(const WindowPads along,
                           PadsOf(padding, kernel[i], strides[i], dilations[i], image[i]));
    pads[i] = along.before;
    pads[2 + i] = along.after;
  }
  return {};
}

Result<ConvNode> ReadConv(Node& node) {
  const auto* conv = node.stored().builtin_options_as_Conv2DOptions();
  const auto* depthwise = node.stored().builtin_options_as_DepthwiseConv2DOptions();
  const bool is_depthwise = node.op() == format::BuiltinOperator::DEPTHWISE_CONV_2D;
  if (is_depthwise ? depthwise == nullptr : conv == nullptr) {
    return InputError("its options are missing");
  }
  ConvNode result;
  TENON_ASSIGN_OR_RETURN(const TensorId image, node.Input(0, node.OrderOf(0)));
  if (node.ShapeOf(image).rank != 4) {
    return InputError("its input has {} dimensions, not 4", node.ShapeOf(image).rank);
  }
  TENON_ASSIGN_OR_RETURN(result.x, node.Input(0, Order::kChannelsFirst));
  TENON_ASSIGN_OR_RETURN(result.w, WindowWeights(node, is_depthwise));
  const Shape x = node.ShapeOf(result.x);
  const Shape w = node.ShapeOf(result.w);
  if (w[1] < 1 || x[1] < 1 || x[1] % w[1] != 0) {
    return InputError("{} channels and weights for {} of them do not fit", x[1], w[1]);
  }
  result.attributes.group = x[1] / w[1];
  const auto set = [&](const auto* options) {
    result.activation = options->fused_activation_function();
    return SetWindow(options->stride_h(), options->stride_w(), options->dilation_h_factor(),
                     options->dilation_w_factor(), options->padding(), x, w, result.attributes);
  };
  TENON_RETURN_IF_ERROR(is_depthwise ? set(depthwise) : set(conv));
  return result;
}

Status LowerConv(Node& node) {
  TENON_ASSIGN_OR_RETURN(const ConvNode conv, ReadConv(node));
  std::vector<TensorId> inputs = {conv.x, conv.w};
  if (node.HasInput(2)) {
    TENON_ASSIGN_OR_RETURN(const TensorId bias, node.Input(2));
    inputs.push_back(bias);
  }
  TENON_ASSIGN_OR_RETURN(TensorId y, node.Emit(OpKind::kConv, inputs, Attributes(conv.attributes)));
  TENON_ASSIGN_OR_RETURN(y, node.Activate(y, conv.activation));
  return node.SetOutput(0, y, Order::kChannelsFirst);
}

}  // namespace tenon::converter::tflite
