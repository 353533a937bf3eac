// Computes the part of a quantized GEMM that is one task, and packs its weights.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/gemm/quantized_gemm.hpp"
#include "runtime/base/config.hpp"

namespace tenon::cpu::portable {

inline constexpr int kQuantizedLanes = 8;  ///< outputs of a block
// Is the number of inputs that are packed at once. (A block is on the stack: 2 KB of it in
// firmware, else 4.)
inline constexpr int kQuantizedDepth = kHasWorkers ? 64 : 32;
/// Is the number of positions of a task: they share the packing.
inline constexpr int kQuantizedPositions = kHasWorkers ? 64 : 32;

/// Is the part of the sum that is computed at once: whole taps, or a part of one tap's channels. It
/// has at most kQuantizedDepth inputs, in the order tap, channel; depthwise taps have one per lane.
struct QuantizedChunk {
  int tap_begin;
  int tap_end;
  int channel_begin;
  int channels;
};

/// Describes elements of x that are successive inputs of the chunk, `x_channel` apart, at every
/// position whose window is inside x. Depthwise: there is one for each tap.
struct QuantizedRun {
  ptrdiff_t offset;  ///< from the window's first element
  int length;
};

struct QuantizedPosition {
  int row;
  int column;
};

/// Is a block of outputs at the positions of one task.
struct QuantizedBlock {
  int begin;  ///< first output
  int lanes;
  int positions;
  QuantizedPosition first;
  int reach[2];                         ///< from a window's first row (column) to its last
  uint32_t constants[kQuantizedLanes];  ///< bias, less what the zero points of x add to the sum
  uint32_t sums[kQuantizedPositions * kQuantizedLanes];
  /// The weights, less their zero points, are [pair of inputs, lane, 2]; in a depthwise block,
  /// inputs are taps.
  alignas(16) int16_t weights[kQuantizedDepth * kQuantizedLanes];
  uint8_t padding[kQuantizedDepth];  ///< what the chunk's channels (or lanes) read there
  QuantizedRun runs[kQuantizedDepth];
  int run_count;
};

/// Gathers the chunk's weights, with zeros for the rest of the last pair and for the lanes beyond
/// the last output; subtracts from the constants what the zero points of x add; sets `padding` and
/// `runs`.
void PackChunk(const QuantizedGemm& gemm, const QuantizedChunk& chunk, QuantizedBlock& block);

}  // namespace tenon::cpu::portable
