// Takes y from x at indices, by rows. WORD is an unsigned type of the elements' size.

// `table`: of each index, where its slab of x starts, in elements. A row lies in one slab (table
// stride 0) or takes an element of each. Arguments as in binary.cl.
__kernel void gather(__global WORD* y_buffer, const ulong y_offset, __global const WORD* x_buffer,
                     const ulong x_offset, __global const int* table_buffer,
                     const ulong table_offset, const int4 dims, const int4 y_strides,
                     const int4 x_strides, const int4 table_strides) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const WORD* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global const int* table = table_buffer + table_offset + RowOffset(part, table_strides);
  __global WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  int i = 0;
  if (table_strides.w == 0 && x_strides.w == 1 && y_strides.w == 1) {
    const int start = table[0];
    for (; i + VEC <= part.count; i += VEC) VSTORE(VLOAD(x + start + i), y + i);
  }
  for (; i < part.count; ++i) {
    y[i * y_strides.w] = x[i * x_strides.w + table[i * table_strides.w]];
  }
}
