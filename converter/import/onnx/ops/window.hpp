// What convolution and pooling share: a window that slides over one or two spatial dimensions.
#pragma once

#include <vector>

#include "converter/import/onnx/lowering.hpp"

namespace tenon::converter {

/// Two-dimensional; windows over one dimension have height 1.
struct Window {
  int32_t kernel[2] = {1, 1};
  int32_t strides[2] = {1, 1};
  int32_t dilations[2] = {1, 1};
  int32_t pads[4] = {0, 0, 0, 0};  ///< top, left, bottom, right
};

/// A window along one dimension.
struct WindowSpan {
  int32_t kernel;
  int32_t stride;
  int32_t dilation;
  int32_t begin;  ///< padding before
  int32_t end;    ///< and behind
};

/// As ReadWindow, over any number of spatial dimensions.
[[nodiscard]] Result<std::vector<WindowSpan>> ReadSpans(Lowering& node, const Shape& x,
                                                        const std::vector<int64_t>& kernel);

/// Two spans, the first of height.
[[nodiscard]] Window WindowOf(const WindowSpan& height, const WindowSpan& width);

/// Reads strides, dilations, pads and auto_pad for a window of `kernel` (one value per spatial
/// dimension) over x [N, C, L] or [N, C, H, W]. SAME_UPPER and SAME_LOWER become explicit pads,
/// as the ONNX definition of Conv and MaxPool computes them. With `ceil_mode`, the last window
/// may go beyond the padded input: pads stay as they are.
[[nodiscard]] Result<Window> ReadWindow(Lowering& node, const Shape& x,
                                        const std::vector<int64_t>& kernel);

/// Copies a window into the attribute struct of an op.
template <typename Attributes>
void SetWindow(const Window& window, Attributes& attributes) {
  for (int i = 0; i < 2; ++i) {
    attributes.strides[i] = window.strides[i];
    attributes.dilations[i] = window.dilations[i];
  }
  for (int i = 0; i < 4; ++i) attributes.pads[i] = window.pads[i];
}

/// The attributes of a convolution of x with w, as the model has them (of rank 3 or 4).
[[nodiscard]] Result<ConvAttributes> ReadConv(Lowering& node, TensorId x, TensorId w);

/// [N, C, L] as [N, C, 1, L]; anything else as it is.
[[nodiscard]] Result<TensorId> WithHeight(Lowering& node, TensorId x);

/// Emits `kind` on x and other inputs; with `one_dimensional`, the height that WithHeight added is
/// taken out again. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitWindowed(Lowering& node, OpKind kind,
                                            const std::vector<TensorId>& inputs,
                                            const Attributes& attributes, bool one_dimensional,
                                            int output = 0);

/// The convolution of x (channels second) with w that the node's attributes and its input 2, the
/// bias, say, over one to three dimensions. `output` as of Lowering::Emit.
[[nodiscard]] Result<TensorId> EmitConv(Lowering& node, TensorId x, TensorId w,
                                        int output = kIntermediate);

}  // namespace tenon::converter
