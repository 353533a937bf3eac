// Widens the inputs of one pass over a convolution's outputs.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::dsp {

/// Says where a convolution's operands are. Index 0: rows; 1: columns. Steps are in bytes.
struct Geometry : ConvWindow {
  const uint8_t* x;
  uint8_t* y;
  int images;
  ptrdiff_t x_image;
  ptrdiff_t y_image;
  ptrdiff_t x_step[2];
  ptrdiff_t y_step[2];
  int channels;
  int outputs;
  bool is_one_row;  ///< all images are read as one row
  uint8_t padding;  ///< x's zero point
};

[[nodiscard]] Geometry GeometryOf(const OpCall& conv);

/// Makes the pixels of a pointwise convolution one row if their steps allow it.
void JoinPixels(const OpCall& conv, Geometry& geometry);

/// Describes outputs [row, row + rows) x [column, column + columns) of an image.
struct Pass {
  int row;
  int column;
  int rows;
  int columns;
};

/// Fills `to` with the rows of x that the pass reads, with their padding. `follows`: the last pass
/// was the one above, and this pass keeps the inputs that both read.
void LoadRows(const Geometry& geometry, const ConvBand& band, const Widening& widening,
              const uint8_t* image, const Pass& pass, bool follows, int16_t* to);

/// Fills `to` with the pixels of x that the pass reads, in pairs (see PairGemm). The pass must be
/// one row, or rows with even numbers of pixels.
void LoadPixels(const Geometry& geometry, const ConvBand& band, const Widening& widening,
                const uint8_t* image, const Pass& pass, int16_t* to);

/// Copies the pixels that a pointwise convolution reads, and makes the copy the geometry's x.
void CopyPixels(Geometry& geometry, uint8_t* to);

/// Copies the window of a pixel as contiguous bytes, but for what fills up its last word.
void GatherWindow(const Geometry& geometry, const uint8_t* image, int row, int column, uint8_t* to);

/// Fills `to` with the windows of the pass's pixels, in pairs. `bytes` is a buffer for two windows.
void LoadWindows(const Geometry& geometry, const ConvBand& band, const Widening& widening,
                 const uint8_t* image, const Pass& pass, uint8_t* bytes, int16_t* to);

}  // namespace tenon::cpu::dsp
