// What convolutions and poolings share: windows that slide over images.
#pragma once

#include "converter/import/tflite/ops/ops.hpp"

namespace tenon::converter::tflite {

namespace format {
enum class Padding : int8_t;
}

/// A convolution's operands, channels first, and its geometry.
struct ConvNode {
  TensorId x = kNone;
  TensorId w = kNone;  ///< [M, C / group, KH, KW]
  ConvAttributes attributes;
  format::ActivationFunctionType activation;
};

/// Reads a CONV_2D or DEPTHWISE_CONV_2D. Errors: operands that are no images.
[[nodiscard]] Result<ConvNode> ReadConv(Node& node);

/// Zeros around one dimension.
struct WindowPads {
  int32_t before = 0;
  int32_t after = 0;
};

/// Those of windows of `kernel` over `size` elements: none, or so many that ceil(size / stride)
/// windows fit, the odd one at the end. Errors: strides or sizes that are not positive.
[[nodiscard]] Result<WindowPads> PadsOf(format::Padding padding, int32_t kernel, int32_t stride,
                                        int32_t dilation, int32_t size);

/// Sets `pads` of attributes whose strides and dilations are set, for windows of `kernel` over an
/// image of `height` and `width`, as PadsOf does.
[[nodiscard]] Status SetPads(format::Padding padding, const int32_t (&kernel)[2],
                             const int32_t (&strides)[2], const int32_t (&dilations)[2],
                             int32_t height, int32_t width, int32_t (&pads)[4]);

}  // namespace tenon::converter::tflite
