// Sums bytes along dimensions and rescales the sums, of which each is a work-item. Runs as in
// reduce.cl.
__kernel void quantized_reduce(__global uchar* y_buffer, const ulong y_offset,
                               __global const uchar* x_buffer, const ulong x_offset,
                               const int4 dims, const int4 y_strides, const int4 x_strides,
                               const int8 run_dims, const int8 run_strides, const int4 run,
                               const int flip, const int zero_point, const QuantizedScale scale,
                               const QuantizedOutput output) {
  const int index = (int)get_global_id(0);
  if (index >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(index, dims);
  __global const uchar* x = x_buffer + x_offset + Dot(at, x_strides);
  uint sum = 0;  // wraps
  for (int r = 0; r < run.x; ++r) {
    __global const uchar* elements = x + PlaceOf(r, run_dims, run_strides);
    for (int i = 0; i < run.y; ++i) {
      sum += (uint)(BYTE_VALUE(elements[i * run.z], flip) - zero_point);
    }
  }
  y_buffer[y_offset + Dot(at, y_strides)] =
      output_byte(output, rescaled(scale, output.rounding, as_int(sum)));
}
