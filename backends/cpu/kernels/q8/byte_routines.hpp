// The inner loops of the quantized kernels other than GEMMs, as one table of functions per
// instruction set. All tables give the same bits, which requantize.hpp defines.
//
// This header, and whatever the routines_*.cpp files in simd/ include, holds no inline function
// with external linkage: those files are compiled for instruction sets that the processor may lack,
// and the linker could keep their copy of a shared function for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu::q8 {

/// Says what becomes of a rounded result. In the domain of i8 it is min(max(rounded + zero_point,
/// min), max), whose bits are then combined with `flip` by xor. For u8 the three numbers are 128
/// less and the flip is 0x80.
struct ByteOutput {
  int32_t zero_point;
  int32_t min;
  int32_t max;
  uint8_t flip;
};

/// Says where one tap of a depthwise window reads: column c of its input row is at row + c * step.
struct DepthwiseTap {
  const uint8_t* row;  ///< the padding, where the row is outside the input
  int64_t step;        ///< bytes; 0 where the row is outside the input
  int64_t column;      ///< from the window's first column
};

/// Says in which form a routine takes depthwise weights. Channels are cut into blocks of whole 16s.
/// A block's channels are ordered as the routine's registers contain them: position v * block /
/// vectors + lane * 4 + i is channel lane * 4 * vectors + v * 4 + i.
struct DepthwiseForm {
  int vectors;     ///< of 32-bit sums in a block
  int group;       ///< taps that are multiplied at once
  bool is_byte;    ///< weights are i8, else i16
  bool is_column;  ///< 3x3 without dilation, strides 1 or 2: a group is a column of the window
  int widest;      ///< block: 64, 32 or 16 channels, halved until at most 15 of them are missing
  /// Windows that `PairsRows` takes: groups of two taps are rows 2i and 2i + 1 of a column; the
  /// groups of all columns come first, then those of the next two rows.
  bool pairs_rows;
  /// The last block takes channels of the one before it, if there is one, to be full.
  bool overlaps;
};

/// Describes a run of output pixels of one row, for one block of channels.
struct DepthwiseCall {
  const DepthwiseTap* taps;  ///< [groups][group], in the order of the groups of weights
  // Of `depthwise_window`, which reads these instead of the taps:
  const uint8_t* window;  ///< what the first tap reads
  int64_t window_step;    ///< bytes from tap to tap
  int window_taps;
  const uint8_t* padding;  ///< [channels]: what a tap reads in columns outside the input
  /// The order is [groups][vectors][lanes][4][group]; the bias and all arrays below it are
  /// [vectors][lanes][4] of the block.
  const void* weights;
  const int32_t* bias;     ///< includes the contribution of x's zero point
  const void* multiplier;  ///< f32, or i32 with `fixed_point`
  // These are the shifts of a fixed-point multiplier.
  const int32_t* doubling;  ///< one more than the shift to the left: 1 to 31
  const int32_t* half;      ///< 2^(right - 1), or 0
  const int32_t* right;     ///< 0 to 31
  const int32_t* away;      ///< -1, or 0 where `right` is 0: added to negative numbers
  uint8_t* y;
  int64_t y_step;
  int64_t columns;  ///< of the input
  int64_t first;    ///< column of the first window's first tap; may be outside the input
  int64_t reach;    ///< columns from a window's first tap to its last
  int row_taps;     ///< adjacent columns that each row of a window has; 0: they are dilated
  int64_t stride;
  int pixels;
  int groups;
  int block;              ///< 64, 32 or 16 channels
  int channels;           ///< number of the block's channels that exist
  int common;             ///< channels of the block before, which come first and are not stored
  int columns_of_window;  ///< where groups are pairs of rows; else 0
  bool is_column;
  bool fixed_point;
  uint8_t x_flip;  ///< makes x's bits those of u8
  ByteOutput output;
};

/// Computes y[i] = table[x[i] ^ flip].
struct LookupCall {
  const uint8_t* table;  ///< [256]
  const uint8_t* x;
  uint8_t* y;  ///< may be x
  int count;
  uint8_t flip;
};

/// Lists the functions of `binary`, which it computes with kHalfEven in floats or in fixed point.
enum class ByteFunction : uint8_t { kAdd, kSubtract, kMultiply };

/// Stands for the factor multiplier * 2^(left - right - 31); left is 0 to 30 and right 0 to 31.
struct FixedPointFactor {
  int32_t multiplier;  ///< >= 0
  int32_t left;
  int32_t right;
};

/// Computes z[i] from x[i] and y[i]; elements are contiguous. A byte xor its flip is i8, and so are
/// the zero points.
struct BinaryCall {
  const uint8_t* x;
  const uint8_t* y;
  uint8_t* z;  ///< may be x or y
  int count;
  ByteFunction function;
  bool fixed_point;
  uint8_t x_flip;
  uint8_t y_flip;
  int32_t x_zero_point;
  int32_t y_zero_point;
  float x_scale;
  float y_scale;
  float z_scale;
  int32_t left_shift;
  FixedPointFactor x_factor;
  FixedPointFactor y_factor;
  FixedPointFactor z_factor;
  ByteOutput output;
};

/// Computes y[i] = rounded(x[i] / scale) as ByteOutput says; NaN gives the zero point.
struct QuantizeCall {
  const float* x;
  uint8_t* y;
  int count;
  float scale;
  float inverse;  ///< of a scale that is a power of two, else 0
  bool half_away;
  ByteOutput output;
};

/// Computes y[i] = float(x[i] - zero_point) * scale.
struct DequantizeCall {
  const uint8_t* x;
  float* y;
  int count;
  uint8_t flip;  ///< to i8
  int32_t zero_point;
  float scale;
};

/// Computes y[i] = rounded(x[i] / scale) plus `zero_point`, between `min` and
/// `max`, all of i16 or u16; NaN gives the zero point.
struct QuantizeWordsCall {
  const float* x;
  uint16_t* y;
  int count;
  float scale;
  int32_t zero_point;
  int32_t min;
  int32_t max;
  bool half_away;  ///< how halves are rounded; else to even
};

/// Computes y[i] = float(x[i] - zero_point) * scale, where a word xor its flip is i16.
struct DequantizeWordsCall {
  const uint16_t* x;
  float* y;
  int count;
  uint16_t flip;
  int32_t zero_point;
  float scale;
};

/// Normalises a row of bytes as LayerNormAttributes says; NaN gives the least byte.
struct LayerNormCall {
  const uint8_t* x;
  uint8_t* y;  ///< may be x
  int count;
  const float* scale;
  const float* bias;  ///< may be null
  float epsilon;
  float least;  ///< byte of the dtype
  float most;
  bool rms;
  uint8_t flip;  ///< to i8
};

/// Computes the softmax of rows of bytes, one after the other in memory, whose values are i8 and
/// `offset`: in floats, divided by `output_scale`, halves to even; NaN gives the zero point.
struct SoftmaxCall {
  const uint8_t* x;
  uint8_t* y;  ///< may be x
  int rows;
  int count;       ///< of a row
  uint8_t flip;    ///< to i8
  int32_t offset;  ///< what the flip subtracts
  float scale;
  float output_scale;
  ByteOutput output;
};

/// Says what becomes of a sum S of n elements from which the zero points have been subtracted.
struct SumEpilogue {
  enum class Kind : uint8_t {
    kFloat,       ///< float(S) * factor, halves to even
    kDivide,      ///< S / divisor, halves away from zero
    kFixedPoint,  ///< S * fixed
  };
  Kind kind;
  float factor;
  int64_t divisor;
  FixedPointFactor fixed;
  ByteOutput output;
};

/// Describes one output position of a pooling: the `rows` x `columns` taps that are inside the
/// input, which have equal steps. The channels of each tap are contiguous.
struct PoolCall {
  const uint8_t* x;  ///< the first tap
  uint8_t* y;        ///< must not overlap x
  int64_t row_step;
  int64_t column_step;
  int rows;
  int columns;
  int channels;
  uint8_t flip;          ///< to i8
  int32_t zero_point;    ///< of sums
  SumEpilogue epilogue;  ///< of sums
};

/// Makes floats of the sums of a row of a product whose first factor has the zero point and scale
/// of DynamicMatMulInput: y[i] = float(sum - zero_point * column_sums[i]) * (scale * factors[i]) +
/// bias[i], the sum being the bits of y[i], modulo 2^32.
struct ScaleSumsCall {
  float* y;
  const int32_t* column_sums;
  const float* factors;
  const float* bias;  ///< null: none
  int count;
  int32_t zero_point;
  float scale;
};

struct ByteRoutines {
  const char* name;  ///< "avx512"
  DepthwiseForm depthwise_form;
  void (*depthwise)(const DepthwiseCall& call);
  /// Computes one pixel whose window lies inside the input and has evenly spaced taps, as that of a
  /// streaming convolution. Null: `depthwise` does it as well.
  void (*depthwise_window)(const DepthwiseCall& call);
  void (*lookup)(const LookupCall& call);
  void (*binary)(const BinaryCall& call);
  void (*quantize)(const QuantizeCall& call);
  void (*dequantize)(const DequantizeCall& call);
  void (*quantize_words)(const QuantizeWordsCall& call);
  void (*dequantize_words)(const DequantizeWordsCall& call);
  void (*layer_norm)(const LayerNormCall& call);
  void (*softmax)(const SoftmaxCall& call);
  void (*max_pool)(const PoolCall& call);
  void (*sum_pool)(const PoolCall& call);
  /// Interleaves `count` pixels of the three planes at `planes`.
  void (*interleave3)(const uint8_t* const* planes, uint8_t* y, int count);
  /// Lowers bounds[0] and raises bounds[1] to hold all elements that are no NaN.
  void (*range)(const float* x, int count, float* bounds);
  void (*scale_sums)(const ScaleSumsCall& call);
};

/// Returns the routines of the chosen instruction set, for ops that are loaded now.
[[nodiscard]] const ByteRoutines& ChosenRoutines();
/// Returns the fastest routines below the chosen ones whose depthwise weights are i16.
[[nodiscard]] const ByteRoutines& WideRoutines();

extern const ByteRoutines kGenericByteRoutines;
#if defined(__aarch64__)
extern const ByteRoutines kNeonByteRoutines;
#elif defined(__x86_64__)
extern const ByteRoutines kAvx2ByteRoutines;
extern const ByteRoutines kAvx512ByteRoutines;
/// These routines use VBMI; their name is "avx512" too.
extern const ByteRoutines kAvx512VbmiByteRoutines;

void LookupByPermutation(const LookupCall& call);
void BinaryByPermutation(const BinaryCall& call);
void InterleaveByPermutation(const uint8_t* const* planes, uint8_t* y, int count);
#endif

}  // namespace tenon::cpu::q8
