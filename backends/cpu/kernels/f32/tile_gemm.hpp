// Computes convolutions and matrix products by register tiles: every item of work is a few pixels
// by a group of output channels.
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

/// Multiply-accumulates that take about as long as starting a second thread.
constexpr int64_t kSmallWork = 150'000;

/// Describes one execution. It is cheap to make, so that each op keeps nothing but the weights.
struct TileGemm {
  const PackedWeights* packed;
  /// Is the convolution's, but for windows whose columns are one: see JoinColumns.
  ConvGeometry geometry;
  int taps;   ///< of the geometry
  int depth;  ///< floats that each tap of a pixel reads
  Activation activation;
  Epilogue epilogue;
  bool scatter;       ///< outputs have no constant distance
  bool groups_first;  ///< weights are large: go through them once
  bool small;         ///< not worth a second thread
  bool pointwise;     ///< output pixel i reads the input at i * x_step and nothing else
  int64_t tiles;
  int64_t tile_pixels;  ///< of the tiles behind the first `larger_tiles`, which have one more
  int64_t larger_tiles;
  int64_t x_step;
  int64_t y_step;
  int64_t residual_step;

  [[nodiscard]] int64_t FirstPixel(int64_t tile) const {
    return tile * tile_pixels + (tile < larger_tiles ? tile : larger_tiles);
  }
  [[nodiscard]] int TilePixels(int64_t tile) const {
    return static_cast<int>(tile_pixels + (tile < larger_tiles ? 1 : 0));
  }
};

/// Where tiles find the windows of a convolution.
enum class Windows : uint8_t { kInImage, kInCopies };

/// Makes it from the operands' views `x`, `y` and `residual` (null: none), which have rank 4.
[[nodiscard]] TileGemm MakeTileGemm(const PackedWeights& packed, const ConvGeometry& geometry,
                                    Windows windows, const Activation& activation,
                                    const TensorView& x, const TensorView& y,
                                    const TensorView* residual);

/// Makes it for a convolution.
[[nodiscard]] TileGemm MakeConvGemm(const PackedWeights& packed, Windows windows,
                                    const OpCall& conv);
/// Computes a convolution whose windows are in the image.
void RunConvGemm(const PackedWeights& packed, const OpCall& conv, const ParallelRunner* parallel);

/// Returns the geometry of a product of `rows` rows [inputs]: they are the pixels of an image of
/// one row.
[[nodiscard]] ConvGeometry RowGeometry(int rows, int inputs, int outputs);
/// Makes it for such a product, with rows behind each other.
[[nodiscard]] TileGemm MakeRowGemm(const PackedWeights& packed, const ConvGeometry& geometry,
                                   const Activation& activation);

/// Returns true if every output pixel reads the input pixel at the same place, and no other.
[[nodiscard]] bool IsPointwise(const ConvGeometry& geometry);

/// Returns how many pixels a tile of these weights takes at most.
[[nodiscard]] inline int MostPixels(const PackedWeights& packed) {
  const Routines& routines = *packed.routines;
  return packed.shape.wide_last ? routines.wide_tile.pixels : routines.tile_pixels;
}

/// Returns the shape of a convolution's weights, as these routines read them.
[[nodiscard]] GroupedShape ShapeOf(const ConvGeometry& geometry, const Routines& routines);

/// Applies the activation to `pixels` rows of `channels` outputs, unless tiles clamp them.
void ActivateTile(const TileGemm& gemm, float* y, int64_t y_step, int pixels, int channels);

struct TileOperands {
  const float* x;
  const float* residual;  ///< may be null, and may be y
  float* y;
};

/// Returns a call with all that the tiles of an execution have in common. Tiles change it and pass
/// it on, and never copy it: a copy reads several of its fields at once just after they were
/// written one by one, for which the processor waits until every store before them, among them the
/// last tile's outputs, has left for the cache.
[[nodiscard]] TileCall StartTiles(const TileGemm& gemm);

/// Computes all groups of `tiles` tiles of call.pixels pixels each, from pixel `first` on. `call`
/// is of `StartTiles` and says what the first tile reads (rows, offsets, taps, depth): the next
/// reads what lies `x_next` floats on.
void RunEvenTiles(const TileGemm& gemm, int64_t first, int tiles, int64_t x_next,
                  const TileOperands& operands, TileCall& call);

/// `residual` may be null, and may be y.
void RunTileGemm(const TileGemm& gemm, const float* x, const float* residual, float* y,
                 const ParallelRunner* parallel);

}  // namespace tenon::cpu::f32
