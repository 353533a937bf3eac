// The register tiles of convolutions and matrix products (kernels/conv_tile.cl), and the choice of
// one for an op, which `tenon profile` can measure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

struct TileShape {
  const char* name;  ///< "7x32": pixels x output channels
  int pixels;        ///< rows of the GEMM
  int lanes;         ///< of a vector of output channels
  int vectors;

  [[nodiscard]] constexpr int width() const { return lanes * vectors; }
};

/// Contains the properties of an op that matter for its tile.
struct TileProblem {
  int64_t pixels = 0;    ///< rows of the GEMM
  int32_t outputs = 0;   ///< channels, per group
  int32_t channels = 0;  ///< of the input per group, of one tap
};
[[nodiscard]] TileProblem ConvTileProblem(const OpCall& conv);
[[nodiscard]] TileProblem MatMulTileProblem(const OpCall& matmul);

/// Returns all tiles.
[[nodiscard]] Span<const TileShape> TileShapes();

/// Returns the tile that is used unless a measurement says otherwise. `is_cpu` means that the
/// device consists of a CPU's cores.
[[nodiscard]] const TileShape& DefaultTile(const TileProblem& problem, bool is_cpu);

/// Is KernelCaps::variants of kernels with register tiles: every tile runs every op.
int TileVariants(const OpCall& call, const char** names, int most);

/// Returns the tile called `variant`; null if there is none, or `variant` is null.
[[nodiscard]] const TileShape* FindTile(const char* variant);

/// Is the number of columns of the widest tile: weights are padded to a multiple of no more than
/// that.
inline constexpr int kMostTileWidth = 64;

}  // namespace tenon::opencl
