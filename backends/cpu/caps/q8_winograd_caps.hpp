// The predicates and sizes of Winograd's convolution of bytes, which is exact: F(4x4, 3x3) with all
// matrices in whole numbers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/op_row.hpp"

namespace tenon::cpu::q8 {

/// Returns null for yes, else the reason. It reads dims, dtypes, attributes, and which inputs are
/// constant.
[[nodiscard]] const char* WinogradSupports(const OpCall& call);

/// Says how tiles of 4x4 outputs are cut into blocks, whose coefficients are in the workspace:
/// those of the input [36][tiles][numbers], the products of kWinogradWidth output channels
/// [36][tiles][kWinogradWidth], and the sums of these channels [tiles][16][kWinogradWidth].
struct WinogradCut {
  int tiles;        ///< of all images
  int block_tiles;  ///< at most
  int numbers;      ///< input channels, rounded up to pairs
  int outputs;      ///< rounded up to kWinogradWidth

  /// Returns how many numbers apart a block's tiles of one coefficient are from the next one's.
  [[nodiscard]] int64_t CoefficientStep() const;
  /// Returns the bytes of a block's workspace.
  [[nodiscard]] size_t BlockBytes() const;
  /// Returns the cut for so many parts of the work, whose blocks have no more tiles than a part.
  [[nodiscard]] WinogradCut OfParts(int parts) const;
};
[[nodiscard]] WinogradCut WinogradCutOf(const OpCall& call);

/// Is the number of output channels that are computed at once.
inline constexpr int kWinogradWidth = 16;
/// Is the number of tiles whose products are computed at once: blocks of fewer leave room.
inline constexpr int kWinogradTilesAtOnce = 6;
/// Is the most threads that have a workspace each.
inline constexpr int kMostWinogradParts = 16;

/// Are KernelCaps::workspace_bytes and packed_bytes.
[[nodiscard]] size_t WinogradWorkspaceBytes(const OpCall& call, int threads);
[[nodiscard]] size_t WinogradPackedBytes(const OpCall& call);

/// Returns the direct products that take as long as the convolution.
[[nodiscard]] int64_t WinogradProducts(const OpCall& call);

}  // namespace tenon::cpu::q8
