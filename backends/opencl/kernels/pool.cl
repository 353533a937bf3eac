// Pools images. With MAXIMUM it takes the largest element, else the average.

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

#ifdef MAXIMUM
#define START -INFINITY
// NaN wins over every number, and then stays.
#define TAKE(T, total, value) (((value) > (total)) | ((value) != (value)) ? (value) : (total))
#define FINISH(T, total) (total)
#else
#define START 0.0f
#define TAKE(T, total, value) ((total) + (value))
#define FINISH(T, total) ((total) / divisor)
#endif

#define POOL_WINDOW(T, LOAD, STORE)                                               \
  T total = (T)(START);                                                          \
  for (int i = first_row; i < end_row; ++i) {                                     \
    __global const DTYPE* tap = x + (row + i * dilations.x) * x_strides.z;        \
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
__kernel void pool(__global DTYPE* y_buffer, const ulong y_offset, __global const DTYPE* x_buffer,
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
  __global const DTYPE* x =
      x_buffer + x_offset + (int)image * x_strides.x + channel * x_strides.y;
  __global DTYPE* y = y_buffer + y_offset + (int)image * y_strides.x + channel * y_strides.y +
                      out_row * y_strides.z + out_column * y_strides.w;
  if (x_strides.y == 1 && y_strides.y == 1 && channel + VEC <= y_dims.y) {
    POOL_WINDOW(VTYPE, VLOAD, VSTORE);
    return;
  }
  for (int i = min(VEC, y_dims.y - channel); i > 0; --i, x += x_strides.y, y += y_strides.y) {
    POOL_WINDOW(DTYPE, LOAD_ONE, STORE_ONE);
  }
}
