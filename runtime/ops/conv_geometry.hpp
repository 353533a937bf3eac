// How the windows of a convolution move over rows and columns, and where its operands lie.
#pragma once

#include <cstdint>

#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon {

/// Index 0: rows; 1: columns. Not filled with zeros, which is a call on small cores.
struct ConvWindow {
  int in_extent[2];   ///< of x
  int out_extent[2];  ///< of y
  int kernel[2];
  int strides[2];
  int dilations[2];
  int pads[2];  ///< before the first row, before the first column

  [[nodiscard]] int Taps() const { return kernel[0] * kernel[1]; }
  [[nodiscard]] int Positions() const { return out_extent[0] * out_extent[1]; }
};

/// Along axis `i` of an op whose attributes begin with ConvAttributes. Inline where more is set in
/// the same loop, since each image of firmware has one.
[[gnu::always_inline]] inline void SetConvAxis(const OpCall& conv, int i, ConvWindow& window) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  window.in_extent[i] = conv.Input(0).dims[2 + i];
  window.out_extent[i] = conv.Output().dims[2 + i];
  window.kernel[i] = conv.Input(1).dims[2 + i];
  window.strides[i] = attributes.strides[i];
  window.dilations[i] = attributes.dilations[i];
  window.pads[i] = attributes.pads[i];
}
inline void SetConvWindow(const OpCall& conv, ConvWindow& window) {
  for (int i = 0; i < 2; ++i) SetConvAxis(conv, i, window);
}

/// The window of a matrix product: one tap, one row of positions.
inline void SetPointWindow(int positions, ConvWindow& window) {
  window = {{1, positions}, {1, positions}, {1, 1}, {1, 1}, {1, 1}, {0, 0}};
}

/// Strides in elements.
struct ImageStrides {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t row = 0;
  int64_t pixel = 0;
};

[[nodiscard]] inline ImageStrides StridesOf(const TensorView& view) {
  return {view.strides[0], view.strides[1], view.strides[2], view.strides[3]};
}

/// A convolution's operands, in 64 bits where memory is addressed.
struct ConvGeometry : ConvWindow {
  int images = 1;
  int inputs = 1;  ///< channels
  int outputs = 1;
  int convolutions = 1;  ///< ConvAttributes::group
  ImageStrides x;
  ImageStrides y;
  ImageStrides residual;  ///< set by those whose convolutions have one

  /// Returns the number of pixels of all outputs.
  [[nodiscard]] int64_t Pixels() const { return int64_t{images} * out_extent[0] * out_extent[1]; }
  /// Returns the number of multiply-accumulate operations.
  [[nodiscard]] int64_t Work() const {
    return Pixels() * outputs * (inputs / convolutions) * Taps();
  }
  /// x at row `h` and column `w`, which may lie outside: then `zeros`.
  [[nodiscard]] const float* Input(const float* image, int64_t h, int64_t w,
                                   const float* zeros) const {
    if (h < 0 || w < 0 || h >= in_extent[0] || w >= in_extent[1]) return zeros;
    return image + h * x.row + w * x.pixel;
  }
};

/// Of a convolution, quantized or not, that passed CheckOpCall.
[[nodiscard]] inline ConvGeometry ConvGeometryOf(const OpCall& conv) {
  ConvGeometry geometry;
  SetConvWindow(conv, geometry);
  geometry.images = conv.Input(0).dims[0];
  geometry.inputs = conv.Input(0).dims[1];
  geometry.outputs = conv.Output().dims[1];
  geometry.convolutions = conv.AttributesAs<ConvAttributes>().group;
  geometry.x = StridesOf(conv.Input(0));
  geometry.y = StridesOf(conv.Output());
  return geometry;
}

/// True if the pixels of an image tensor lie at equal distances in the order N, H, W; then `step`
/// is that distance in elements.
[[nodiscard]] inline bool HasEvenPixels(const TensorView& view, int64_t* step) {
  constexpr int kOrder[3] = {3, 2, 0};
  int64_t pixels = 1;
  *step = 0;
  for (const int axis : kOrder) {
    const int64_t stride = view.strides[axis];
    if (view.dims[axis] != 1) {
      if (pixels == 1) *step = stride;
      if (stride != *step * pixels) return false;
    }
    pixels *= view.dims[axis];
  }
  return true;
}

/// True if the channels of an image tensor are neighbours in memory.
[[nodiscard]] inline bool HasDenseChannels(const TensorView& view) {
  return view.dims[1] == 1 || view.strides[1] == 1;
}

}  // namespace tenon
