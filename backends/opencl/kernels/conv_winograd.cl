// Computes 3x3 convolutions with stride 1 by Winograd's minimal filtering F(4x4, 3x3): tiles of 6x6
// inputs are transformed, multiplied coefficient by coefficient (gemm_tile of conv_tile.cl, 36
// groups), and transformed back into tiles of 4x4 outputs.
//
// The matrices are those of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
// (2015), section 4.3, for the points 0, 1, -1, 2, -2 and infinity.
//
// The order of coefficients is [coefficient][tile of this piece][channel], with channels filled up
// to LANES. Loops over columns and rows stay loops: PoCL takes 2 s to compile them unrolled, for 10
// % less time. FUNCTION is the number of the activation.

#define LANES 16
#define VECTOR JOIN(DTYPE, LANES)
#define UNROLL _Pragma("unroll")
#define NO_UNROLL _Pragma("nounroll")

DEFINE_FUNCTION(VECTOR, activate, FUNCTION)

// As in conv_winograd.cpp. Strides count elements.
typedef struct {
  int first_tile;               // of this piece
  int tiles;                    // of this piece
  int tile_rows, tile_columns;  // per image
  int rows, columns;            // of the image that is read or written
  int pad_top, pad_left;
  int channels;
  int image_stride, row_stride, pixel_stride;
  int residual_image, residual_row, residual_pixel;
  int has_residual;
  DTYPE a, b;  // of the activation
} WinogradParameters;

static inline void transform_input(const VECTOR d[6], VECTOR t[6]) {
  const VECTOR even = d[4] - 4.0f * d[2];
  const VECTOR odd = d[3] - 4.0f * d[1];
  const VECTOR even_two = d[4] - d[2];
  const VECTOR odd_two = 2.0f * (d[3] - d[1]);
  t[0] = 4.0f * d[0] - 5.0f * d[2] + d[4];
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = even_two + odd_two;
  t[4] = even_two - odd_two;
  t[5] = 4.0f * d[1] - 5.0f * d[3] + d[5];
}

static inline void transform_output(const VECTOR m[6], VECTOR t[4]) {
  const VECTOR sum = m[1] + m[2];
  const VECTOR difference = m[1] - m[2];
  const VECTOR sum_two = m[3] + m[4];
  const VECTOR difference_two = m[3] - m[4];
  t[0] = m[0] + sum + sum_two;
  t[1] = difference + 2.0f * difference_two;
  t[2] = sum + 4.0f * sum_two;
  t[3] = difference + 8.0f * difference_two + m[5];
}

// A union: see conv_tile.cl.
typedef union {
  VECTOR vector;
  DTYPE elements[LANES];
} Lanes;

static inline VECTOR load_lanes(__global const DTYPE* from, const int lanes) {
  if (lanes >= LANES) return vload16(0, from);
  Lanes values;
  values.vector = (VECTOR)(0);
  for (int i = 0; i < lanes; ++i) values.elements[i] = from[i];
  return values.vector;
}

static inline void epilogue(VECTOR sum, const int lanes, __global const DTYPE* residual,
                          __global DTYPE* y, const WinogradParameters* p) {
  if (p->has_residual) sum += load_lanes(residual, lanes);
  sum = activate(sum, p->a, p->b);
  if (lanes >= LANES) {
    vstore16(sum, 0, y);
    return;
  }
  Lanes values;
  values.vector = sum;
  for (int i = 0; i < lanes; ++i) y[i] = values.elements[i];
}

// Work-items: tiles of the piece, blocks of channels.
__kernel void winograd_input(__global const DTYPE* x, const ulong x_offset,
                             __global DTYPE* coefficients, const ulong coefficients_offset,
                             const WinogradParameters p) {
  const int tile = get_global_id(0);
  if (tile >= p.tiles) return;
  const int channel = get_global_id(1) * LANES;
  const int padded = get_global_size(1) * LANES;
  const int at = p.first_tile + tile;
  const int row_of_tiles = at / p.tile_columns;
  const int image = row_of_tiles / p.tile_rows;
  const int row = (row_of_tiles - image * p.tile_rows) * 4 - p.pad_top;
  const int column = (at - row_of_tiles * p.tile_columns) * 4 - p.pad_left;
  x += x_offset + image * p.image_stride + channel;
  VECTOR half_way[36];
  NO_UNROLL for (int c = 0; c < 6; ++c) {
    VECTOR d[6], t[6];
    UNROLL for (int r = 0; r < 6; ++r) {
      d[r] = (VECTOR)(0);
      if ((uint)(row + r) < (uint)p.rows && (uint)(column + c) < (uint)p.columns) {
        d[r] = load_lanes(x + ((row + r) * p.row_stride + (column + c) * p.pixel_stride),
                          p.channels - channel);
      }
    }
    transform_input(d, t);
    UNROLL for (int r = 0; r < 6; ++r) half_way[r * 6 + c] = t[r];
  }
  const int step = p.tiles * padded;
  __global DTYPE* to = coefficients + coefficients_offset + tile * padded + channel;
  NO_UNROLL for (int r = 0; r < 6; ++r) {
    VECTOR t[6];
    transform_input(half_way + r * 6, t);
    UNROLL for (int c = 0; c < 6; ++c) vstore16(t[c], 0, to + (r * 6 + c) * step);
  }
}

__kernel void winograd_output(__global const DTYPE* coefficients, const ulong coefficients_offset,
                              __global const DTYPE* bias, __global DTYPE* y, const ulong y_offset,
                              __global const DTYPE* residual, const ulong residual_offset,
                              const WinogradParameters p) {
  const int tile = get_global_id(0);
  if (tile >= p.tiles) return;
  const int channel = get_global_id(1) * LANES;
  const int padded = get_global_size(1) * LANES;
  const int at = p.first_tile + tile;
  const int row_of_tiles = at / p.tile_columns;
  const int image = row_of_tiles / p.tile_rows;
  const int row = (row_of_tiles - image * p.tile_rows) * 4;
  const int column = (at - row_of_tiles * p.tile_columns) * 4;
  y += y_offset + image * p.image_stride + channel;
  residual += residual_offset + image * p.residual_image + channel;
  const int step = p.tiles * padded;
  __global const DTYPE* from = coefficients + coefficients_offset + tile * padded + channel;
  VECTOR half_way[24];
  NO_UNROLL for (int c = 0; c < 6; ++c) {
    VECTOR m[6], t[4];
    UNROLL for (int r = 0; r < 6; ++r) m[r] = vload16(0, from + (r * 6 + c) * step);
    transform_output(m, t);
    UNROLL for (int r = 0; r < 4; ++r) half_way[r * 6 + c] = t[r];
  }
  const VECTOR added = vload16(0, bias + channel);
  NO_UNROLL for (int r = 0; r < 4; ++r) {
    if (row + r >= p.rows) break;
    VECTOR t[4];
    transform_output(half_way + r * 6, t);
    UNROLL for (int c = 0; c < 4; ++c) {
      if (column + c < p.columns) {
        epilogue(t[c] + added, p.channels - channel,
               residual + ((row + r) * p.residual_row + (column + c) * p.residual_pixel),
               y + ((row + r) * p.row_stride + (column + c) * p.pixel_stride), &p);
      }
    }
  }
}
