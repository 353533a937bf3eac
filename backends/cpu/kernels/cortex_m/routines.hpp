// The inner loops of the Cortex-M kernels, of which each instruction set has its own: simd/helium
// (Armv8.1-M), simd/dsp (Armv7E-M), and simd/generic. The latter is plain C++ for any processor, so
// that the code around the routines is tested everywhere.
//
// All give the same bits: sums of products are taken modulo 2^32. No content of operands leads to
// undefined behaviour. No pointer needs an alignment but that of its type.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::cortex_m {

// The members have no initial values: writing zeros that are then overwritten costs a call on small
// cores.

/// Describes the product of windows of x and rows of weights. A window consists of `runs` runs of
/// `run_bytes` contiguous elements each, `x_run` apart; an output has as many weights, whose runs
/// follow each other without gaps.
struct GemmBlock {
  const int8_t* x;    ///< the first window
  ptrdiff_t x_pixel;  ///< distance from one window to the next
  ptrdiff_t x_run;
  int pixels;  ///< 1 to kBlockPixels
  int runs;
  int run_bytes;
  const int8_t* w;  ///< weights of the first output; those of the next one follow them
  int outputs;      ///< 1 to kBlockOutputs

  [[nodiscard]] ptrdiff_t depth() const { return ptrdiff_t{runs} * run_bytes; }
};

/// Describes neighbouring pixels whose taps of x are those of the first pixel, moved on.
struct DepthwiseSegment {
  int32_t pixels;             ///< 1 or more
  const int8_t* const* taps;  ///< taps of the first pixel
};

/// Describes a block whose channels have the same taps of x. Channels are contiguous.
struct DepthwiseBlock {
  const DepthwiseSegment* segments;  ///< their pixels are at most kDepthwisePixels together
  int segment_count;                 ///< 1 or more
  int tap_count;
  int first;          ///< number of the first channel, which is to be added to the taps
  ptrdiff_t x_pixel;  ///< distance from a pixel's taps to the next pixel's
  int channels;       ///< 1 to kBlockChannels
  const int8_t* w;    ///< weights of the first tap, at the first channel
  ptrdiff_t w_tap;
};

/// Says how sums become bytes, as QuantizedOutput defines. There is one factor per output or (step
/// 0) one for all.
struct Rescale {
  QuantizedOutput output;
  const int32_t* bias = nullptr;        ///< one per output, added first
  const float* scale = nullptr;         ///< kHalfEven
  const int32_t* multiplier = nullptr;  ///< kFixedPoint, kFixedPointOnce
  const int8_t* shift = nullptr;        ///< with `multiplier`
  ptrdiff_t step = 0;
  bool is_plain = false;  ///< result of GemmRoutines::is_plain for it
};

/// Contains `pixels` x `outputs` sums, from the output numbered `first` on.
struct SumBlock {
  int32_t* sums;
  int sum_pixel;  ///< distance from a pixel's sums to the next one's
  int first;
  int outputs;
  int pixels;
  int8_t* y;  ///< byte of the first pixel and output; outputs are contiguous
  ptrdiff_t y_pixel;
};

/// Describes `runs` runs of `run_bytes` contiguous elements each.
struct Runs {
  int8_t* to;
  ptrdiff_t to_run;  ///< distance from one run to the next
  const int8_t* from;
  ptrdiff_t from_run;
  int runs;
  int run_bytes;
};

struct GemmRoutines {
  /// Writes kBlockOutputs sums for each pixel, in any order that `requantize` knows; those beyond
  /// `outputs` may have any value.
  void (*multiply)(const GemmBlock& block, int32_t* sums);
  /// Makes bytes of the sums, which it may change.
  void (*requantize)(const Rescale& rescale, const SumBlock& block);
  /// Returns whether `requantize` has a shorter way for all outputs of this rescale, whose bias may
  /// not be set yet. It is called once for all blocks. Null: never.
  bool (*is_plain)(const Rescale& rescale, int outputs);
  /// Does both for blocks of kBlockOutputs outputs, from those of `block` and `results` on, for
  /// windows of one run. It does as many of the `outputs` as it has a short way for, and returns
  /// their number. It may change `results`. Null: it does not exist.
  int (*run)(const Rescale& rescale, const GemmBlock& block, int outputs, SumBlock& results);
  /// Sums each of `rows` (1 or more) rows of `depth` weights.
  void (*sum)(const int8_t* w, ptrdiff_t depth, int rows, int32_t* sums);
  /// Computes to = bias - factor * sums, of `count` elements each. `bias` may be null, for zeros;
  /// `to` may be `sums`.
  void (*subtract_scaled)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                          int32_t* to);
  void (*copy)(const Runs& runs);
  void (*fill)(int8_t* to, int8_t value, ptrdiff_t count);
  /// Is the shortest run that is read in place: in windows of several runs, shorter ones are
  /// gathered into one run.
  int least_run_bytes;
};

struct DepthwiseRoutines {
  /// Returns true if `multiply` is right for these weights in any block; null: always. Other
  /// weights use the routine in plain C++.
  bool (*takes)(const int8_t* w, ptrdiff_t count);
  /// Writes sums[pixel * kBlockChannels + channel].
  void (*multiply)(const DepthwiseBlock& block, int32_t* sums);
  void (*requantize)(const Rescale& rescale, const SumBlock& block);
  /// Is the same as in GemmRoutines.
  void (*subtract_scaled)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                          int32_t* to);
  void (*fill)(int8_t* to, int8_t value, ptrdiff_t count);
  /// Returns whether `run`, which does both steps at once, is right for this rescale, whose bias
  /// may not be set yet. Null: never.
  bool (*runs)(const Rescale& rescale, int channels);
  void (*run)(const DepthwiseBlock& block, const Rescale& rescale, int8_t* y, ptrdiff_t y_pixel);
};

/// Contains the routines for rows of contiguous elements.
struct BinaryRoutines {
  /// Computes z = x + y, or x - y, for `count` elements. z may be x or y.
  void (*add)(const QuantizedBinaryAttributes& attributes, const int8_t* x, const int8_t* y,
              int8_t* z, ptrdiff_t count);
};

struct LookupRoutines {
  /// Computes y = table[x xor flip] for `count` bytes. y may be x.
  void (*map)(const uint8_t* table, uint8_t flip, const uint8_t* x, uint8_t* y, ptrdiff_t count);
};

/// Describes the part of a pooling window that is inside x. Channels are contiguous.
struct Window {
  const int8_t* x;  ///< the first pixel, at the first channel
  ptrdiff_t row_step;
  ptrdiff_t column_step;
  int rows;
  int columns;
  int channels;  ///< 1 to kBlockChannels
};

struct PoolRoutines {
  /// Adds each channel to its sum, modulo 2^32. Sums beyond the window's channels, up to
  /// kBlockChannels, may be read and written too.
  void (*add)(const Window& window, int32_t* sums);
  void (*largest)(const Window& window, int8_t* y);
  /// Computes sums = before + start + each channel, modulo 2^16, for the window's channels.
  /// `before` may be null, for zeros, or `sums`; the window may have no pixels. Null: it does not
  /// exist.
  void (*add16)(const Window& window, int16_t start, const int16_t* before, int16_t* sums);
};

/// Makes bytes of sums for every rounding and any factor, one at a time. Instruction sets without a
/// routine of their own use it, and the others use it for the rare forms that theirs does not
/// cover.
void RequantizeOneByOne(const Rescale& rescale, const SumBlock& block);

}  // namespace tenon::cpu::cortex_m
