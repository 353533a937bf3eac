// Computes z = activation(f(x, y)), by rows. FUNCTION is the number of a BinaryFunction and
// ACTIVATION that of a UnaryFunction; POWER is set where a power's exponent is known; Z is the
// output's type where it is not DTYPE (comparisons give uchar).

#define BINARY_0(T) x + y
#define BINARY_1(T) x - y
#define BINARY_2(T) x* y
#define BINARY_3(T) x / y
#define BINARY_4(T) pow(x, y)
#define BINARY_5(T) (((x > y) | (x != x)) ? x : y)
#define BINARY_6(T) (((x < y) | (x != x)) ? x : y)
#define BINARY_7(T) (x < (T)(0.0f) ? x * y : x)
#define BINARY_9(T) fmod(x, y)
#define BINARY_10(T) (x == y)
#define BINARY_11(T) (x < y)
#define BINARY_12(T) (x <= y)
#define BINARY_13(T) (x > y)
#define BINARY_14(T) (x >= y)

// The remainder with the divisor's sign.
#define BINARY_8(T) \
  (((fmod(x, y) < (T)(0.0f)) ^ (y < (T)(0.0f))) & (fmod(x, y) != (T)(0.0f)) ? fmod(x, y) + y \
                                                                            : fmod(x, y))

#ifdef POWER
#undef BINARY_4
#define BINARY_4(T) JOIN(POWER_, POWER)(T)
#define POWER_2(T) x* x
#define POWER_3(T) x* x* x
#define POWER_4(T) (x * x) * (x * x)
#define POWER_R(T) (1.0f / x)
#define POWER_H(T) (x == -INFINITY ? (T)(INFINITY) : sqrt(x + 0.0f))
#endif

#ifndef Z
#define Z DTYPE
DEFINE_FUNCTION(VTYPE, activation_of_vector, ACTIVATION)
DEFINE_FUNCTION(DTYPE, activation_of_one, ACTIVATION)
#define CONVERT_VECTOR(T, value) activation_of_vector(value, a, b)
#define CONVERT_ONE(T, value) activation_of_one(value, a, b)
#else
// A comparison of vectors gives -1 where it is true.
#define CONVERT_VECTOR(T, value) JOIN(convert_, T)((value) & 1)
#define CONVERT_ONE(T, value) ((value) & 1)
#endif
#define ZVEC JOIN(Z, VEC)

ZVEC binary_of_vectors(VTYPE x, VTYPE y, DTYPE a, DTYPE b) {
  return CONVERT_VECTOR(ZVEC, JOIN(BINARY_, FUNCTION)(VTYPE));
}

Z binary_of_ones(DTYPE x, DTYPE y, DTYPE a, DTYPE b) {
  return CONVERT_ONE(Z, JOIN(BINARY_, FUNCTION)(DTYPE));
}

// A broadcast operand's row has stride 0. Arguments as in unary.
__kernel void binary(__global Z* z_buffer, const ulong z_offset, __global const DTYPE* x_buffer,
                     const ulong x_offset, __global const DTYPE* y_buffer, const ulong y_offset,
                     const int4 dims, const int4 z_strides, const int4 x_strides,
                     const int4 y_strides, const DTYPE a, const DTYPE b) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const DTYPE* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global const DTYPE* y = y_buffer + y_offset + RowOffset(part, y_strides);
  __global Z* z = z_buffer + z_offset + RowOffset(part, z_strides);
  int i = 0;
  if (z_strides.w == 1 && x_strides.w == 1 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC) {
      VSTORE(binary_of_vectors(VLOAD(x + i), VLOAD(y + i), a, b), z + i);
    }
  } else if (z_strides.w == 1 && x_strides.w == 1 && y_strides.w == 0) {
    const VTYPE right = (VTYPE)(y[0]);
    for (; i + VEC <= part.count; i += VEC) {
      VSTORE(binary_of_vectors(VLOAD(x + i), right, a, b), z + i);
    }
  } else if (z_strides.w == 1 && x_strides.w == 0 && y_strides.w == 1) {
    const VTYPE left = (VTYPE)(x[0]);
    for (; i + VEC <= part.count; i += VEC) {
      VSTORE(binary_of_vectors(left, VLOAD(y + i), a, b), z + i);
    }
  }
  for (; i < part.count; ++i) {
    z[i * z_strides.w] = binary_of_ones(x[i * x_strides.w], y[i * y_strides.w], a, b);
  }
}
