// Copies between strided views, by rows. WORD is an unsigned type of the elements' size.

// Arguments as in unary.cl.
__kernel void move(__global WORD* y_buffer, const ulong y_offset, __global const WORD* x_buffer,
                   const ulong x_offset, const int4 dims, const int4 y_strides,
                   const int4 x_strides) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const WORD* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  int i = 0;
  if (x_strides.w == 1 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC) VSTORE(VLOAD(x + i), y + i);
  }
  for (; i < part.count; ++i) y[i * y_strides.w] = x[i * x_strides.w];
}

// The same elements in row-major order under other dims: where no nest of loops fits both.
__kernel void reshape(__global WORD* y_buffer, const ulong y_offset, __global const WORD* x_buffer,
                      const ulong x_offset, const int count, const int8 y_dims,
                      const int8 y_strides, const int8 x_dims, const int8 x_strides) {
  const int index = (int)get_global_id(0);
  if (index >= count) return;
  y_buffer[y_offset + PlaceOf(index, y_dims, y_strides)] =
      x_buffer[x_offset + PlaceOf(index, x_dims, x_strides)];
}
