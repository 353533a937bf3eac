// The inner loops of the quantized kernels other than dense products: one table of functions per
// instruction set. All give the same bits, those of requantize.hpp.
//
// This header, and whatever the routines_*.cpp files in simd/ include, holds no inline function
// with external linkage: those files are compiled for instruction sets that the processor may lack,
// and the linker could keep their copy of a shared function for everybody.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tenon::cpu::q8 {

/// What becomes of a rounded result, in the domain of i8: min(max(rounded + zero_point, min), max),
/// then its bits xor `flip`. For u8 all three are 128 less and the flip is 0x80.
struct ByteOutput {
  int32_t zero_point;
  int32_t min;
  int32_t max;
  uint8_t flip;
};

/// Where one tap of a depthwise window reads: column c of its input row lies at row + c * step.
struct DepthwiseTap {
  const uint8_t* row;  ///< the padding where the row lies outside
  int64_t step;        ///< bytes; 0 where the row lies outside
  int64_t column;      ///< from the window's first column
};

/// How a routine wants depthwise weights. Channels go in blocks of whole 16s; those of a block are
/// ordered as the routine's registers hold them: position v * block / vectors + lane * 4 + i is
/// channel lane * 4 * vectors + v * 4 + i.
struct DepthwiseForm {
  int vectors;     ///< of 32-bit sums in a block
  int group;       ///< taps that are multiplied at once
  bool is_byte;    ///< weights are i8, else i16
  bool is_column;  ///< 3x3 without dilation, strides 1 or 2: a group is a column of the window
  int widest;      ///< block: 64, 32 or 16, halved until at most 15 of its channels are missing
};

/// A run of output pixels of one row, through one block of channels.
struct DepthwiseCall {
  const DepthwiseTap* taps;  ///< [groups][group]; row-major, or column-major with `is_column`
  const uint8_t* padding;    ///< [channels]: what columns outside hold
  /// [groups][vectors][lanes][4][group]; bias and the rest [vectors][lanes][4] of the block
  const void* weights;
  const int32_t* bias;     ///< with what x's offset adds
  const void* multiplier;  ///< f32, or i32 with `fixed_point`
  // Shifts of a fixed-point multiplier.
  const int32_t* doubling;  ///< one more than the shift to the left: 1 to 31
  const int32_t* half;      ///< 2^(right - 1), or 0
  const int32_t* right;     ///< 0 to 31
  const int32_t* away;      ///< -1, or 0 where `right` is 0: added to what is negative
  uint8_t* y;
  int64_t y_step;
  int64_t columns;  ///< of the input
  int64_t first;    ///< column of the first window's first tap; may lie outside
  int64_t stride;
  int pixels;
  int groups;
  int block;     ///< 64, 32 or 16 channels
  int channels;  ///< of them that are there
  bool is_column;
  bool fixed_point;
  uint8_t x_flip;  ///< makes x's bits those of u8
  ByteOutput output;
};

/// y[i] = table[x[i] ^ flip].
struct LookupCall {
  const uint8_t* table;  ///< [256]
  const uint8_t* x;
  uint8_t* y;  ///< may be x
  int count;
  uint8_t flip;
};

/// Functions of `binary`, with kHalfEven in floats or in fixed point.
enum class ByteFunction : uint8_t { kAdd, kSubtract, kMultiply };

/// A factor multiplier * 2^(left - right - 31); left 0 to 30, right 0 to 31.
struct FixedPointFactor {
  int32_t multiplier;  ///< >= 0
  int32_t left;
  int32_t right;
};

/// z[i] of x[i] and y[i], neighbours all. Bytes xor their flip are those of i8, as the zero points.
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

/// y[i] = rounded(x[i] / scale) as ByteOutput says; NaN gives the zero point.
struct QuantizeCall {
  const float* x;
  uint8_t* y;
  int count;
  float scale;
  float inverse;  ///< of a scale that is a power of two, else 0
  bool half_away;
  ByteOutput output;
};

/// y[i] = float(x[i] - zero_point) * scale.
struct DequantizeCall {
  const uint8_t* x;
  float* y;
  int count;
  uint8_t flip;  ///< to i8
  int32_t zero_point;
  float scale;
};

/// What becomes of a sum S of n elements less their zero points.
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

/// One output position of a pooling: the taps that lie inside the input, `rows` x `columns` of them
/// at equal steps, and the channels of each as neighbours.
struct PoolCall {
  const uint8_t* x;  ///< the first tap
  uint8_t* y;        ///< apart from x
  int64_t row_step;
  int64_t column_step;
  int rows;
  int columns;
  int channels;
  uint8_t flip;          ///< to i8
  int32_t zero_point;    ///< of sums
  SumEpilogue epilogue;  ///< of sums
};

struct ByteRoutines {
  const char* name;  ///< "avx512"
  DepthwiseForm depthwise_form;
  void (*depthwise)(const DepthwiseCall& call);
  void (*lookup)(const LookupCall& call);
  void (*binary)(const BinaryCall& call);
  void (*quantize)(const QuantizeCall& call);
  void (*dequantize)(const DequantizeCall& call);
  void (*max_pool)(const PoolCall& call);
  void (*sum_pool)(const PoolCall& call);
  /// `count` pixels of three planes at `planes` side by side.
  void (*interleave3)(const uint8_t* const* planes, uint8_t* y, int count);
};

/// Of the chosen instruction set, for ops that are loaded now.
[[nodiscard]] const ByteRoutines& ChosenRoutines();

extern const ByteRoutines kGenericByteRoutines;
#if defined(__aarch64__)
extern const ByteRoutines kNeonByteRoutines;
#elif defined(__x86_64__)
extern const ByteRoutines kAvx2ByteRoutines;
extern const ByteRoutines kAvx512ByteRoutines;
/// With VBMI; also called "avx512".
extern const ByteRoutines kAvx512VbmiByteRoutines;

void LookupByPermutation(const LookupCall& call);
void BinaryByPermutation(const BinaryCall& call);
void InterleaveByPermutation(const uint8_t* const* planes, uint8_t* y, int count);
#endif

}  // namespace tenon::cpu::q8
