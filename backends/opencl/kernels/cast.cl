// Computes y = x in another type, by rows. FROM and TO are the types; CONVERT converts one `value`.
__kernel void cast(__global TO* y_buffer, const ulong y_offset, __global const FROM* x_buffer,
                   const ulong x_offset, const int4 dims, const int4 y_strides,
                   const int4 x_strides) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const FROM* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global TO* y = y_buffer + y_offset + RowOffset(part, y_strides);
  for (int i = 0; i < part.count; ++i) {
    const FROM value = x[i * x_strides.w];
    y[i * y_strides.w] = CONVERT;
  }
}
