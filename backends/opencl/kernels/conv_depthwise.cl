// Depthwise convolution, channels in lanes. A work-item walks rows of the output with one block of
// LANES channels, TILE neighbouring pixels at a time.
//
// Packed weights, one block per LANES channels, the last one filled up with zeros: bias [LANES],
// then [tap][LANES].
//
// TAPS: the length of a square kernel without dilation, whose input columns are loaded once for all
// pixels that they serve, with stride STRIDE; 0: any kernel. FUNCTION: the number of the activation.

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

// Where a tile lies.
typedef struct {
  int in_row, in_column;  // of its first tap, in the input
  int pixels;             // that it has
  __global const DTYPE* x;         // the image, from the first channel on
  __global const DTYPE* weights;   // of the first channel
  __global const DTYPE* residual;  // of the first pixel and channel
  __global DTYPE* y;
} Place;

#define VECTOR_1 DTYPE
#define VECTOR_4 JOIN(DTYPE, 4)
#define VECTOR_16 JOIN(DTYPE, 16)
#define LOAD_1(pointer) (*(pointer))
#define LOAD_4(pointer) vload4(0, pointer)
#define LOAD_16(pointer) vload16(0, pointer)
#define STORE_1(value, pointer) (*(pointer) = (value))
#define STORE_4(value, pointer) vstore4(value, 0, pointer)
#define STORE_16(value, pointer) vstore16(value, 0, pointer)

// finish_N and any_N for vectors of N channels: the end of a tile, and a whole one tap by tap.
#define DEFINE_FOR(N)                                                                              \
  DEFINE_FUNCTION(VECTOR_##N, activate_##N, FUNCTION)                                              \
  static inline void finish_##N(const VECTOR_##N sums[TILE], const Place* at,                      \
                                const DepthwiseParameters* p) {                                    \
    UNROLL for (int i = 0; i < TILE; ++i) {                                                        \
      if (i < at->pixels) {                                                                        \
        VECTOR_##N sum = sums[i];                                                                  \
        if (p->has_residual) sum += LOAD_##N(at->residual + i * p->residual_pixel);                \
        STORE_##N(activate_##N(sum, p->a, p->b), at->y + i * p->y_pixel);                          \
      }                                                                                            \
    }                                                                                              \
  }                                                                                                \
  static inline void any_##N(const Place at, const DepthwiseParameters* p) {                       \
    VECTOR_##N sums[TILE];                                                                         \
    UNROLL for (int i = 0; i < TILE; ++i) sums[i] = LOAD_##N(at.weights);                          \
    __global const DTYPE* w = at.weights + LANES;                                                  \
    NO_UNROLL for (int tap_y = 0; tap_y < p->taps_y; ++tap_y) {                                    \
      const int row = at.in_row + tap_y * p->dilation_y;                                           \
      if ((uint)row >= (uint)p->input_rows) {                                                      \
        w += p->taps_x * LANES;                                                                    \
        continue;                                                                                  \
      }                                                                                            \
      NO_UNROLL for (int tap_x = 0; tap_x < p->taps_x; ++tap_x) {                                  \
        const VECTOR_##N weight = LOAD_##N(w);                                                     \
        w += LANES;                                                                                \
        UNROLL for (int i = 0; i < TILE; ++i) {                                                    \
          const int column = at.in_column + i * p->stride_x + tap_x * p->dilation_x;               \
          if (i < at.pixels && (uint)column < (uint)p->input_columns) {                            \
            sums[i] = fma(LOAD_##N(at.x + (row * p->x_row + column * p->x_pixel)), weight, sums[i]); \
          }                                                                                        \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    finish_##N(sums, &at, p);                                                                      \
  }

DEFINE_FOR(1)
DEFINE_FOR(4)
DEFINE_FOR(16)

#if TAPS > 0

#define COLUMNS ((TILE - 1) * STRIDE + TAPS)

static inline void add_column(VECTOR_16 sums[TILE], const VECTOR_16 weights[TAPS],
                              const VECTOR_16 x, const int column) {
  UNROLL for (int i = 0; i < TILE; ++i) {
    const int tap = column - i * STRIDE;
    if (tap >= 0 && tap < TAPS) sums[i] = fma(x, weights[tap], sums[i]);
  }
}

static inline void square(const Place at, const DepthwiseParameters* p) {
  VECTOR_16 sums[TILE];
  UNROLL for (int i = 0; i < TILE; ++i) sums[i] = LOAD_16(at.weights);
  const bool inside = at.in_column >= 0 && at.in_column + COLUMNS <= p->input_columns;
  NO_UNROLL for (int tap = 0; tap < TAPS; ++tap) {
    const int row = at.in_row + tap;
    if ((uint)row >= (uint)p->input_rows) continue;
    VECTOR_16 weights[TAPS];
    UNROLL for (int i = 0; i < TAPS; ++i) {
      weights[i] = LOAD_16(at.weights + (1 + tap * TAPS + i) * LANES);
    }
    __global const DTYPE* x = at.x + (row * p->x_row + at.in_column * p->x_pixel);
    if (inside) {
      UNROLL for (int column = 0; column < COLUMNS; ++column) {
        add_column(sums, weights, LOAD_16(x + column * p->x_pixel), column);
      }
    } else {
      UNROLL for (int column = 0; column < COLUMNS; ++column) {
        if ((uint)(at.in_column + column) < (uint)p->input_columns) {
          add_column(sums, weights, LOAD_16(x + column * p->x_pixel), column);
        }
      }
    }
  }
  finish_16(sums, &at, p);
}

#else
#define square any_16
#endif

static inline Place lane_of(Place at, const int lane) {
  at.x += lane;
  at.weights += lane;
  at.residual += lane;
  at.y += lane;
  return at;
}

// Work-items: blocks of channels, runs of rows.
__kernel void depthwise(__global const DTYPE* x, const ulong x_offset,
                        __global const DTYPE* weights, __global DTYPE* y, const ulong y_offset,
                        __global const DTYPE* residual, const ulong residual_offset,
                        const DepthwiseParameters p) {
  const int channel = get_global_id(0) * LANES;
  const int lanes = p.channels - channel;
  if (lanes <= 0) return;
  int row = get_global_id(1) * p.rows_per_item;
  const int end = min(row + p.rows_per_item, p.rows);
  x += x_offset + channel;
  y += y_offset + channel;
  residual += residual_offset + channel;
  weights += channel * (1 + p.taps_y * p.taps_x);
  for (; row < end; ++row) {
    const int image = row / p.output_rows;
    const int row_of_image = row - image * p.output_rows;
    for (int column = 0; column < p.output_columns; column += TILE) {
      Place at;
      at.in_row = row_of_image * p.stride_y - p.pad_top;
      at.in_column = column * p.stride_x - p.pad_left;
      at.pixels = p.output_columns - column;
      at.x = x + image * p.x_image;
      at.weights = weights;
      at.residual = residual + (image * p.residual_image + row_of_image * p.residual_row +
                                column * p.residual_pixel);
      at.y = y + (image * p.y_image + row_of_image * p.y_row + column * p.y_pixel);
      if (lanes >= LANES) {
        square(at, &p);
        continue;
      }
      int lane = 0;
      for (; lane + 4 <= lanes; lane += 4) any_4(lane_of(at, lane), &p);
      for (; lane < lanes; ++lane) any_1(lane_of(at, lane), &p);
    }
  }
}
