// The convolutions that the OpenCL kernels run, and the memory that the kernels need for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/opencl/caps/tile_shapes.hpp"
#include "runtime/ops/kernel_refusals.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

namespace tenon::opencl {

/// Accepts convolutions that register tiles compute, with one group or several.
[[nodiscard]] const char* ConvTileSupports(const OpCall& call);
/// Accepts those with few input channels, in any layout.
[[nodiscard]] const char* ConvFirstSupports(const OpCall& call);
[[nodiscard]] const char* ConvDepthwiseSupports(const OpCall& call);
[[nodiscard]] const char* ConvWinogradSupports(const OpCall& call);
/// Accepts any f32 convolution, with weights that need not be constant.
[[nodiscard]] const char* ConvReferenceSupports(const OpCall& call);

/// Are KernelCaps::packed_bytes of these kernels, for whatever tile is chosen when the plan is
/// loaded.
[[nodiscard]] size_t ConvTileHeld(const OpCall& call);
[[nodiscard]] size_t ConvDepthwiseHeld(const OpCall& call);
[[nodiscard]] size_t ConvWinogradHeld(const OpCall& call);
[[nodiscard]] size_t ConvReferenceHeld(const OpCall& call);

/// Is KernelCaps::packing_key of all three.
void ConvPackingKey(const OpCall& call, PackingKey* key);

/// Is KernelCaps::workspace_bytes of the Winograd kernel: the coefficients of one piece of the
/// tiles.
[[nodiscard]] size_t ConvWinogradWorkspace(const OpCall& call, int threads);

/// Says how Winograd's tiles are cut into pieces, so that the coefficients of one stay in a cache.
struct WinogradPieces {
  int tile_rows = 0;  ///< per image
  int tile_columns = 0;
  int tiles = 0;           ///< of all images
  int piece_tiles = 0;     ///< of one piece, at most
  int padded_inputs = 0;   ///< channels per tile in memory
  int padded_outputs = 0;  ///< the same of the products
};
[[nodiscard]] WinogradPieces WinogradPiecesOf(const OpCall& call);

inline constexpr int kDepthwiseLanes = 16;

}  // namespace tenon::opencl
