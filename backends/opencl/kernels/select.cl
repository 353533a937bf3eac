// Computes z = condition ? x : y, by rows. WORD is an unsigned type of the elements' size.

// Arguments as in binary.cl. Elements are moved by their size, whatever they are.
__kernel void select_rows(__global WORD* z_buffer, const ulong z_offset,
                          __global const uchar* c_buffer, const ulong c_offset,
                          __global const WORD* x_buffer, const ulong x_offset,
                          __global const WORD* y_buffer, const ulong y_offset, const int4 dims,
                          const int4 z_strides, const int4 c_strides, const int4 x_strides,
                          const int4 y_strides) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const uchar* c = c_buffer + c_offset + RowOffset(part, c_strides);
  __global const WORD* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global const WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  __global WORD* z = z_buffer + z_offset + RowOffset(part, z_strides);
  for (int i = 0; i < part.count; ++i) {
    const WORD if_true = x[i * x_strides.w];
    const WORD if_false = y[i * y_strides.w];
    z[i * z_strides.w] = c[i * c_strides.w] != 0 ? if_true : if_false;
  }
}
