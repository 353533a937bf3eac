// Computes z = f(x, y) of bytes, by rows. FUNCTION is the number of a BinaryFunction, ROUNDING how
// results are brought to the output's scale.

// As in attributes.hpp.
typedef struct {
  int function;
  int x_zero_point, y_zero_point;
  QuantizedScale x_scale, y_scale, output_scale;
  int left_shift;
  QuantizedOutput output;
} QuantizedBinaryAttributes;

// The rounded result of elements less their zero points.
static inline int compute(const int x, const int y, const QuantizedBinaryAttributes a) {
#if ROUNDING == FIXED_POINT
#if FUNCTION == 2
  const int result = as_int((uint)x * (uint)y);
#else
  const int left = fixed_point(as_int((uint)x << a.left_shift), a.x_scale.multiplier, a.x_scale.shift);
  const int right = fixed_point(as_int((uint)y << a.left_shift), a.y_scale.multiplier, a.y_scale.shift);
  const int result =
      as_int(FUNCTION == 1 ? as_uint(left) - as_uint(right) : as_uint(left) + as_uint(right));
#endif
  return fixed_point(result, a.output_scale.multiplier, a.output_scale.shift);
#else
  const float left = (float)x * a.x_scale.scale;
  const float right = (float)y * a.y_scale.scale;
#if FUNCTION == 0
  const float result = left + right;
#elif FUNCTION == 1
  const float result = left - right;
#elif FUNCTION == 2
  const float result = left * right;
#elif FUNCTION == 3
  const float result = divided(left, right);
#elif FUNCTION == 5
  const float result = left > right ? left : right;
#else
  const float result = left < right ? left : right;
#endif
  return round_half_even(divided(result, a.output_scale.scale));
#endif
}

// A broadcast operand's row has stride 0. flips: of x and y. The rest as in unary.
__kernel void quantized_binary(__global uchar* z_buffer, const ulong z_offset,
                               __global const uchar* x_buffer, const ulong x_offset,
                               __global const uchar* y_buffer, const ulong y_offset,
                               const int4 dims, const int4 z_strides, const int4 x_strides,
                               const int4 y_strides, const int x_flip, const int y_flip,
                               const QuantizedBinaryAttributes a) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const uchar* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global const uchar* y = y_buffer + y_offset + RowOffset(part, y_strides);
  __global uchar* z = z_buffer + z_offset + RowOffset(part, z_strides);
  for (int i = 0; i < part.count; ++i) {
    const int left = BYTE_VALUE(x[i * x_strides.w], x_flip) - a.x_zero_point;
    const int right = BYTE_VALUE(y[i * y_strides.w], y_flip) - a.y_zero_point;
    z[i * z_strides.w] = output_byte(a.output, compute(left, right, a));
  }
}
