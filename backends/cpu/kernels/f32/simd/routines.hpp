// The inner loops of the vector kernels, as one table of functions per instruction set.
//
// This header, and whatever the routines_*.cpp files include, must call no inline function with
// external linkage: those files are compiled for instruction sets that the processor may lack, and
// the linker could keep their copy of a shared function for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backends/cpu/caps/tiles.hpp"
#include "runtime/ops/functions.hpp"

namespace tenon::cpu::f32 {

/// Is the number of channels of a tile's depth for each look ahead.
constexpr int kAheadDepth = 8;

/// Computes `pixels` x `channels` outputs: y[i][m] = clamp(bias[m] + residual[i][m] + sum over taps
/// t and channels k of rows[t][i][k] * weights[t][k][m], low, high). Then it does so again with
/// all that is named `..._next` moved on, `repeats` times in all.
struct TileCall {
  const float* const* rows;  ///< [taps][pixels], each pointing at `depth` floats
  /// It is null, or [depth] with one tap: value k of a pixel is offsets[k] floats from its pointer.
  const int64_t* offsets;
  const float* weights;   ///< [taps][depth] rows of `width`, `weight_step` floats apart
  const float* bias;      ///< [width]
  const float* residual;  ///< may be null, and may be y
  float* y;
  /// What will be read next, if it is not null: it is brought into the second-level cache
  /// meanwhile, `ahead_lines` lines, `ahead_step` floats apart, for every kAheadDepth channels.
  const float* ahead;
  int64_t ahead_step;
  int64_t ahead_next;  ///< if not 0, each repeat begins with its own weights and so many floats on
  int ahead_lines;
  int64_t taps;
  int64_t depth;
  int64_t weight_step;
  int64_t residual_step;  ///< floats from pixel to pixel
  int64_t y_step;
  int64_t x_first;  ///< floats from where `rows` point to what is read
  int64_t x_next;   ///< floats from repeat to repeat
  int64_t weights_next;
  int64_t bias_next;
  int64_t residual_next;
  int64_t y_next;
  int repeats;
  int pixels;    ///< 1 to the routines' `tile_pixels`, or those of `wide_tile`
  int width;     ///< a multiple of kWidthStep, at most the routines' `tile_width`, or `wide_tile`'s
  int channels;  ///< outputs to store, at most `width`
  float low;     ///< NaN passes the clamp
  float high;
  /// Is true if sums have one order for any `pixels` (else a few pixels sum in parts, which is
  /// faster). It excludes `offsets`.
  bool in_order;
  /// Is true if outputs, and residuals, may lie beyond the second-level cache.
  bool outputs_far;
};

/// Computes `pixels` adjacent outputs of one row, every channel on its own, `repeats` times side by
/// side. Weights and bias can be read up to the next multiple of 4 channels. The weight of channel
/// c, tap t and input k of its group is weights[c / kChannelBlock * block_step + (t * group + k) *
/// tap_step + c % kChannelBlock].
struct DepthwiseCall {
  /// For compact kernels it is [kernel_h] rows of the input with columns `x_step` apart, of which
  /// those from `first_row` to before `end_row` are read, if x_step is not 0; if it is, there is
  /// one repeat of [kernel_h][(pixels - 1) * stride + kernel_w] columns. For other kernels it is
  /// one of [taps][pixels].
  const float* const* rows;
  const float* weights;
  const float* bias;      ///< [channels]
  const float* residual;  ///< may be null, and may be y
  float* y;
  int64_t block_step;
  int64_t tap_step;
  int64_t residual_step;
  int64_t y_step;
  int64_t x_step;
  int first_row;
  int end_row;
  int repeats;
  int channels;
  int pixels;  ///< 1 to kMostDepthwisePixels
  int taps;
  int multiplier;      ///< output c reads channel c / multiplier; 1 for compact kernels
  int group;           ///< 1, or 2 or 4: output c reads so many channels, those of its group
  int compact_kernel;  ///< 2, 3, 5 or 7 (square, dilation 1), 3 for groups; 0 for any other kernel
  int compact_stride;  ///< of columns, 1 or 2; 1 for 2, for 7 and for groups
  float low;
  float high;
};

/// Computes neighbouring pixels of a convolution of few outputs: y[i][m] = clamp(bias[m] +
/// residual[i][m] + sum over rows r, columns c and floats k < `length` of x[r * row_step + c *
/// column_step + i * x_step + k] * weights[m * output_step + r * weight_row_step + c *
/// weight_column_step + k], low, high).
struct NarrowCall {
  const float* x;
  const float* weights;
  const float* bias;      ///< [kNarrowBias]: the outputs' again and again
  const float* residual;  ///< may be null, and may be y
  float* y;
  int64_t row_step;
  int64_t column_step;
  int64_t x_step;
  int64_t output_step;
  int64_t weight_row_step;
  int64_t weight_column_step;
  int rows;  ///< none: of padding only
  int columns;
  int length;
  int pixels;
  int outputs;  ///< 1 to kMostNarrowOutputs
  float low;    ///< NaN passes the clamp
  float high;
};

/// Computes `rows` x `columns` pixels of one group of a convolution: y[r][c][m] = clamp(bias[m] +
/// residual[r][c][m] + sum over k < `products` of x[offsets[k] + r * x_row + c] * weights[k][m],
/// low, high). What is kMostPixelRun floats behind the last pixel's inputs can be read, too.
struct PixelsCall {
  const float* x;
  const int32_t* offsets;
  const float* weights;   ///< [products][width]
  const float* bias;      ///< [width]
  const float* residual;  ///< may be null, and may be y
  float* y;
  int64_t x_row;  ///< floats from row to row, at least `columns`
  int64_t residual_row;
  int64_t residual_pixel;
  int64_t residual_channel;
  int64_t y_row;
  int64_t y_pixel;
  int64_t y_channel;
  int products;
  int outputs;  ///< 1 to kMostPixelOutputs
  int width;    ///< the outputs, rounded up to kPixelOutputStep
  int rows;
  int columns;
  float low;  ///< NaN passes the clamp
  float high;
};

/// Transforms one 6x6 input tile of Winograd F(4x4, 3x3) to its 36 coefficients, per channel.
struct WinogradInputCall {
  const float* const* rows;  ///< [6][6]
  float* coefficients;       ///< [36] rows of `channels` rounded up to kChannelBlock
  int64_t coefficient_step;  ///< floats from coefficient to coefficient
  int channels;
};

/// Transforms 36 coefficients of one tile to its 4x4 outputs, of which it stores `y_rows` x
/// `y_columns`.
struct WinogradOutputCall {
  const float* coefficients;  ///< [36] rows of `width` floats
  const float* bias;          ///< [width]
  const float* residual;      ///< may be null, and may be y
  float* y;
  int64_t coefficient_step;
  int64_t residual_row_step;
  int64_t residual_step;
  int64_t y_row_step;
  int64_t y_step;
  int y_rows;
  int y_columns;
  int width;  ///< a multiple of kWidthStep
  int channels;
  float low;
  float high;
};

/// Describes one output position of a pooling: the `rows` x `columns` taps that are inside the
/// input, which have equal steps. The channels of each tap are contiguous.
struct PoolCall {
  const float* x;  ///< the first tap
  float* y;        ///< must not overlap x
  int64_t row_step;
  int64_t column_step;
  int rows;
  int columns;
  int channels;
  float divisor;  ///< of an average's sum
};

/// Describes `rows` rows of `count` contiguous elements each; or with a `stride` as many columns
/// beside each other, whose elements are `stride` floats apart.
struct SoftmaxCall {
  const float* x;
  float* y;        ///< may be x
  int64_t x_step;  ///< floats from row to row
  int64_t y_step;
  int64_t stride;  ///< 0: of rows
  int rows;
  int count;
  bool log;
};

/// Normalises `rows` rows of `count` contiguous elements each: see LayerNormAttributes.
struct LayerNormCall {
  const float* x;
  float* y;        ///< may be x
  int64_t x_step;  ///< floats from row to row
  int64_t y_step;
  int rows;
  int count;
  const float* scale;  ///< [count]
  const float* bias;   ///< [count], or null
  float epsilon;
  bool rms;
};

/// Computes `pixels` pixels of `channels` contiguous elements: y[c] = x[c] / (bias + scale * sum of
/// the squares of x[c - before] to x[c - before + size - 1])^beta.
struct LrnCall {
  const float* x;
  float* y;  ///< must not overlap x
  int64_t x_step;
  int64_t y_step;
  int pixels;
  int channels;  ///< 1 to kMostLrnDepth
  int before;
  int size;  ///< 1 to kMostLrnWindow
  float scale;
  float beta;
  float bias;
};

/// Computes y[r][i] = function(x[r][i]) for rows r < `rows` and i < count, as functions.hpp defines
/// it, for the functions of caps/vector_functions.inc. Sigmoid and SiLU are within 4 units in the
/// last place, the others within 8; where they should be below 1e-35 they are below 1e-35 or 0.
struct ActivateCall {
  UnaryFunction function;
  float a;
  float b;
  const float* x;
  int64_t x_step;  ///< floats from row to row
  float* y;        ///< may be x, with the same step
  int64_t y_step;
  int rows;
  int count;
};

/// Computes z[r][i] = min(max(function(x[r][i], y[r][i]), low), high) for rows r < `rows` and i <
/// count, each step rounded as by portable/elementwise/binary_row.cpp; without y, of x alone.
/// Functions: add, sub, mul, div, max, min, prelu.
struct JoinCall {
  BinaryFunction function;
  const float* x;
  const float* y;  ///< may be null
  float* z;        ///< may be x or y, with the same steps
  int64_t x_step;  ///< floats from row to row
  int64_t y_step;
  int64_t z_step;
  int rows;
  int count;
  bool x_repeats;  ///< each row of x is one element, that stands for `count`
  bool y_repeats;  ///< the same of y; not both
  float low;       ///< NaN passes the clamp
  float high;
};

/// Computes y[i] = sum over k < `depth` of a[i][k] * column[k] for rows i < `rows`.
struct ColumnCall {
  const float* a;
  const float* column;
  float* y;
  int64_t a_step;  ///< floats from row to row
  int rows;
  int depth;
};

/// Computes y[r][c] = min(max(bias[c] + sum over k < `depth` of x[r][k] * weights[k][c], low),
/// high) for rows r < `rows` and c < `columns`. A column's sums do not depend on the other columns.
struct FewRowsCall {
  const float* x;
  const float* weights;
  const float* bias;  ///< [columns], or null
  float* y;
  int64_t x_step;  ///< floats from row to row
  int64_t weight_step;
  int64_t y_step;
  int64_t depth;
  int rows;  ///< 1 to kMostFewRows
  int columns;
  float low;  ///< NaN passes the clamp
  float high;
};

/// Describes one axis of the images that points are taken from: see GridAxis in
/// runtime/ops/grid_positions.hpp.
struct GridSampleAxis {
  float low;
  float range;
  float last;    ///< pixel
  int32_t step;  ///< floats from pixel to pixel
};

/// Computes `points` points of one image, each from the four pixels around it.
struct GridSampleCall {
  const float* x;           ///< the image's first pixel
  const float* places[2];   ///< down and across, [kGridBlock]: behind the points' there may be any
  float* y;                 ///< must not overlap the others
  const int64_t* y_points;  ///< [points]: floats from y to each
  int64_t y_step;           ///< if these are 0, y_step, 2 y_step, ...; else 0
  int64_t x_channel;
  int64_t y_channel;
  GridSampleAxis axes[2];  ///< down and across
  int channels;
  int points;  ///< at most kGridBlock
  GridPadding padding;
};

/// Describes columns of a matrix of any strides, in floats, that are packed beside each other. Each
/// of its rows is one of `depth` inputs at one of `taps`.
struct PackCall {
  const float* from;
  int64_t row_step;
  int64_t column_step;
  int depth;
  int taps;
  int count;        ///< columns
  int width;        ///< floats of a packed row: the columns, and zeros behind them
  int64_t to_step;  ///< floats from packed row to packed row
  float scale;
  float* to;  ///< [taps][depth] rows
};

struct Routines {
  const char* name;  ///< "avx512"
  int tile_pixels;
  int tile_width;
  Tile wide_tile;  ///< of more channels and fewer pixels; of none where it is no use
  void (*tile)(const TileCall& call);
  void (*depthwise)(const DepthwiseCall& call);
  void (*narrow)(const NarrowCall& call);
  void (*pixels)(const PixelsCall& call);
  void (*winograd_input)(const WinogradInputCall& call);
  void (*winograd_output)(const WinogradOutputCall& call);
  void (*activate)(const ActivateCall& call);
  /// In a maximum NaN is larger than every number; an average sums tap by tap in row-major order.
  void (*max_pool)(const PoolCall& call);
  void (*average_pool)(const PoolCall& call);
  /// Exponentials are within 2 units in the last place, or 0 where below the smallest normal
  /// number. A row's result does not depend on the other rows of a call.
  void (*softmax)(const SoftmaxCall& call);
  void (*lrn)(const LrnCall& call);
  /// A row's result does not depend on the other rows of a call.
  void (*layer_norm)(const LayerNormCall& call);
  void (*join)(const JoinCall& call);
  void (*column)(const ColumnCall& call);
  void (*few_rows)(const FewRowsCall& call);
  /// A point's result does not depend on the other points of a call.
  void (*grid_sample)(const GridSampleCall& call);
  void (*pack)(const PackCall& call);
};

extern const Routines kGenericRoutines;
#if defined(__x86_64__)
extern const Routines kAvx2Routines;
extern const Routines kAvx512Routines;
#elif defined(__aarch64__)
extern const Routines kNeonRoutines;
#endif

}  // namespace tenon::cpu::f32
