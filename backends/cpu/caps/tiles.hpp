// How the CPU's fast kernels cut their work, which the converter's costs count in, too.
//
// The inner loops include this, compiled for instruction sets that the processor may lack: nothing
// inline with external linkage may stand here.
#pragma once

#include <cstdint>

namespace tenon::cpu::f32 {

/// What the inner loop of convolutions and matrix products computes at once at most.
struct Tile {
  int pixels;
  int width;  ///< output channels
};
constexpr Tile kAvx512Tile = {14, 32};
constexpr Tile kAvx2Tile = {6, 16};
constexpr Tile kNeonTile = {6, 16};
constexpr Tile kGenericTile = {3, 16};  ///< no other is narrower
constexpr int kMostPixels = kAvx512Tile.pixels;
constexpr int kMostWidth = kAvx512Tile.width;
/// Channels that a group of packed weights may hold are a multiple of this, at most kMostWidth: all
/// but the last are as wide as possible.
constexpr int kWidthStep = 8;
/// Channels are padded to this where the kernels lay out memory themselves.
constexpr int kChannelBlock = 16;
/// Weights above this do not stay in the second-level cache while the pixels go by: their groups
/// become the outer loop.
constexpr int64_t kManyWeightBytes = 256 * 1024;

/// Depthwise: adjacent pixels of one output row that one call computes at most.
constexpr int kMostDepthwisePixels = 4;

/// Rows of a softmax of at most this many elements are short: they are computed side by side.
constexpr int kShortRow = 32;

/// The widest window and the most channels of a local response normalisation.
constexpr int kMostLrnWindow = 64;
constexpr int kMostLrnDepth = 1024;

}  // namespace tenon::cpu::f32

namespace tenon::cpu::q8 {

/// Output channels that a group of packed weights holds at most, and what their number is rounded
/// up to.
constexpr int kMostWidth = 64;
constexpr int kWidthStep = 16;
/// Bytes of x that are multiplied in one step.
constexpr int kDepthStep = 4;

}  // namespace tenon::cpu::q8
