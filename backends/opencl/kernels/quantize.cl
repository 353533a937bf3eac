// From floats to integers, and back, by rows. INTEGER is the type of the integers.

// Operands: y, x, scale and zero point, of which a null pointer is 0. Arguments as in unary.
#define ELEMENTS(T, U)                                                                        \
  __global T *y_buffer, const ulong y_offset, __global const U *x_buffer,                     \
      const ulong x_offset, __global const float *scale_buffer, const ulong scale_offset,     \
      __global const INTEGER *zero_buffer, const ulong zero_offset, const int4 dims,          \
      const int4 y_strides, const int4 x_strides, const int4 scale_strides,                   \
      const int4 zero_strides, const int rounding

#define PLACE(T, U)                                                                           \
  const RowPart part = FindRowPart(get_global_id(0), dims);                                   \
  if (part.count <= 0) return;                                                                \
  __global const U* x = x_buffer + x_offset + RowOffset(part, x_strides);                     \
  __global T* y = y_buffer + y_offset + RowOffset(part, y_strides);                           \
  __global const float* scale = scale_buffer + scale_offset + RowOffset(part, scale_strides); \
  const bool has_zero = zero_buffer != 0;                                                     \
  __global const INTEGER* zero =                                                              \
      has_zero ? zero_buffer + zero_offset + RowOffset(part, zero_strides) : zero_buffer;

#ifndef DEQUANTIZE
__kernel void quantize(ELEMENTS(INTEGER, float)) {
  PLACE(INTEGER, float)
  for (int i = 0; i < part.count; ++i) {
    const float quotient = divided(x[i * x_strides.w], scale[i * scale_strides.w]);
    const int rounded =
        rounding == HALF_AWAY ? round_half_away(quotient) : round_half_even(quotient);
    const int shift = has_zero ? (int)zero[i * zero_strides.w] : 0;
    y[i * y_strides.w] = JOIN(JOIN(convert_, INTEGER), _sat)(add_sat(rounded, shift));
  }
}
#else
__kernel void dequantize(ELEMENTS(float, INTEGER)) {
  PLACE(float, INTEGER)
  for (int i = 0; i < part.count; ++i) {
    // Differences of 32 bits wrap.
    const uint shift = has_zero ? (uint)zero[i * zero_strides.w] : 0;
    const int difference = as_int((uint)x[i * x_strides.w] - shift);
    y[i * y_strides.w] = (float)difference * scale[i * scale_strides.w];
  }
}
#endif
