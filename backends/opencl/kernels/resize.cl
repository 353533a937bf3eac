// Resizes by tables of positions that the host has made.

// The nearest element. A work-item does PIECE elements of a row of y. `table`: per loop, from
// starts.xyzw on, where in x each index of y takes its element, in elements. is_even: the row is
// taken as it lies.
#ifdef WORD
__kernel void resize_nearest(__global WORD* y_buffer, const ulong y_offset,
                             __global const WORD* x_buffer, const ulong x_offset,
                             __global const int* table, const int4 starts, const int4 dims,
                             const int4 y_strides, const int is_even) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  __global const WORD* x = x_buffer + x_offset + table[starts.x + part.row[0]] +
                           table[starts.y + part.row[1]] + table[starts.z + part.row[2]];
  int i = 0;
  if (is_even != 0 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC) VSTORE(VLOAD(x + part.first + i), y + i);
  }
  __global const int* row = table + starts.w + part.first;
  for (; i < part.count; ++i) y[i * y_strides.w] = x[row[i]];
}
#else

// Blends TAPS by TAPS elements. A work-item does VEC channels of one output. Dims and strides:
// image, channel, row, column. Tables: TAPS offsets or weights of each output row, then of each
// column.
__kernel void resize_blend(__global DTYPE* y_buffer, const ulong y_offset,
                           __global const DTYPE* x_buffer, const ulong x_offset,
                           __global const int* offsets, __global const float* weights,
                           const int4 dims, const int4 y_strides, const int4 x_strides) {
  const BlendedOutput at = FindBlendedOutput((uint)get_global_id(0), dims);
  if (at.image >= dims.x) return;
  __global const int* row_offsets = offsets + at.row * TAPS;
  __global const float* row_weights = weights + at.row * TAPS;
  __global const int* column_offsets = offsets + (dims.z + at.column) * TAPS;
  __global const float* column_weights = weights + (dims.z + at.column) * TAPS;
  __global const DTYPE* x = x_buffer + x_offset + at.image * x_strides.x + at.channel * x_strides.y;
  __global DTYPE* y = y_buffer + y_offset + OffsetOfBlended(at, y_strides);
  BLEND_CHANNELS(dims, x_strides, y_strides, at.channel);
}
#endif
