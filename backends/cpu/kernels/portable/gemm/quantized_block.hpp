// The part of a quantized GEMM that one task computes, and the packing of its weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "runtime/base/config.hpp"

namespace tenon::cpu::portable {

inline constexpr int kQuantizedLanes = 8;  ///< outputs of a block
// A block lies on the stack: 2 KB of it in firmware, else 4.
/// Inputs that are packed at once.
inline constexpr int kQuantizedDepth = kHasWorkers ? 64 : 32;
/// Positions of a task: they share the packing.
inline constexpr int kQuantizedPositions = kHasWorkers ? 64 : 32;

/// The part of the sum that is done in one go: whole taps, or a part of one tap's channels. Its
/// inputs are in the order tap, channel, at most kQuantizedDepth; depthwise taps have one a lane.
struct QuantizedChunk {
  int tap_begin;
  int tap_end;
  int channel_begin;
  int channels;
};

/// Elements of x that are the chunk's inputs one after another, `x_channel` apart, at every
/// position whose window lies inside x. Depthwise: one for each tap.
struct QuantizedRun {
  ptrdiff_t offset;  ///< from the window's first element
  int length;
};

struct QuantizedPosition {
  int row;
  int column;
};

/// A block of outputs at the positions of one task.
struct QuantizedBlock {
  int begin;  ///< first output
  int lanes;
  int positions;
  QuantizedPosition first;
  int reach[2];                         ///< from a window's first row (column) to its last
  uint32_t constants[kQuantizedLanes];  ///< bias, less what the zero points of x add to the sum
  uint32_t sums[kQuantizedPositions * kQuantizedLanes];
  /// Less their zero points: [pair of inputs, lane, 2], inputs being taps in a depthwise block.
  alignas(16) int16_t weights[kQuantizedDepth * kQuantizedLanes];
  uint8_t padding[kQuantizedDepth];  ///< what the chunk's channels (or lanes) read there
  QuantizedRun runs[kQuantizedDepth];
  int run_count;
};

/// Gathers the chunk's weights, zeros filling up the last pair and the lanes beyond the last
/// output; takes from the constants what the zero points of x add; sets `padding` and `runs`.
void PackChunk(const QuantizedGemm& gemm, const QuantizedChunk& chunk, QuantizedBlock& block);

}  // namespace tenon::cpu::portable
