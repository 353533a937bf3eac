// The one loop nest behind quantized convolution and matrix product, in integers: a tile of
// neighbouring positions times a block of outputs.
//
// Any strides: weights less their zero points, and inputs, are first gathered into small buffers on
// the stack as pairs of 16-bit words, which most processors multiply and add in one instruction.
// The zero point of x is taken out of the sum: padding reads as the zero point, so that the same
// amount is subtracted at every position.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// One number for each output or input channel, or (step 0) one for all. Null: none.
template <typename T>
struct PerChannel {
  const T* data = nullptr;
  ptrdiff_t step = 0;

  [[nodiscard]] T At(ptrdiff_t channel) const { return data[channel * step]; }
  void Skip(ptrdiff_t channels) {
    if (data != nullptr) data += channels * step;
  }
};

/// As TileProduct (tile_product.hpp), of i8 and u8 elements: rows, columns, taps and strides mean
/// the same. What becomes of a sum, attributes.hpp says (quantized convolution). Strides are in
/// elements.
struct QuantizedProduct {
  const uint8_t* x = nullptr;
  int32_t x_flip = 0;  ///< SignFlip of x's dtype
  ptrdiff_t x_channel = 0;
  ptrdiff_t x_row = 0;
  ptrdiff_t x_column = 0;
  PerChannel<uint8_t> x_zero_point;

  const uint8_t* w = nullptr;
  int32_t w_flip = 0;
  ptrdiff_t w_output = 0;
  ptrdiff_t w_channel = 0;
  ptrdiff_t w_row = 0;
  ptrdiff_t w_column = 0;
  PerChannel<uint8_t> w_zero_point;

  void* y = nullptr;
  ptrdiff_t y_output = 0;
  ptrdiff_t y_row = 0;
  ptrdiff_t y_column = 0;

  PerChannel<int32_t> bias;
  PerChannel<float> scale;         ///< kHalfEven
  PerChannel<int32_t> multiplier;  ///< kFixedPoint
  PerChannel<int8_t> shift;        ///< kFixedPoint
  QuantizedOutput output;

  bool depthwise = false;
  int channels = 1;  ///< inputs summed per tap; 1 for depthwise
  int outputs = 0;
  int in_extent[2] = {1, 1};   ///< rows, columns of x
  int out_extent[2] = {1, 1};  ///< rows, columns of y
  int kernel[2] = {1, 1};
  int strides[2] = {1, 1};
  int dilations[2] = {1, 1};
  int pads[2] = {0, 0};  ///< before the first row, before the first column
};

/// Number of independent parts of a product; 0 if it has no outputs.
[[nodiscard]] int QuantizedTasks(const QuantizedProduct& product);

/// Computes part `task` of [0, QuantizedTasks). Neighbouring tasks share the same part of x.
void RunQuantizedTask(const QuantizedProduct& product, int task);

}  // namespace tenon::cpu::portable
