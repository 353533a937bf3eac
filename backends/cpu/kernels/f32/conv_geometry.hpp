// Where a convolution's operands lie, in 64 bits, and the pointers that its inner loops read by.
#pragma once

#include <cstdint>

#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::f32 {

/// Strides in floats.
struct ImageStrides {
  int64_t image = 0;
  int64_t channel = 0;
  int64_t row = 0;
  int64_t pixel = 0;
};

struct Geometry {
  int images = 1;
  int inputs = 1;  ///< channels
  int height = 1;
  int width = 1;
  int outputs = 1;
  int out_height = 1;
  int out_width = 1;
  int kernel_height = 1;
  int kernel_width = 1;
  int convolutions = 1;  ///< ConvAttributes::group
  int64_t stride[2] = {1, 1};
  int64_t dilation[2] = {1, 1};
  int64_t pad[2] = {0, 0};  ///< top, left
  ImageStrides x;
  ImageStrides y;
  ImageStrides residual;

  [[nodiscard]] int Taps() const { return kernel_height * kernel_width; }
  [[nodiscard]] int64_t Pixels() const { return int64_t{images} * out_height * out_width; }
  /// Multiply-accumulates.
  [[nodiscard]] int64_t Work() const {
    return Pixels() * outputs * (inputs / convolutions) * Taps();
  }
  /// x at row `h` and column `w`, which may lie outside: then `zeros`.
  [[nodiscard]] const float* Input(const float* image, int64_t h, int64_t w,
                                   const float* zeros) const {
    if (h < 0 || w < 0 || h >= height || w >= width) return zeros;
    return image + h * x.row + w * x.pixel;
  }
};

[[nodiscard]] ImageStrides StridesOf(const TensorView& view);

/// Of a convolution that passed CheckOpCall.
[[nodiscard]] Geometry GeometryOf(const OpCall& conv);

/// True if the pixels of an image tensor lie at equal distances in the order N, H, W; then `step`
/// is that distance in floats.
[[nodiscard]] bool HasEvenPixels(const TensorView& view, int64_t* step);

/// True if channels are neighbours in memory.
[[nodiscard]] inline bool HasDenseChannels(const TensorView& view) {
  return view.dims[1] == 1 || view.strides[1] == 1;
}

}  // namespace tenon::cpu::f32
