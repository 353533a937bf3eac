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
/// Words for the factors of a block of channels: two for each, and a byte.
inline constexpr int kDepthwiseFactorWords = kBlockChannels * 2 + kBlockChannels / 4;

/// Windows of x times rows of weights. A window is `runs` runs of `run_bytes` contiguous elements
/// each, `x_run` apart; an output's weights are as many, one run behind another.
struct ProductBlock {
  const int8_t* x = nullptr;  ///< the first window
  ptrdiff_t x_pixel = 0;      ///< from one window to the next
  ptrdiff_t x_run = 0;
  int pixels = 0;  ///< 1 to kBlockPixels
  int runs = 0;
  int run_bytes = 0;
  const int8_t* w = nullptr;  ///< of the first output; the next one's stand behind it
  int outputs = 0;            ///< 1 to kBlockOutputs

  [[nodiscard]] ptrdiff_t depth() const { return ptrdiff_t{runs} * run_bytes; }
};

/// Neighbouring pixels that the same taps of x, moved on, serve.
struct DepthwiseSegment {
  int32_t pixels;             ///< 1 or more
  const int8_t* const* taps;  ///< of the first pixel
};

/// The same taps of x for each channel. Channels are contiguous.
struct DepthwiseBlock {
  const DepthwiseSegment* segments = nullptr;  ///< of kDepthwisePixels pixels together at most
  int segment_count = 0;                       ///< 1 or more
  int tap_count = 0;
  ptrdiff_t x_first = 0;      ///< from there to the first channel
  ptrdiff_t x_pixel = 0;      ///< from a pixel's taps to the next pixel's
  int channels = 0;           ///< 1 to kBlockChannels
  const int8_t* w = nullptr;  ///< of the first tap, at the first channel
  ptrdiff_t w_tap = 0;
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
};

/// `pixels` x `outputs` sums, from the output numbered `first` on.
struct SumBlock {
  int32_t* sums = nullptr;
  int sum_pixel = 0;  ///< from a pixel's sums to the next one's
  int first = 0;
  int outputs = 0;
  int pixels = 0;
  int8_t* y = nullptr;  ///< of the first pixel and output; outputs are contiguous
  ptrdiff_t y_pixel = 0;
};

/// `runs` runs of `run_bytes` contiguous elements each.
struct Runs {
  int8_t* to = nullptr;
  ptrdiff_t to_run = 0;  ///< from one run to the next
  const int8_t* from = nullptr;
  ptrdiff_t from_run = 0;
  int runs = 0;
  int run_bytes = 0;
};

struct ProductRoutines {
  /// Writes kBlockOutputs sums for each pixel, in any order that `finish` knows; those beyond
  /// `outputs` may hold anything.
  void (*multiply)(const ProductBlock& block, int32_t* sums);
  /// May change the sums.
  void (*finish)(const Rescale& rescale, const SumBlock& block);
  /// Of each row of `depth` weights. `rows`: 1 or more.
  void (*sum)(const int8_t* w, ptrdiff_t depth, int rows, int32_t* sums);
  /// to = bias - factor * sums, of `count` each. `bias` may be null, for none; `to` may be `sums`.
  void (*take_off)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
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
  void (*finish)(const Rescale& rescale, const SumBlock& block);
  /// As of ProductRoutines.
  void (*take_off)(const int32_t* bias, const int32_t* sums, int32_t factor, int count,
                   int32_t* to);
  void (*fill)(int8_t* to, int8_t value, ptrdiff_t count);
  /// Both in one go, where `prepare` says so. It writes kDepthwiseFactorWords words for each block
  /// of channels, of which `run` gets the block's; the rescale's bias may be the last words of all,
  /// kBlockChannels for each block, which are as they were where it says no. Null: never.
  bool (*prepare)(const Rescale& rescale, int channels, int32_t* factors);
  void (*run)(const DepthwiseBlock& block, const int32_t* factors, int32_t zero_point, int8_t* y,
              ptrdiff_t y_pixel);
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
  const int8_t* x = nullptr;  ///< of the first pixel, at the first channel
  ptrdiff_t row_step = 0;
  ptrdiff_t column_step = 0;
  int rows = 0;
  int columns = 0;
  int channels = 0;  ///< 1 to kBlockChannels
};

struct PoolRoutines {
  /// Sums of each channel, which wrap.
  void (*sum)(const Window& window, int32_t* sums);
  void (*largest)(const Window& window, int8_t* y);
};

}  // namespace tenon::cpu::cortex_m
