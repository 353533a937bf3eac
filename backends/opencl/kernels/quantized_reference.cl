// Convolutions and matrix products of bytes as their definitions say, one output element per
// work-item, with any strides. Y is the output's type: bytes are uchar.

// Vectors with one element for each channel or (stride 0) one for all; null pointers where there
// are none. Multipliers come as their bits, be they int or float.
#define VECTORS                                                                               \
  __global const int *bias, const ulong bias_offset, __global const int *multiplier,          \
      const ulong multiplier_offset, __global const char *shift, const ulong shift_offset,    \
      __global const uchar *x_zero, const ulong x_zero_offset, __global const uchar *w_zero,  \
      const ulong w_zero_offset

// As in quantized_reference.cpp.
typedef struct {
  int x_flip, w_flip;
  int bias, multiplier, shift, x_zero, w_zero;  // strides
  QuantizedOutput output;
} VectorParameters;

// Stores the sum of channel `c`.
static inline void finish(__global Y* y, const uint sum_so_far, const int c, VECTORS,
                          const VectorParameters p) {
  const int sum = as_int(bias != 0 ? sum_so_far + (uint)bias[bias_offset + c * p.bias] : sum_so_far);
#if defined(GIVES_SUMS)
  *y = sum;
#elif defined(GIVES_FLOATS)
  *y = (float)sum * as_float(multiplier[multiplier_offset + c * p.multiplier]);
#else
  const int by = shift != 0 ? (int)shift[shift_offset + c * p.shift] : 0;
  const int factor = multiplier[multiplier_offset + c * p.multiplier];
  *y = output_byte(p.output, requantized(p.output.rounding, sum, factor, by));
#endif
}

#define ZERO(vector, flip, index) \
  (vector != 0 ? BYTE_VALUE(vector[vector##_offset + (index) * p.vectors.vector], flip) : 0)
#define FINISH(y, sum, c)                                                                     \
  finish(y, sum, c, bias, bias_offset, multiplier, multiplier_offset, shift, shift_offset,    \
         x_zero, x_zero_offset, w_zero, w_zero_offset, p.vectors)

// Strides: image or output, channel, row, column.
typedef struct {
  int outputs, output_rows, output_columns, images;
  int input_rows, input_columns;
  int channels, outputs_per_group;
  int taps_y, taps_x;
  int stride_y, stride_x;
  int dilation_y, dilation_x;
  int pad_top, pad_left;
  int x[4], w[4], y[4];
  VectorParameters vectors;
} ConvParameters;

// Work-items: output channels, pixels, images.
__kernel void quantized_conv(__global const uchar* x, const ulong x_offset,
                             __global const uchar* w, const ulong w_offset, VECTORS,
                             __global Y* y, const ulong y_offset, const ConvParameters p) {
  const int output = get_global_id(0);
  const int pixel = get_global_id(1);
  const int image = get_global_id(2);
  if (output >= p.outputs || pixel >= p.output_rows * p.output_columns || image >= p.images) return;
  const int row = pixel / p.output_columns;
  const int column = pixel - row * p.output_columns;
  const int first = output / p.outputs_per_group * p.channels;
  x += x_offset + image * p.x[0] + first * p.x[1];
  w += w_offset + output * p.w[0];
  const int weight_zero = ZERO(w_zero, p.vectors.w_flip, output);
  uint sum = 0;
  for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {
    const int in_row = row * p.stride_y - p.pad_top + tap_y * p.dilation_y;
    if ((uint)in_row >= (uint)p.input_rows) continue;
    for (int tap_x = 0; tap_x < p.taps_x; ++tap_x) {
      const int in_column = column * p.stride_x - p.pad_left + tap_x * p.dilation_x;
      if ((uint)in_column >= (uint)p.input_columns) continue;
      for (int k = 0; k < p.channels; ++k) {
        const int from = k * p.x[1] + in_row * p.x[2] + in_column * p.x[3];
        const int at = k * p.w[1] + tap_y * p.w[2] + tap_x * p.w[3];
        sum += (uint)((BYTE_VALUE(x[from], p.vectors.x_flip) -
                       ZERO(x_zero, p.vectors.x_flip, first + k)) *
                      (BYTE_VALUE(w[at], p.vectors.w_flip) - weight_zero));
      }
    }
  }
  FINISH(y + y_offset + image * p.y[0] + output * p.y[1] + row * p.y[2] + column * p.y[3], sum,
         output);
}

#define MOST_DIMS 8

// Dimensions of the output, outermost first; strides are 0 along what a factor repeats.
typedef struct {
  int rank;
  int depth;
  int dims[MOST_DIMS];
  int a[MOST_DIMS], b[MOST_DIMS], y[MOST_DIMS];
  int a_depth, b_depth;
  VectorParameters vectors;
} MatMulParameters;

// Work-items: elements of the output.
__kernel void quantized_matmul(__global const uchar* a, const ulong a_offset,
                               __global const uchar* b, const ulong b_offset, VECTORS,
                               __global Y* y, const ulong y_offset, const MatMulParameters p) {
  uint left = get_global_id(0);
  const int column = (int)(left % (uint)p.dims[p.rank - 1]);
  ulong at_a = a_offset;
  ulong at_b = b_offset;
  ulong at_y = y_offset;
  for (int k = p.rank - 1; k >= 0; --k) {
    const uint outer = left / (uint)p.dims[k];
    const uint index = left - outer * (uint)p.dims[k];
    left = outer;
    at_a += index * (uint)p.a[k];
    at_b += index * (uint)p.b[k];
    at_y += index * (uint)p.y[k];
  }
  if (left != 0) return;  // beyond the last element
  const int x_shift = ZERO(x_zero, p.vectors.x_flip, 0);
  const int weight_zero = ZERO(w_zero, p.vectors.w_flip, column);
  uint sum = 0;
  for (int k = 0; k < p.depth; ++k) {
    sum += (uint)((BYTE_VALUE(a[at_a + (uint)(k * p.a_depth)], p.vectors.x_flip) - x_shift) *
                  (BYTE_VALUE(b[at_b + (uint)(k * p.b_depth)], p.vectors.w_flip) - weight_zero));
  }
  FINISH(y + at_y, sum, column);
}
