// Pools images. With MAXIMUM it takes the largest element, else the average. ELEMENT is the type of
// an element where it is not DTYPE, LEAST its smallest value. QUANTIZED: averages of bytes.

// The first tap at or after position 0. Windows may begin far outside.
static inline int FirstTap(const int first, const int dilation) {
  return first >= 0 ? 0 : (dilation - 1 - first) / dilation;
}

// Taps of a window whose positions lie in [0, end).
static inline int EndTap(const int first, const int dilation, const int kernel_size, const int end) {
  return min(FirstTap(first - end, dilation), kernel_size);
}

// The same in [low, high): those that the average divides by.
static inline int CountTaps(const int first, const int dilation, const int kernel_size,
                            const int low, const int high) {
  return min(FirstTap(first - high, dilation), kernel_size) - FirstTap(first - low, dilation);
}

#ifdef QUANTIZED
// As in pool.cpp, behind what `pool` takes too.
typedef struct {
  int flip, x_zero_point;
  float scale;
  QuantizedOutput output;
} AverageParameters;

static inline int divide_half_away(const int sum, const int count) {
  const long rest = count / 2;
  return (int)((sum >= 0 ? (long)sum + rest : (long)sum - rest) / count);
}

// A work-item does one output.
__kernel void quantized_average_pool(__global uchar* y_buffer, const ulong y_offset,
                                     __global const uchar* x_buffer, const ulong x_offset,
                                     const int4 y_dims, const int4 x_dims, const int4 y_strides,
                                     const int4 x_strides, const int4 kernel_and_strides,
                                     const int4 dilations, const int4 pads,
                                     const int count_include_pad, const AverageParameters p) {
  const uint index = (uint)get_global_id(0);
  // Channels innermost: neighbours then read neighbours.
  const int4 at = FindPosition((int)index, (int4)(y_dims.x, y_dims.z, y_dims.w, y_dims.y));
  if (at.x >= y_dims.x) return;
  const int row = at.y * kernel_and_strides.z - pads.x;
  const int column = at.z * kernel_and_strides.w - pads.y;
  const int end_row = EndTap(row, dilations.x, kernel_and_strides.x, x_dims.z);
  const int end_column = EndTap(column, dilations.y, kernel_and_strides.y, x_dims.w);
  __global const uchar* x = x_buffer + x_offset + at.x * x_strides.x + at.w * x_strides.y;
  uint sum = 0;  // wraps
  for (int i = FirstTap(row, dilations.x); i < end_row; ++i) {
    for (int j = FirstTap(column, dilations.y); j < end_column; ++j) {
      const int place =
          (row + i * dilations.x) * x_strides.z + (column + j * dilations.y) * x_strides.w;
      sum += (uint)(BYTE_VALUE(x[place], p.flip) - p.x_zero_point);
    }
  }
  // Positions past the padding, which ceil_mode may reach, never count.
  const int4 border = count_include_pad != 0 ? pads : (int4)(0);
  const int count =
      CountTaps(row, dilations.x, kernel_and_strides.x, -border.x, x_dims.z + border.z) *
      CountTaps(column, dilations.y, kernel_and_strides.y, -border.y, x_dims.w + border.w);
  const int average = p.output.rounding == HALF_AWAY
                          ? divide_half_away(as_int(sum), count)
                          : round_half_even((float)as_int(sum) * divided(p.scale, (float)count));
  y_buffer[y_offset + at.x * y_strides.x + at.w * y_strides.y + at.y * y_strides.z +
           at.z * y_strides.w] = output_byte(p.output, average);
}
#else

#ifdef MAXIMUM
#ifndef ELEMENT
#define ELEMENT DTYPE
#define LEAST -INFINITY
#endif
#define START LEAST
// NaN wins over every number, and then stays.
#define TAKE(T, total, value) (((value) > (total)) | ((value) != (value)) ? (value) : (total))
#define FINISH(T, total) (total)
#else
#define ELEMENT DTYPE
#define START 0.0f
#define TAKE(T, total, value) ((total) + (value))
#define FINISH(T, total) ((total) / divisor)
#endif

#define POOL_WINDOW(T, LOAD, STORE)                                               \
  T total = (T)(START);                                                          \
  for (int i = first_row; i < end_row; ++i) {                                     \
    __global const ELEMENT* tap = x + (row + i * dilations.x) * x_strides.z;        \
    for (int j = first_column; j < end_column; ++j) {                             \
      const T value = LOAD(tap + (column + j * dilations.y) * x_strides.w);       \
      total = TAKE(T, total, value);                                              \
    }                                                                             \
  }                                                                               \
  STORE(FINISH(T, total), y)

#define LOAD_ONE(pointer) *(pointer)
#define STORE_ONE(value, pointer) *(pointer) = (value)

// A work-item does VEC channels of one output. Dims and strides: image, channel, row, column.
// Kernel, strides, dilations: rows, columns; pads: top, left, bottom, right.
__kernel void pool(__global ELEMENT* y_buffer, const ulong y_offset, __global const ELEMENT* x_buffer,
                   const ulong x_offset, const int4 y_dims, const int4 x_dims,
                   const int4 y_strides, const int4 x_strides, const int4 kernel_and_strides,
                   const int4 dilations, const int4 pads, const int count_include_pad) {
  const int blocks = (y_dims.y + VEC - 1) / VEC;
  uint index = (uint)get_global_id(0);
  const uint position = index / (uint)blocks;
  const int channel = (int)(index - position * (uint)blocks) * VEC;
  const uint line = position / (uint)y_dims.w;
  const int out_column = (int)(position - line * (uint)y_dims.w);
  const uint image = line / (uint)y_dims.z;
  const int out_row = (int)(line - image * (uint)y_dims.z);
  if (image >= (uint)y_dims.x) return;
  const int row = out_row * kernel_and_strides.z - pads.x;
  const int column = out_column * kernel_and_strides.w - pads.y;
  const int first_row = FirstTap(row, dilations.x);
  const int first_column = FirstTap(column, dilations.y);
  const int end_row = EndTap(row, dilations.x, kernel_and_strides.x, x_dims.z);
  const int end_column = EndTap(column, dilations.y, kernel_and_strides.y, x_dims.w);
#ifndef MAXIMUM
  // Positions past the padding, which ceil_mode may reach, never count.
  const int4 border = count_include_pad != 0 ? pads : (int4)(0);
  const DTYPE divisor =
      (DTYPE)CountTaps(row, dilations.x, kernel_and_strides.x, -border.x, x_dims.z + border.z) *
      (DTYPE)CountTaps(column, dilations.y, kernel_and_strides.y, -border.y, x_dims.w + border.w);
#endif
  __global const ELEMENT* x =
      x_buffer + x_offset + (int)image * x_strides.x + channel * x_strides.y;
  __global ELEMENT* y = y_buffer + y_offset + (int)image * y_strides.x + channel * y_strides.y +
                      out_row * y_strides.z + out_column * y_strides.w;
  if (x_strides.y == 1 && y_strides.y == 1 && channel + VEC <= y_dims.y) {
    POOL_WINDOW(JOIN(ELEMENT, VEC), VLOAD, VSTORE);
    return;
  }
  for (int i = min(VEC, y_dims.y - channel); i > 0; --i, x += x_strides.y, y += y_strides.y) {
    POOL_WINDOW(ELEMENT, LOAD_ONE, STORE_ONE);
  }
}
#endif
