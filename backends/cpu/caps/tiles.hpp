// How the CPU's fast kernels cut their work; the converter's cost model uses these numbers too.
//
// The inner loops include this, compiled for instruction sets that the processor may lack: it must
// contain nothing inline with external linkage.
#pragma once

#include <cstdint>

namespace tenon::cpu::f32 {

/// Is the most that the inner loop of convolutions and matrix products computes at once.
struct Tile {
  int pixels;
  int width;  ///< output channels
};
constexpr Tile kAvx512Tile = {14, 32};
constexpr Tile kAvx2Tile = {6, 16};
constexpr Tile kNeonTile = {5, 16};
/// Of AVX2, for the last channels where 8 would be left over behind 16: 8 alone have too few sums
/// in flight and take nearly as long as 16. More outputs lose by smaller tiles what they gain.
constexpr Tile kAvx2WideTile = {4, 24};
constexpr int kMostWideOutputs = 40;
constexpr Tile kGenericTile = {3, 16};  ///< no other is narrower
constexpr int kMostPixels = kAvx512Tile.pixels;
constexpr int kMostWidth = kAvx512Tile.width;
/// Groups of packed weights have a multiple of this many channels, at most kMostWidth: all but the
/// last are as wide as possible.
constexpr int kWidthStep = 8;
/// Channels are padded to this where the kernels lay out memory themselves.
constexpr int kChannelBlock = 16;
/// Weights above this do not stay in the second-level cache during the loop over pixels: the loop
/// over their groups becomes the outer one.
constexpr int64_t kManyWeightBytes = 256 * 1024;
/// Weights of at least this many bytes are copied to panels when a plan is loaded.
constexpr int64_t kPanelBytes = 128 * 1024;

/// Products of at most so many rows read large weights once, in the order in which they lie.
constexpr int kMostFewRows = 3;

/// Is the most adjacent pixels of one output row that one call of a depthwise convolution computes.
constexpr int kMostDepthwisePixels = 4;

/// Are the most outputs of a convolution whose sums run along the depth, and how many floats their
/// bias is repeated to: those of the most sums that are added up together.
constexpr int kMostNarrowOutputs = 6;
constexpr int kNarrowBias = 16;

/// Are the most outputs of a group whose registers are filled by neighbouring pixels, what these
/// outputs are rounded up to, and the most pixels that are computed at once.
constexpr int kMostPixelOutputs = 8;
constexpr int kPixelOutputStep = 2;
constexpr int kMostPixelRun = 48;

/// Rows of a softmax of at most this many elements are short: several are computed at once.
constexpr int kShortRow = 32;

/// Are the most keys, and the most elements of a query, of an attention.
constexpr int kMostKeys = 1024;
constexpr int kMostQueryElements = 256;

/// Are the points whose pixels are found together.
constexpr int kGridBlock = 64;

/// Are the widest window and the most channels of a local response normalisation.
constexpr int kMostLrnWindow = 64;
constexpr int kMostLrnDepth = 1024;

}  // namespace tenon::cpu::f32

namespace tenon::cpu::q8 {

/// Are the most output channels of a group of packed weights, and what their number is rounded up
/// to.
constexpr int kMostWidth = 64;
constexpr int kWidthStep = 16;
/// Is the number of bytes of x that are multiplied in one step.
constexpr int kDepthStep = 4;

}  // namespace tenon::cpu::q8
