// Computes y = f(x), by rows. FUNCTION is the number of a UnaryFunction.

DEFINE_FUNCTION(VTYPE, function_of_vector, FUNCTION)
DEFINE_FUNCTION(DTYPE, function_of_one, FUNCTION)

// A work-item does PIECE contiguous elements of a row of dims.w elements; dims.xyz count the rows.
__kernel void unary(__global DTYPE* y_buffer, const ulong y_offset, __global const DTYPE* x_buffer,
                    const ulong x_offset, const int4 dims, const int4 y_strides,
                    const int4 x_strides, const DTYPE a, const DTYPE b) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const DTYPE* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global DTYPE* y = y_buffer + y_offset + RowOffset(part, y_strides);
  int i = 0;
  if (x_strides.w == 1 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC) {
      VSTORE(function_of_vector(VLOAD(x + i), a, b), y + i);
    }
  }
  for (; i < part.count; ++i) {
    y[i * y_strides.w] = function_of_one(x[i * x_strides.w], a, b);
  }
}
