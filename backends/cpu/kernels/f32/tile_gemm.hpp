// Convolution and matrix product by register tiles: every item of work is a few pixels by a group
// of output channels.
//
// Nothing is copied: each tap of each pixel is a pointer into the input, or to zeros where it falls
// on padding.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/f32/epilogue.hpp"
#include "backends/cpu/kernels/f32/packed_weights.hpp"
#include "runtime/backend_api/kernel.hpp"
#include "runtime/base/tensor_view.hpp"
#include "runtime/ops/conv_geometry.hpp"

namespace tenon::cpu::f32 {

/// One execution: cheap to make, so that nothing but the weights is held per op.
struct TileGemm {
  const PackedWeights* packed;
  ConvGeometry geometry;
  Activation activation;
  Epilogue epilogue;
  bool scatter;       ///< outputs lie at no even distances
  bool groups_first;  ///< weights are large: go through them once
  bool small;         ///< not worth a second thread
  bool pointwise;     ///< output pixel i reads the input at i * x_step and nothing else
  int64_t tiles;
  int64_t x_step;
  int64_t y_step;
  int64_t residual_step;
};

/// `x`, `y` and `residual` (null: none) are the operands' views, of rank 4.
[[nodiscard]] TileGemm MakeTileGemm(const PackedWeights& packed, const ConvGeometry& geometry,
                                    const Activation& activation, const TensorView& x,
                                    const TensorView& y, const TensorView* residual);

/// Of a convolution whose `state` is its packed weights.
[[nodiscard]] TileGemm ConvGemm(const KernelCall& call);

/// The weights' shape of a convolution.
[[nodiscard]] GroupedShape ShapeOf(const ConvGeometry& geometry);

struct TileOperands {
  const float* x;
  const float* residual;  ///< may be null, and may be y
  float* y;
};

/// Computes pixels [first, first + call.pixels) of one group: `call` says what is read (rows,
/// offsets, taps, depth, pixels), the product everything else.
void RunTileOf(const TileGemm& gemm, int group, int64_t first, const TileOperands& operands,
               TileCall call);

/// `residual` may be null, and may be y.
void RunTileGemm(const TileGemm& gemm, const float* x, const float* residual, float* y,
                 const ParallelRunner* parallel);

}  // namespace tenon::cpu::f32
