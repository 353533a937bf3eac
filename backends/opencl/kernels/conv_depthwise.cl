// Computes depthwise convolutions with channels in lanes. On a CPU a work-item loops over rows of
// the output with one block of LANES channels, TILE neighbouring pixels at a time. The remaining
// channels have a function of their own, since one function for both is slower for either. Elsewhere
// a work-item has one tile of pixels and one or two channels, so that neighbours read neighbours.
//
// Packed weights have one block per LANES channels, and the last block is filled up with zeros:
// bias [LANES], then [tap][LANES].
//
// TAPS is the length of a square kernel without dilation, whose input columns are loaded once for
// all pixels that use them, with stride STRIDE; 0 means any kernel. FUNCTION is the number of the
// activation.

#define LANES 16
#define TILE 4
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")

// As in conv_depthwise.cpp. Strides count elements.
typedef struct {
  int rows;           // images * output rows
  int rows_per_item;  // that a work-item computes
  int output_rows, output_columns;
  int input_rows, input_columns;
  int channels;
  int taps_y, taps_x;
  int stride_y, stride_x;
  int dilation_y, dilation_x;
  int pad_top, pad_left;
  int x_image, x_row, x_pixel;
  int y_image, y_row, y_pixel;
  int residual_image, residual_row, residual_pixel;
  int has_residual;
  DTYPE a, b;  // of the activation
} DepthwiseParameters;

DEFINE_FUNCTION(JOIN(DTYPE, 16), activate_16, FUNCTION)
DEFINE_FUNCTION(JOIN(DTYPE, 4), activate_4, FUNCTION)
DEFINE_FUNCTION(JOIN(DTYPE, 2), activate_2, FUNCTION)
DEFINE_FUNCTION(DTYPE, activate_1, FUNCTION)

#define VECTOR_1 DTYPE
#define VECTOR_2 JOIN(DTYPE, 2)
#define VECTOR_4 JOIN(DTYPE, 4)
#define VECTOR_16 JOIN(DTYPE, 16)
#define LOAD_1(pointer) (*(pointer))
#define LOAD_2(pointer) vload2(0, pointer)
#define LOAD_4(pointer) vload4(0, pointer)
#define LOAD_16(pointer) vload16(0, pointer)
#define STORE_1(value, pointer) (*(pointer) = (value))
#define STORE_2(value, pointer) vstore2(value, 0, pointer)
#define STORE_4(value, pointer) vstore4(value, 0, pointer)
#define STORE_16(value, pointer) vstore16(value, 0, pointer)

// Activates and stores the first `pixels` sums of N channels.
#define FINISH(N, sums, pixels, residual, y)                                                  \
  UNROLL for (int i = 0; i < TILE; ++i) {                                                     \
    if (i < pixels) {                                                                         \
      VECTOR_##N sum = sums[i];                                                               \
      if (p.has_residual) sum += LOAD_##N((residual) + i * p.residual_pixel);                 \
      STORE_##N(activate_##N(sum, p.a, p.b), (y) + i * p.y_pixel);                            \
    }                                                                                         \
  }

// sums += a tile of N channels, tap by tap.
#define ADD_TAPS(N, sums, pixels, x, in_row, in_column, weights)                              \
  NO_UNROLL for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {                                  \
    const int at_row = (in_row) + tap_y * p.dilation_y;                                       \
    if ((uint)at_row >= (uint)p.input_rows) continue;                                         \
    NO_UNROLL for (int tap_x = 0; tap_x < p.taps_x; ++tap_x) {                                \
      const VECTOR_##N weight = LOAD_##N((weights) + (1 + tap_y * p.taps_x + tap_x) * LANES); \
      const int first = (in_column) + tap_x * p.dilation_x;                                   \
      UNROLL for (int i = 0; i < TILE; ++i) {                                                 \
        const int at_column = first + i * p.stride_x;                                         \
        if (i < (pixels) && (uint)at_column < (uint)p.input_columns) {                        \
          const int offset = at_row * p.x_row + at_column * p.x_pixel;                        \
          sums[i] = fma(LOAD_##N((x) + offset), weight, sums[i]);                             \
        }                                                                                     \
      }                                                                                       \
    }                                                                                         \
  }

#define COLUMNS ((TILE - 1) * STRIDE + TAPS)

#ifdef ON_CPU

#if TAPS > 0

static inline void add_column(VECTOR_16 sums[TILE], const VECTOR_16 weights[TAPS],
                              const VECTOR_16 x, const int column) {
  UNROLL for (int i = 0; i < TILE; ++i) {
    const int tap = column - i * STRIDE;
    if (tap >= 0 && tap < TAPS) sums[i] = fma(x, weights[tap], sums[i]);
  }
}

// sums += a tile whose input columns are loaded once; `x` is the image.
static inline void add_square(VECTOR_16 sums[TILE], __global const DTYPE* x, const int in_row,
                              const int in_column, const int x_row, const int x_pixel,
                              const int input_rows, const int input_columns,
                              __global const DTYPE* weights) {
  const bool inside = in_column >= 0 && in_column + COLUMNS <= input_columns;
  NO_UNROLL for (int tap = 0; tap < TAPS; ++tap) {
    if ((uint)(in_row + tap) >= (uint)input_rows) continue;
    VECTOR_16 row_weights[TAPS];
    UNROLL for (int i = 0; i < TAPS; ++i) {
      row_weights[i] = LOAD_16(weights + (1 + tap * TAPS + i) * LANES);
    }
    __global const DTYPE* at = x + ((in_row + tap) * x_row + in_column * x_pixel);
    if (inside) {
      UNROLL for (int column = 0; column < COLUMNS; ++column) {
        add_column(sums, row_weights, LOAD_16(at), column);
        at += x_pixel;
      }
    } else {
      UNROLL for (int column = 0; column < COLUMNS; ++column) {
        if ((uint)(in_column + column) < (uint)input_columns) {
          add_column(sums, row_weights, LOAD_16(at), column);
        }
        at += x_pixel;
      }
    }
  }
}

#endif

// Whole blocks of channels. Work-items: blocks, runs of rows.
__kernel void depthwise(__global const DTYPE* x, const ulong x_offset,
                        __global const DTYPE* weights, __global DTYPE* y, const ulong y_offset,
                        __global const DTYPE* residual, const ulong residual_offset,
                        const DepthwiseParameters p) {
  const int channel = get_global_id(0) * LANES;
  if (channel + LANES > p.channels) return;
  int row = get_global_id(1) * p.rows_per_item;
  const int end = min(row + p.rows_per_item, p.rows);
  x += x_offset + channel;
  y += y_offset + channel;
  residual += residual_offset + channel;
  weights += channel * (1 + p.taps_y * p.taps_x);
  const VECTOR_16 bias = LOAD_16(weights);
  for (; row < end; ++row) {
    const int image = row / p.output_rows;
    const int row_of_image = row - image * p.output_rows;
    __global const DTYPE* from = x + image * p.x_image;
    __global DTYPE* to = y + (image * p.y_image + row_of_image * p.y_row);
    __global const DTYPE* added =
        residual + (image * p.residual_image + row_of_image * p.residual_row);
    const int in_row = row_of_image * p.stride_y - p.pad_top;
    for (int column = 0; column < p.output_columns; column += TILE) {
      const int in_column = column * p.stride_x - p.pad_left;
      const int pixels = p.output_columns - column;
      VECTOR_16 sums[TILE];
      UNROLL for (int i = 0; i < TILE; ++i) sums[i] = bias;
#if TAPS > 0
      add_square(sums, from, in_row, in_column, p.x_row, p.x_pixel, p.input_rows,
                 p.input_columns, weights);
#else
      ADD_TAPS(16, sums, pixels, from, in_row, in_column, weights)
#endif
      FINISH(16, sums, pixels, added + column * p.residual_pixel, to + column * p.y_pixel)
    }
  }
}

// One tile of N of the left channels, from `lane` of the last block on.
#define REST_TILE(N)                                                                   \
  {                                                                                    \
    VECTOR_##N sums[TILE];                                                             \
    UNROLL for (int i = 0; i < TILE; ++i) sums[i] = LOAD_##N(weights + lane);          \
    ADD_TAPS(N, sums, pixels, from + lane, in_row, in_column, weights + lane)          \
    FINISH(N, sums, pixels, added + (column * p.residual_pixel + lane),                \
           to + (column * p.y_pixel + lane))                                           \
  }

// Computes the channels after the last whole block. Work-items: 1, runs of rows.
__kernel void depthwise_rest(__global const DTYPE* x, const ulong x_offset,
                             __global const DTYPE* weights, __global DTYPE* y,
                             const ulong y_offset, __global const DTYPE* residual,
                             const ulong residual_offset, const DepthwiseParameters p) {
  const int channel = p.channels / LANES * LANES;
  const int lanes = p.channels - channel;
  if (get_global_id(0) != 0) return;
  int row = get_global_id(1) * p.rows_per_item;
  const int end = min(row + p.rows_per_item, p.rows);
  x += x_offset + channel;
  y += y_offset + channel;
  residual += residual_offset + channel;
  weights += channel * (1 + p.taps_y * p.taps_x);
  for (; row < end; ++row) {
    const int image = row / p.output_rows;
    const int row_of_image = row - image * p.output_rows;
    __global const DTYPE* from = x + image * p.x_image;
    __global DTYPE* to = y + (image * p.y_image + row_of_image * p.y_row);
    __global const DTYPE* added =
        residual + (image * p.residual_image + row_of_image * p.residual_row);
    const int in_row = row_of_image * p.stride_y - p.pad_top;
    for (int column = 0; column < p.output_columns; column += TILE) {
      const int in_column = column * p.stride_x - p.pad_left;
      const int pixels = p.output_columns - column;
      int lane = 0;
      for (; lane + 4 <= lanes; lane += 4) REST_TILE(4)
      for (; lane < lanes; ++lane) REST_TILE(1)
    }
  }
}

#else

#if TAPS > 0
// sums += a tile of N channels, whose input columns are loaded once for all pixels that use them.
#define ADD_TILE(N, sums, x, in_row, in_column, weights)                                      \
  UNROLL for (int tap = 0; tap < TAPS; ++tap) {                                               \
    if ((uint)((in_row) + tap) < (uint)p.input_rows) {                                        \
      VECTOR_##N row[TAPS];                                                                   \
      UNROLL for (int i = 0; i < TAPS; ++i) {                                                 \
        row[i] = LOAD_##N((weights) + (1 + tap * TAPS + i) * LANES);                          \
      }                                                                                       \
      __global const DTYPE* at = (x) + (((in_row) + tap) * p.x_row + (in_column) * p.x_pixel); \
      UNROLL for (int column = 0; column < COLUMNS; ++column) {                               \
        if ((uint)((in_column) + column) < (uint)p.input_columns) {                           \
          const VECTOR_##N value = LOAD_##N(at + column * p.x_pixel);                         \
          UNROLL for (int i = 0; i < TILE; ++i) {                                             \
            const int tap_x = column - i * STRIDE;                                            \
            if (tap_x >= 0 && tap_x < TAPS) sums[i] = fma(value, row[tap_x], sums[i]);        \
          }                                                                                   \
        }                                                                                     \
      }                                                                                       \
    }                                                                                         \
  }
#else
#define ADD_TILE(N, sums, x, in_row, in_column, weights) \
  ADD_TAPS(N, sums, pixels, x, in_row, in_column, weights)
#endif

// One tile of N channels from `channel` on. Work-items of dimension 1: tiles, row by row.
#define DEPTHWISE_TILE(N, channel)                                                            \
  {                                                                                           \
    const int tiles = (p.output_columns + TILE - 1) / TILE;                                   \
    const int tile = get_global_id(1);                                                        \
    const int row = tile / tiles;                                                             \
    if (row >= p.rows) return;                                                                \
    const int column = (tile - row * tiles) * TILE;                                           \
    const int pixels = p.output_columns - column;                                             \
    const int image = row / p.output_rows;                                                    \
    const int row_of_image = row - image * p.output_rows;                                     \
    const int in_row = row_of_image * p.stride_y - p.pad_top;                                 \
    const int in_column = column * p.stride_x - p.pad_left;                                   \
    const uint lane = (uint)(channel) % LANES;                                                \
    __global const DTYPE* block =                                                             \
        weights + (((channel) - lane) * (1 + p.taps_y * p.taps_x) + lane);                    \
    VECTOR_##N sums[TILE];                                                                    \
    UNROLL for (int i = 0; i < TILE; ++i) sums[i] = LOAD_##N(block);                          \
    ADD_TILE(N, sums, x + x_offset + (channel) + image * p.x_image, in_row, in_column, block) \
    FINISH(N, sums, pixels,                                                                   \
           residual + residual_offset + (channel) + image * p.residual_image +                \
               row_of_image * p.residual_row + column * p.residual_pixel,                     \
           y + y_offset + (channel) + image * p.y_image + row_of_image * p.y_row +            \
               column * p.y_pixel)                                                            \
  }

// Whole blocks of channels. Work-items: pairs of channels, tiles.
__kernel void depthwise(__global const DTYPE* x, const ulong x_offset,
                        __global const DTYPE* weights, __global DTYPE* y, const ulong y_offset,
                        __global const DTYPE* residual, const ulong residual_offset,
                        const DepthwiseParameters p) {
  const int channel = get_global_id(0) * 2;
  if (channel >= p.channels / LANES * LANES) return;
  DEPTHWISE_TILE(2, channel)
}

// The channels after the last whole block. Work-items: channels, tiles.
__kernel void depthwise_rest(__global const DTYPE* x, const ulong x_offset,
                             __global const DTYPE* weights, __global DTYPE* y,
                             const ulong y_offset, __global const DTYPE* residual,
                             const ulong residual_offset, const DepthwiseParameters p) {
  const int channel = p.channels / LANES * LANES + get_global_id(0);
  if (channel >= p.channels) return;
  DEPTHWISE_TILE(1, channel)
}

#endif
