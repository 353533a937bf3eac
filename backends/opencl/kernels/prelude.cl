// This text precedes the source of every program.
//
// The host defines: DTYPE, the type of floats; VEC, how many of them a work-item should handle at
// once (4, 8 or 16); PIECE, how many elements of a row a work-item does in all, a multiple of VEC;
// ON_CPU, where the device consists of a CPU's cores; LOCAL_MEMORY, where it has local memory of its
// own.
//
// Operands come as a buffer and an offset in elements: `__global const DTYPE* x_buffer, ulong
// x_offset`. Input and output may be the same memory, element by element.

#define JOIN2(a, b) a##b
#define JOIN(a, b) JOIN2(a, b)
#define VTYPE JOIN(DTYPE, VEC)
#define VLOAD(pointer) JOIN(vload, VEC)(0, pointer)
#define VSTORE(vector, pointer) JOIN(vstore, VEC)(vector, 0, pointer)

// Takes the elements of a vector into `total`, one after the other, by `JOINING(DTYPE, total, x)`.
#define FOLD(JOINING, total, v) JOIN(FOLD_, VEC)(JOINING, total, v)
#define FOLD_4(JOINING, total, v)         \
  total = JOINING(DTYPE, total, (v).s0);  \
  total = JOINING(DTYPE, total, (v).s1);  \
  total = JOINING(DTYPE, total, (v).s2);  \
  total = JOINING(DTYPE, total, (v).s3)
#define FOLD_8(JOINING, total, v)  \
  FOLD_4(JOINING, total, (v).lo);  \
  FOLD_4(JOINING, total, (v).hi)
#define FOLD_16(JOINING, total, v) \
  FOLD_8(JOINING, total, (v).lo);  \
  FOLD_8(JOINING, total, (v).hi)

// DEFINE_FUNCTION(T, name, number) makes `T name(T x, DTYPE a, DTYPE b)` of the UnaryFunction of
// that number (runtime/ops/functions.hpp), T being DTYPE or a vector of it. NaN stays NaN.
#define DEFINE_FUNCTION(T, name, number) \
  T name(T x, DTYPE a, DTYPE b) { return JOIN(FUNCTION_, number)(T); }

#define AT_LEAST(T, value, bound) ((value) < (T)(bound) ? (T)(bound) : (value))
#define AT_MOST(T, value, bound) ((value) > (T)(bound) ? (T)(bound) : (value))
#define CLIP(T, value, low, high) AT_MOST(T, AT_LEAST(T, value, low), high)
// Infinity times 0 would be NaN where the function has a limit.
#define FINITE_BELOW(T) AT_LEAST(T, x, -FLT_MAX)

#define FUNCTION_0(T) x
#define FUNCTION_1(T) AT_LEAST(T, x, 0.0f)
#define FUNCTION_2(T) CLIP(T, x, a, b)
#define FUNCTION_3(T) (x < (T)(0.0f) ? a * x : x)
#define FUNCTION_4(T) (1.0f / (1.0f + exp(-x)))
#define FUNCTION_5(T) tanh(x)
#define FUNCTION_6(T) CLIP(T, a* x + b, 0.0f, 1.0f)
#define FUNCTION_7(T) (FINITE_BELOW(T) * CLIP(T, x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f))
#define FUNCTION_8(T) (x < (T)(0.0f) ? a * expm1(x) : x)
#define FUNCTION_9(T) (b * (x < (T)(0.0f) ? a * expm1(x) : x))
#define FUNCTION_10(T) (FINITE_BELOW(T) / (1.0f + exp(-x)))
#define FUNCTION_11(T) (0.5f * FINITE_BELOW(T) * erfc(-0.707106781f * x))
#define FUNCTION_12(T) (AT_LEAST(T, x, 0.0f) + log1p(exp(-fabs(x))))
#define FUNCTION_13(T) (CLIP(T, x, -FLT_MAX, FLT_MAX) / (1.0f + fabs(CLIP(T, x, -FLT_MAX, FLT_MAX))))
#define FUNCTION_14(T) (FINITE_BELOW(T) * tanh(AT_LEAST(T, x, 0.0f) + log1p(exp(-fabs(x)))))
#define FUNCTION_15(T) exp(x)
#define FUNCTION_16(T) log(x)
#define FUNCTION_17(T) sqrt(x)
#define FUNCTION_18(T) (1.0f / x)
#define FUNCTION_19(T) erf(x)
#define FUNCTION_20(T) fabs(x)
#define FUNCTION_21(T) (-x)
#define FUNCTION_22(T) floor(x)
#define FUNCTION_23(T) ceil(x)
#define FUNCTION_24(T) rint(x)
#define FUNCTION_25(T) (x == x ? sign(x) : x)
#define FUNCTION_26(T) sin(x)
#define FUNCTION_27(T) cos(x)
#define FUNCTION_29(T) atan(x)
#define FUNCTION_30(T) \
  (FINITE_BELOW(T) / (1.0f + exp(-1.59576912f * x * (1.0f + 0.044715f * x * x))))

// Blends TAPS by TAPS elements around x to one at y: the offsets and weights of rows and columns are
// `row_offsets`, `row_weights`, `column_offsets` and `column_weights`.
#define BLEND(T, LOAD, STORE)                                               \
  T sum = (T)(0.0f);                                                        \
  for (int i = 0; i < TAPS; ++i) {                                          \
    T line = (T)(0.0f);                                                     \
    for (int j = 0; j < TAPS; ++j) {                                        \
      const T value = LOAD(x + row_offsets[i] + column_offsets[j]);         \
      line += column_weights[j] * value;                                    \
    }                                                                       \
    sum += row_weights[i] * line;                                           \
  }                                                                         \
  STORE(sum, y)

#define LOAD_ONE(pointer) *(pointer)
#define STORE_ONE(value, pointer) *(pointer) = (value)

// Blends VEC channels of one output from x to y, or those that are left. dims and strides: images,
// channels, rows, columns.
#define BLEND_CHANNELS(dims, x_strides, y_strides, channel)                         \
  if (x_strides.y == 1 && y_strides.y == 1 && channel + VEC <= dims.y) {            \
    BLEND(VTYPE, VLOAD, VSTORE);                                                    \
    return;                                                                         \
  }                                                                                 \
  for (int k = min(VEC, dims.y - channel); k > 0;                                   \
       --k, x += x_strides.y, y += y_strides.y) {                                   \
    BLEND(DTYPE, LOAD_ONE, STORE_ONE);                                              \
  }

// The output that a work-item blends: VEC channels of it, from `channel` on.
typedef struct {
  int image, channel, row, column;
} BlendedOutput;

static inline BlendedOutput FindBlendedOutput(const uint index, const int4 dims) {
  const uint blocks = ((uint)dims.y + VEC - 1) / VEC;
  const uint position = index / blocks;
  const uint line = position / (uint)dims.w;
  BlendedOutput output;
  output.channel = (int)(index - position * blocks) * VEC;
  output.column = (int)(position - line * (uint)dims.w);
  output.image = (int)(line / (uint)dims.z);
  output.row = (int)(line - (uint)output.image * (uint)dims.z);
  return output;
}

static inline int OffsetOfBlended(const BlendedOutput output, const int4 strides) {
  return output.image * strides.x + output.channel * strides.y + output.row * strides.z +
         output.column * strides.w;
}

// What conv_tile.cl and conv_tile_local.cl are told of a convolution or matrix product, as in
// tile_parameters.hpp. Strides count elements.
typedef struct {
  int pixels;          // rows of the GEMM: images * output rows * output columns
  int tiles_per_item;  // tiles that a work-item computes one after another
  int channels;        // of the input, per group
  int outputs;         // channels of the output, per group
  int blocks;          // of packed weights, per group
  int weight_groups;   // beyond these, groups use the weights of the first ones again
  int output_rows, output_columns;
  int input_rows, input_columns;
  int taps_y, taps_x;
  int stride_y, stride_x;
  int dilation_y, dilation_x;
  int pad_top, pad_left;
  int runs_x, run_length, run_step;  // taps of a row as runs of neighbours in memory
  int x_group, x_channel, x_image, x_row, x_pixel;
  int y_group, y_channel, y_image, y_row, y_pixel;
  int residual_group, residual_channel, residual_image, residual_row, residual_pixel;
  int has_residual;
  DTYPE a, b;  // of the activation
} TileParameters;

// Where a work-item stands in up to three nested loops over rows: `first` to `first + count` of a
// row, and the row's position.
typedef struct {
  int first;
  int count;  // not above 0: there is nothing to do
  int row[3];
} RowPart;

// dims.w: length of a row; dims.xyz: how many rows, outermost first. Divisions cost as much as the
// work itself, so that one long row, the common case, has none.
static inline RowPart FindRowPart(const size_t work_item, const int4 dims) {
  RowPart part;
  uint piece = (uint)work_item;
  uint row = 0;
  const int rows = dims.x * dims.y * dims.z;
  if (rows != 1) {
    const uint pieces = ((uint)dims.w + PIECE - 1) / PIECE;
    row = piece / pieces;
    piece -= row * pieces;
  }
  part.first = (int)(piece * PIECE);
  part.count = row < (uint)rows ? min(PIECE, dims.w - part.first) : 0;
  part.row[0] = part.row[1] = 0;
  part.row[2] = (int)row;
  if (dims.x * dims.y != 1) {
    const uint outer = row / (uint)dims.z;
    part.row[2] = (int)(row - outer * (uint)dims.z);
    part.row[0] = (int)(outer / (uint)dims.y);
    part.row[1] = (int)(outer - (uint)part.row[0] * (uint)dims.y);
  }
  return part;
}

static inline int RowOffset(const RowPart part, const int4 strides) {
  return part.row[0] * strides.x + part.row[1] * strides.y + part.row[2] * strides.z +
         part.first * strides.w;
}

// The position of `index` in four nested loops, innermost last.
static inline int4 FindPosition(const int index, const int4 dims) {
  const uint a = (uint)index / (uint)dims.w;
  const uint b = a / (uint)dims.z;
  const uint c = b / (uint)dims.y;
  return (int4)((int)c, (int)(b - c * (uint)dims.y), (int)(a - b * (uint)dims.z),
                (int)((uint)index - a * (uint)dims.w));
}

static inline int Dot(const int4 a, const int4 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
}

// Where the element at `index` of the row-major order lies; s7 is the innermost dimension.
static inline int PlaceOf(int index, const int8 dims, const int8 strides) {
  int place = 0;
#define STEP(k)                              \
  if (index != 0) {                          \
    const int rest = index / dims.k;         \
    place += (index - rest * dims.k) * strides.k; \
    index = rest;                            \
  }
  STEP(s7) STEP(s6) STEP(s5) STEP(s4) STEP(s3) STEP(s2) STEP(s1) STEP(s0)
#undef STEP
  return place;
}

#ifdef GROUP
// A row is shared by a work-group of GROUP work-items, a power of two. Makes `T name(value, shared)`,
// in which all of them join their values by halves and get the result: the same whatever the device.
#define DEFINE_GROUP_JOIN(T, name, JOINING)                                      \
  static inline T name(const T value, __local T* shared) {                       \
    const int me = (int)get_local_id(0);                                         \
    shared[me] = value;                                                          \
    barrier(CLK_LOCAL_MEM_FENCE);                                                \
    for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {                   \
      if (me < half_of) shared[me] = JOINING(T, shared[me], shared[me + half_of]); \
      barrier(CLK_LOCAL_MEM_FENCE);                                              \
    }                                                                            \
    const T joined = shared[0];                                                  \
    barrier(CLK_LOCAL_MEM_FENCE);                                                \
    return joined;                                                               \
  }
#endif

#ifdef QUANTIZED
// The arithmetic of runtime/ops/requantize.hpp, bit for bit, of one element and (..16) of 16 at
// once. Every step is rounded: nothing may be contracted.
#pragma OPENCL FP_CONTRACT OFF

// As in attributes.hpp.
typedef struct {
  int to, rounding, zero_point, least, most;
} QuantizedOutput;
typedef struct {
  float scale;
  int multiplier, shift;
} QuantizedScale;

#define HALF_EVEN 0
#define FIXED_POINT 1
#define HALF_AWAY 2
#define FIXED_POINT_ONCE 3

// The value of a byte of i8 (flip 128) or u8 (flip 0).
#define BYTE_VALUE(byte, flip) (((int)(byte) ^ (flip)) - (flip))

#define DEFINE_REQUANTIZE(N)                                                                     \
  static inline int##N high_multiply##N(const int##N a, const int##N b) {                        \
    const long##N product = convert_long##N(a) * convert_long##N(b) + (long##N)(1L << 30);       \
    const int##N high = convert_int##N(product >> 31);                                           \
    return ((a == (int##N)(INT_MIN)) & (b == (int##N)(INT_MIN))) ? (int##N)(INT_MAX) : high;     \
  }                                                                                              \
  static inline int##N shift_right##N(const int##N x, const int##N exponent) {                   \
    const int##N mask = as_int##N(((uint##N)(1) << as_uint##N(exponent)) - (uint##N)(1));        \
    const int##N most_below = (mask >> 1) + as_int##N(as_uint##N(x) >> 31);                      \
    return (x >> exponent) + ((x & mask) > most_below ? (int##N)(1) : (int##N)(0));              \
  }                                                                                              \
  static inline int##N fixed_point##N(const int##N x, const int##N multiplier,                   \
                                      const int##N shift) {                                      \
    const int##N left = clamp(shift, 0, 30);                                                     \
    const int##N right = -clamp(shift, -31, 0);                                                  \
    const int##N shifted = as_int##N(as_uint##N(x) << as_uint##N(left));                         \
    return shift_right##N(high_multiply##N(shifted, multiplier), right);                         \
  }                                                                                              \
  static inline int##N fixed_point_once##N(const int##N x, const int##N multiplier,              \
                                           const int##N shift) {                                 \
    const int##N right = 31 - clamp(shift, -31, 30);                                             \
    const long##N product = convert_long##N(x) * convert_long##N(multiplier);                    \
    return convert_int##N(((product >> convert_long##N(right - 1)) + (long##N)(1)) >> 1);        \
  }                                                                                              \
  static inline int##N round_half_even##N(const float##N x) {                                    \
    return convert_int##N##_sat_rte(x);                                                          \
  }                                                                                              \
  static inline int##N round_half_away##N(const float##N x) {                                    \
    return convert_int##N##_sat(round(x));                                                       \
  }                                                                                              \
  /* A sum times its output's factor, whose bits are `multiplier`, rounded. */                    \
  static inline int##N requantized##N(const int rounding, const int##N sum,                      \
                                      const int##N multiplier, const int##N shift) {             \
    if (rounding == FIXED_POINT) return fixed_point##N(sum, multiplier, shift);                  \
    if (rounding == FIXED_POINT_ONCE) return fixed_point_once##N(sum, multiplier, shift);        \
    return round_half_even##N(convert_float##N(sum) * as_float##N(multiplier));                  \
  }                                                                                              \
  static inline int##N saturate##N(const QuantizedOutput output, const int##N rounded) {         \
    return clamp(add_sat(rounded, (int##N)(output.zero_point)), output.least, output.most);      \
  }
DEFINE_REQUANTIZE()
DEFINE_REQUANTIZE(16)

static inline int rescaled(const QuantizedScale factor, const int rounding, const int value) {
  if (rounding == FIXED_POINT) return fixed_point(value, factor.multiplier, factor.shift);
  return round_half_even((float)value * factor.scale);
}

static inline uchar output_byte(const QuantizedOutput output, const int rounded) {
  return (uchar)(saturate(output, rounded) & 0xff);
}

// The float nearest to x / y, which devices need not give.
static inline float divided(const float x, const float y) {
  const float quotient = x / y;
#ifdef ON_CPU
  return quotient;
#else
  const float corrected = fma(fma(-quotient, y, x), 1.0f / y, quotient);
  return isfinite(corrected) ? corrected : quotient;
#endif
}
#endif
