// The register tiles of convolutions and matrix products (kernels/conv_tile.cl), and which of them
// an op may be run with: a choice that `tenon profile` can measure.
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

/// What matters of an op for its tile.
struct TileProblem {
  int64_t pixels = 0;    ///< rows of the GEMM
  int32_t outputs = 0;   ///< channels, per group
  int32_t channels = 0;  ///< of the input per group, of one tap
};
[[nodiscard]] TileProblem ConvTileProblem(const OpCall& conv);
[[nodiscard]] TileProblem MatMulTileProblem(const OpCall& matmul);

/// All tiles.
[[nodiscard]] Span<const TileShape> TileShapes();

/// The one that is taken where no measurement says otherwise. `is_cpu`: the device is made of a
/// CPU's cores.
[[nodiscard]] const TileShape& DefaultTile(const TileProblem& problem, bool is_cpu);

/// KernelCaps::variants of kernels with register tiles: every tile runs every op.
int TileVariants(const OpCall& call, const char** names, int most);

/// The tile called `variant`; null if there is none, or `variant` is null.
[[nodiscard]] const TileShape* FindTile(const char* variant);

/// Columns of the widest tile: weights are padded to a multiple of no more than that.
inline constexpr int kMostTileWidth = 64;

}  // namespace tenon::opencl
