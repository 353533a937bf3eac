// Computes running sums along one axis; with EXCLUSIVE they do not include the element itself.

// Every work-item does one row. dims: up to four loops over rows; axis: count, y's step, x's step,
// which are negative where sums begin at the end. The output may take over the input's memory.
__kernel void cum_sum(__global DTYPE* y_buffer, const ulong y_offset,
                      __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                      const int4 y_strides, const int4 x_strides, const int4 axis) {
  const int row = (int)get_global_id(0);
  if (row >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(row, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  DTYPE sum = 0.0f;
  for (int i = 0; i < axis.x; ++i) {
    const DTYPE value = x[i * axis.z];
#ifdef EXCLUSIVE
    y[i * axis.y] = sum;
#else
    y[i * axis.y] = sum + value;
#endif
    sum += value;
  }
}
