// Replaces each byte by the entry of a table, by rows. WORD is as wide as an entry.

// `flip`: from a byte to the number of its entry; `step`: from an entry to the next. The rest as in
// unary.
__kernel void lookup(__global WORD* y_buffer, const ulong y_offset, __global const uchar* x_buffer,
                     const ulong x_offset, __global const WORD* table, const ulong table_offset,
                     const int4 dims, const int4 y_strides, const int4 x_strides,
                     const int4 table_strides, const int flip, const int step) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const uchar* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  table += table_offset;
  for (int i = 0; i < part.count; ++i) {
    y[i * y_strides.w] = table[((int)x[i * x_strides.w] ^ flip) * step];
  }
}
