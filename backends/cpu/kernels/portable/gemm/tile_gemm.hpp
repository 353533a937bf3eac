// The one loop nest behind convolution and matrix product: a tile of neighbouring positions times
// a block of outputs, kept in registers while the inputs are summed up.
//
// Any strides: a block of weights is first gathered into a small buffer on the stack, outputs
// innermost, so that the sum runs over vectors of outputs whatever the layouts of x, w and y are.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/stored_weights.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {

/// A term added before the activation; `data` null: none. Strides are in elements, 0 repeats.
struct Addend {
  const float* data = nullptr;
  ptrdiff_t output = 0;
  ptrdiff_t row = 0;
  ptrdiff_t column = 0;
};

/// For every output m and position (r, c) of one image and one group:
///   y[m, r, c] = activation(addends[m, r, c] +
///       sum over i, kr, kc of w[m, i, kr, kc] * x[i, r * strides[0] - pads[0] + kr * dilations[0],
///                                                    c * strides[1] - pads[1] + kc *
///                                                    dilations[1]])
/// where x counts as zero outside its rows and columns. Depthwise: there is no i, and x[m] takes
/// the place of x[i].
///
/// A matrix product is the case of one row, one tap: positions are its rows, i its inner dimension.
/// An addend may be y itself. Strides are in elements.
struct TileProduct {
  const float* x = nullptr;
  const uint8_t* x_bytes = nullptr;  ///< if not null x is this, less x_mean[i]
  const float* x_mean = nullptr;     ///< of channel 0
  ptrdiff_t x_mean_channel = 0;
  ptrdiff_t x_channel = 0;
  ptrdiff_t x_row = 0;
  ptrdiff_t x_column = 0;

  StoredWeights w;
  ptrdiff_t w_first = 0;      ///< where the weights of output 0 lie
  ptrdiff_t first_scale = 0;  ///< the output of `w` that output 0 is
  ptrdiff_t w_output = 0;
  ptrdiff_t w_channel = 0;
  ptrdiff_t w_row = 0;
  ptrdiff_t w_column = 0;

  float* y = nullptr;
  ptrdiff_t y_output = 0;
  ptrdiff_t y_row = 0;
  ptrdiff_t y_column = 0;

  Addend addends[2];
  Activation activation;

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
[[nodiscard]] int TileTasks(const TileProduct& product);

/// Computes part `task` of [0, TileTasks). Neighbouring tasks share the same part of x.
void RunTileTask(const TileProduct& product, int task);

}  // namespace tenon::cpu::portable
