// The inner loops of the Cortex-M kernels, of which each instruction set has its own: simd/helium
// (Armv8.1-M), simd/dsp (Armv7E-M), and simd/generic, plain C++ for any processor, by which what
// stands around them is tested everywhere.
//
// All give the same bits: sums of products are taken modulo 2^32. Nothing is undefined for any
// contents of operands. No pointer needs an alignment but that of its type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::cortex_m {

/// Outputs of a block of products.
inline constexpr int kBlockOutputs = 8;
/// Positions (pixels, rows of a matrix) of a block at most.
inline constexpr int kBlockPixels = 64;
/// Channels and pixels of a block of a depthwise convolution at most.
inline constexpr int kBlockChannels = 16;
inline constexpr int kDepthwisePixels = 32;

// Operands have no values to begin with: zeros that are written over cost a call on small cores.

/// Windows of x times rows of weights. A window is `runs` runs of `run_bytes` contiguous elements
/// each, `x_run` apart; an output's weights are as many, one run behind another.
struct GemmBlock {
  const int8_t* x;    ///< the first window
  ptrdiff_t x_pixel;  ///< from one window to the next
  ptrdiff_t x_run;
  int pixels;  ///< 1 to kBlockPixels
  int runs;
  int run_bytes;
  const int8_t* w;  ///< of the first output; the next one's stand behind it
  int outputs;      ///< 1 to kBlockOutputs

  [[nodiscard]] ptrdiff_t depth() const { return ptrdiff_t{runs} * run_bytes; }
};

/// Neighbouring pixels that the same taps of x, moved on, serve.
struct DepthwiseSegment {
  int32_t pixels;             ///< 1 or more
  const int8_t* const* taps;  ///< of the first pixel
};

/// The same taps of x for each channel. Channels are contiguous.
struct DepthwiseBlock {
  const DepthwiseSegment* segments;  ///< of kDepthwisePixels pixels together at most
  int segment_count;                 ///< 1 or more
  int tap_count;
  int first;          ///< number of the first channel, at which taps do not point yet
  ptrdiff_t x_pixel;  ///< from a pixel's taps to the next pixel's
  int channels;       ///< 1 to kBlockChannels
  const int8_t* w;    ///< of the first tap, at the first channel
  ptrdiff_t w_tap;
};

/// From sums to bytes, as QuantizedOutput says. Factors are one per output, or (step 0) alike for
/// all.
struct Rescale {
  QuantizedOutput output;
  const int32_t* bias = nullptr;        ///< one per output, added first
  const float* scale = nullptr;         ///< kHalfEven
  const int32_t* multiplier = nullptr;  ///< kFixedPoint, kFixedPointOnce
  const int8_t* shift = nullptr;        ///< with `multiplier`
  ptrdiff_t step = 0;
  bool is_plain = false;  ///< what GemmRoutines::is_plain says of it
};

/// `pixels` x `outputs` sums, from the output numbered `first` on.
struct SumBlock {
  int32_t* sums;
  int sum_pixel;  ///< from a pixel's sums to the next one's
  int first;
  int outputs;
  int pixels;
  int8_t* y;  ///< of the first pixel and output; outputs are contiguous
  ptrdiff_t y_pixel;
};

/// `runs` runs of `run_bytes` contiguous elements each.
struct Runs {
  int8_t* to;
  ptrdiff_t to_run;  ///< from one run to the next
  const int8_t* from;
  ptrdiff_t from_run;
  int runs;
  int run_bytes;
};

struct GemmRoutines {
  /// Writes kBlockOutputs sums for each pixel, in any order that `requantize` knows; those beyond
  /// `outputs` may hold anything.
  void (*multiply)(const GemmBlock& block, int32_t* sums);
  /// May change the sums.
  void (*requantize)(const Rescale& rescale, const SumBlock& block);
  /// Whether `requantize` has a shorter way for all outputs of this rescale, whose bias may not be
  /// set yet. Asked once for all blocks. Null: never.
  bool (*is_plain)(const Rescale& rescale, int outputs);
  /// Both for blocks of kBlockOutputs outputs from `block`'s and `results`'s on, as many of
  /// `outputs` as it has a short way for, windows being of one run: gives how many it has done. May
  /// change `results`. Null: none.
  int (*run)(const Rescale& rescale, const GemmBlock& block, int outputs, SumBlock& results);
  /// Of each row of `depth` weights. `rows`: 1 or more.
  void (*sum)(const int8_t* w, ptrdiff_t depth, int rows, int32_t* sums);
  /// to = bias - factor * sums, of `count` each. `bias` may be null, for none; `to` may be `sums`.
  void (*subtract_scaled)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                          int32_t* to);
  void (*copy)(const Runs& runs);
  void (*fill)(int8_t* to, int8_t value, ptrdiff_t count);
  /// Windows of more than one run that are shorter are gathered into one run.
  int least_run_bytes;
};

struct DepthwiseRoutines {
  /// True if `multiply` is right for these weights of any block's; null: always. For others there
  /// is the one in plain C++.
  bool (*takes)(const int8_t* w, ptrdiff_t count);
  /// sums[pixel * kBlockChannels + channel].
  void (*multiply)(const DepthwiseBlock& block, int32_t* sums);
  void (*requantize)(const Rescale& rescale, const SumBlock& block);
  /// As of GemmRoutines.
  void (*subtract_scaled)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                          int32_t* to);
  void (*fill)(int8_t* to, int8_t value, ptrdiff_t count);
  /// Whether `run`, both in one go, is right for this rescale, whose bias may not be set yet. Null:
  /// never.
  bool (*runs)(const Rescale& rescale, int channels);
  void (*run)(const DepthwiseBlock& block, const Rescale& rescale, int8_t* y, ptrdiff_t y_pixel);
};

/// Rows of elements side by side.
struct BinaryRoutines {
  /// z = x + y, or x - y, of `count` elements. z may be x or y.
  void (*add)(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y,
              int8_t* z, ptrdiff_t count);
};

struct LookupRoutines {
  /// y = table[x xor flip] of `count` bytes. y may be x.
  void (*map)(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, ptrdiff_t count);
};

/// The part of a pooling window that lies inside x. Channels are contiguous.
struct Window {
  const int8_t* x;  ///< of the first pixel, at the first channel
  ptrdiff_t row_step;
  ptrdiff_t column_step;
  int rows;
  int columns;
  int channels;  ///< 1 to kBlockChannels
};

struct PoolRoutines {
  /// Adds each channel to its sum, modulo 2^32. The sums of the channels up to kBlockChannels that
  /// the window does not have may be read and written too.
  void (*add)(const Window& window, int32_t* sums);
  void (*largest)(const Window& window, int8_t* y);
  /// sums = before + start + each channel, modulo 2^16, of the window's channels. `before` may be
  /// null, for zeros, or `sums`; the window may have no pixels. Null: there is none.
  void (*add16)(const Window& window, int16_t start, const int16_t* before, int16_t* sums);
};

/// From sums to bytes for every rounding and any factor, one at a time: what instruction sets
/// without a way of their own take, and those that have one for the rare forms that it does not
/// cover.
void RequantizeOneByOne(const Rescale& rescale, const SumBlock& block);

}  // namespace tenon::cpu::cortex_m
