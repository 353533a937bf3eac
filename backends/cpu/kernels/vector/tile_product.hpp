// Convolution and matrix product by register tiles: every item of work is a few pixels by a group
// of output channels.
//
// Nothing is copied: each tap of each pixel is a pointer into the input, or to zeros where it falls
// on padding.
#pragma once

#include <cstddef>

#include "backends/cpu/kernels/vector/channel_groups.hpp"
#include "backends/cpu/kernels/vector/finish.hpp"
#include "backends/cpu/kernels/vector/geometry.hpp"
#include "backends/cpu/kernels/vector/simd/routines.hpp"
#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/status.hpp"

namespace tenon::cpu::vector {

struct TileProductSpec {
  Geometry geometry;
  WeightsView weights;
  const float* bias = nullptr;  ///< null: none
  Activation activation;
};

/// What `load` makes: lies in one block, with everything that it points to.
struct TileProduct {
  const Routines* routines;
  size_t bytes;
  Geometry geometry;
  Activation activation;
  Finish finish;
  bool scatter;       ///< outputs lie at no even distances
  bool groups_first;  ///< weights are large: go through them once
  bool small;         ///< not worth a second thread
  bool pointwise;     ///< output pixel i reads the input at i * x_step and nothing else
  int taps;
  int depth;
  int tiles;
  int group_count;
  int64_t x_step;
  int64_t y_step;
  int64_t residual_step;
  ChannelGroup* groups;
  float* weights;
  float* bias;   ///< per group, padded to its width
  float* zeros;  ///< as many as input channels
};

/// Packs the weights. `x`, `y` and `residual` (null: none) are the operands' views. Errors: no
/// memory.
Status MakeTileProduct(const TileProductSpec& spec, const TensorView& x, const TensorView& y,
                       const TensorView* residual, void** shared);

struct TileOperands {
  const float* x;
  const float* residual;  ///< may be null, and may be y
  float* y;
};

/// Computes pixels [first, first + call.pixels) of one group: `call` says what is read (rows,
/// offsets, taps, depth, pixels), the product everything else.
void RunTileOf(const TileProduct& product, int group, int64_t first, const TileOperands& operands,
               TileCall call);

/// `residual` may be null, and may be y.
void RunTileProduct(const TileProduct& product, const float* x, const float* residual, float* y,
                    const ParallelRunner* parallel);

}  // namespace tenon::cpu::vector
