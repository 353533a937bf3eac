// What the fast f32 kernels take and hold: the predicates behind f32.inc, which the kernels' own
// checks share. Shape classes where oneDNN is faster are refused here (measured).
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "runtime/ops/op_row.hpp"
#include "runtime/ops/packing_key.hpp"

/// Each predicate answers null for yes, else the reason as a constant text, for operands that
/// passed CheckOpCall. They read dims, dtypes and attributes, never strides or data.
namespace tenon::cpu::f32 {

/// Kernel taps of one pixel: pointers to them lie on the stack.
inline constexpr int kMostTaps = 160;
inline constexpr int kMostDepthwiseTaps = 64;
/// First layers copy the input rows of one output row to the stack: floats of these, and taps.
inline constexpr int kMostFirstChannels = 16;
inline constexpr int kMostRowFloats = 12288;
inline constexpr int kMostFirstTaps = 512;

/// Any convolution by register tiles.
[[nodiscard]] const char* ConvSupports(const OpCall& call);
/// Few input channels, which may lie in any layout and be bytes.
[[nodiscard]] const char* FirstConvSupports(const OpCall& call);
[[nodiscard]] const char* DepthwiseSupports(const OpCall& call);
/// 3x3 with stride 1 where it is worth its transforms.
[[nodiscard]] const char* WinogradSupports(const OpCall& call);
/// The second factor is one matrix (which must be constant: the kernel's check sees that).
[[nodiscard]] const char* MatMulSupports(const OpCall& call);

[[nodiscard]] const char* PoolSupports(const OpCall& call);
/// Along the last axis, whose elements are neighbours.
[[nodiscard]] const char* SoftmaxSupports(const OpCall& call);
/// Along the channels of an image tensor.
[[nodiscard]] const char* ChannelSoftmaxSupports(const OpCall& call);
/// Windows of at most kMostLrnWindow of at most kMostLrnDepth channels of an image tensor.
[[nodiscard]] const char* LrnSupports(const OpCall& call);

/// Floats of the padded input row that one output row of a convolution reads, per channel.
[[nodiscard]] int64_t PaddedRow(const OpCall& conv);

/// How a Winograd convolution's tiles of 4x4 outputs are cut into blocks, whatever the instruction
/// set.
struct WinogradBlocks {
  int tiles;          ///< of all images
  int block_tiles;    ///< the most in one block
  int padded_inputs;  ///< input channels, rounded up
  size_t tile_bytes;  ///< workspace of one tile: its coefficients and products

  /// Workspace of each of `parts` equal parts of the work: its largest block.
  [[nodiscard]] size_t PartBytes(int parts) const {
    const int share = (tiles + parts - 1) / parts;
    return tile_bytes * static_cast<size_t>(share < block_tiles ? share : block_tiles);
  }
};
[[nodiscard]] WinogradBlocks WinogradBlocksOf(const OpCall& call);

/// Enough for one part per thread, whatever their number, up to kMostWinogradParts.
inline constexpr int kMostWinogradParts = 8;
[[nodiscard]] size_t WinogradWorkspaceBytes(const OpCall& call, int threads);

/// What the packed weights of these kernels depend on: the constants and how they are read, not
/// the images. KernelCaps::packing_key.
void ConvPackingKey(const OpCall& call, PackingKey* key);
void MatMulPackingKey(const OpCall& call, PackingKey* key);

/// KernelCaps::packed_bytes: the most over all instruction sets.
[[nodiscard]] size_t ConvPackedBytes(const OpCall& call);  ///< first layers too
[[nodiscard]] size_t DepthwisePackedBytes(const OpCall& call);
[[nodiscard]] size_t WinogradPackedBytes(const OpCall& call);
[[nodiscard]] size_t MatMulPackedBytes(const OpCall& call);

}  // namespace tenon::cpu::f32
