// The tiles of convolutions and matrix products (kernels/conv_tile.cl), in registers or in local
// memory, and the choice of one for an op, which `tenon profile` can measure.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/span.hpp"
#include "runtime/ops/op_row.hpp"

namespace tenon::opencl {

/// A register tile: what one work-item computes at a time. Or, with `slices`, a tile in local
/// memory: what a work-group computes, whose work-items share what they load.
struct TileShape {
  const char* name;  ///< "7x32", "32x32-local": pixels x output channels
  int pixels;        ///< rows of the GEMM
  int lanes;         ///< of a vector of output channels; of a tile in local memory: all of them
  int vectors;
  // Of a tile in local memory alone:
  int slices = 0;        ///< parts of the depth that are summed side by side
  int depth = 0;         ///< taps and channels of a slice that are in local memory at a time
  int item_pixels = 0;   ///< of one work-item
  int item_outputs = 0;  ///< of one work-item

  [[nodiscard]] constexpr int width() const { return lanes * vectors; }
  [[nodiscard]] constexpr bool IsLocal() const { return slices > 0; }
  /// Work-items of its work-group, if it is in local memory.
  [[nodiscard]] constexpr int items() const {
    return pixels / item_pixels * (lanes / item_outputs) * slices;
  }
  /// Floats of local memory that a work-group needs: the slices' operands, and then their sums.
  [[nodiscard]] constexpr int local_floats() const {
    if (!IsLocal()) return 1;
    const int pitch = pixels >= kPadding ? pixels + kPadding : pixels;
    const int operands = depth * (pitch + lanes);
    const int sums = slices > 1 ? pixels * lanes : 0;
    return slices * (operands > sums ? operands : sums);
  }
  /// Added to a row of pixels, so that neighbours in depth lie in different banks.
  static constexpr int kPadding = 4;
};

/// What a tile is chosen by, besides the op.
enum class TileDevice {
  kCpu,          ///< made of a CPU's cores
  kLocalMemory,  ///< has local memory of its own, as most GPUs
  kOther,        ///< keeps what is local where everything is, as Mali
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

/// Returns the tile that an op has on a device, alone as well as merged with others, so that both
/// give the same bits: the one called `variant` (null, or unknown: the default). Where local memory
/// is no gain, and merged ops could have none, a register tile as wide stands for one that is
/// there.
[[nodiscard]] const TileShape& TileFor(const char* variant, const TileProblem& problem,
                                       TileDevice device);

/// Is KernelCaps::variants of kernels with tiles: every tile runs every op on every device.
int TileVariants(const OpCall& call, const char** names, int most);

/// Returns the tile called `variant`; null if there is none, or `variant` is null.
[[nodiscard]] const TileShape* FindTile(const char* variant);

/// Is the number of columns of the widest tile: weights are padded to a multiple of no more than
/// that.
inline constexpr int kMostTileWidth = 64;

}  // namespace tenon::opencl
