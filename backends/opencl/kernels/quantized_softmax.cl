// Softmax of bytes: a work-item does one line. FIXED: TFLite's, in fixed point; else in floats.

#ifdef FIXED
// Functions of fixed-point numbers, as in the CPU's reduce/fixed_point.hpp.

static inline int shift_left_saturating(const int x, const int bits) {
  return convert_int_sat((long)x << bits);
}

static inline int wrapping_add(const int a, const int b) { return as_int((uint)a + (uint)b); }

// exp(x) of Q0 in [-1/4, 0): Taylor's series around -1/8 to the fourth power.
static inline int exp_of_small(const int x) {
  const int a = wrapping_add(x, 1 << 28);
  const int a2 = high_multiply(a, a);
  const int a3 = high_multiply(a2, a);
  const int a4 = high_multiply(a2, a2);
  const int upper = wrapping_add(shift_right(a4, 2), a3);
  const int tail = wrapping_add(high_multiply(upper, 715827883), a2);
  const int series = wrapping_add(a, shift_right(tail, 1));
  return wrapping_add(1895147668, high_multiply(1895147668, series));
}

__constant int kPowers[7] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};

// exp(x) in Q0 of x <= 0 in Q5.
static inline int exp_of_negative(const int x) {
  if (x == 0) return INT_MAX;
  const int small = (x & ((1 << 24) - 1)) - (1 << 24);
  const uint rest = (uint)small - (uint)x;
  int result = exp_of_small(shift_left_saturating(small, 5));
  for (int k = 0; k < 7; ++k) {
    if ((rest >> (24 + k) & 1u) != 0) result = high_multiply(result, kPowers[k]);
  }
  return result;
}

// 1 / (1 + x) in Q0 of x in [0, 1) in Q0.
static inline int reciprocal_of_one_plus(const int x) {
  const long sum = (long)x + INT_MAX;
  const int half_sum = (int)((sum + (sum >= 0 ? 1 : -1)) / 2);
  int y = wrapping_add(1515870810, high_multiply(half_sum, -1010580540));
  for (int i = 0; i < 3; ++i) {
    const int product = high_multiply(half_sum, y);
    const int error = wrapping_add(1 << 29, as_int(0u - (uint)product));
    y = wrapping_add(y, shift_left_saturating(high_multiply(y, error), 2));
  }
  return shift_left_saturating(y, 1);
}

static inline int exponential(const int difference, const int least, const QuantizedScale scale) {
  if (difference < least) return 0;
  return exp_of_negative(fixed_point(difference, scale.multiplier, scale.shift));
}
#else
static inline float power_of_two(const int exponent) { return as_float((exponent + 127) << 23); }

// exp(x) in the steps of the CPU's math.hpp.
static inline float exponential(float x) {
  x = x < -104.0f ? -104.0f : x;
  x = x > 89.0f ? 89.0f : x;
  const float shifted = x * 1.44269504f + 12582912.0f;
  const float whole = shifted - 12582912.0f;
  const float r = (x - whole * 0.693359375f) - whole * -2.12194440e-4f + 0.0f;
  float p = 1.381447306e-3f;
  p = p * r + 8.368780836e-3f;
  p = p * r + 4.166839272e-2f;
  p = p * r + 1.666651964e-1f;
  p = p * r + 4.999999404e-1f;
  const int exponent = as_int(shifted) - as_int(12582912.0f);
  const int half_exponent = exponent >> 1;
  return (1.0f + (r + r * r * p)) * power_of_two(half_exponent) *
         power_of_two(exponent - half_exponent);
}
#endif

// along: elements of a line, stride in y, stride in x. Lines as in unary.
__kernel void quantized_softmax(__global uchar* y_buffer, const ulong y_offset,
                                __global const uchar* x_buffer, const ulong x_offset,
                                const int4 dims, const int4 y_strides, const int4 x_strides,
                                const int4 along, const int flip, const int least_difference,
                                const float output_scale, const QuantizedScale scale,
                                const QuantizedOutput output) {
  const int index = (int)get_global_id(0);
  if (index >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(index, dims);
  __global const uchar* x = x_buffer + x_offset + Dot(at, x_strides);
  __global uchar* y = y_buffer + y_offset + Dot(at, y_strides);
  int largest = BYTE_VALUE(x[0], flip);
  for (int i = 1; i < along.x; ++i) largest = max(largest, BYTE_VALUE(x[i * along.z], flip));
#ifdef FIXED
  uint sum = 0;  // in Q12; wraps from 4096 elements on that all are the largest, as there
  for (int i = 0; i < along.x; ++i) {
    const int difference = BYTE_VALUE(x[i * along.z], flip) - largest;
    sum += (uint)shift_right(exponential(difference, least_difference, scale), 12);
  }
  const int headroom = (int)clz(sum);
  const uint normal = headroom == 32 ? 0u : sum << headroom;
  const int factor = reciprocal_of_one_plus(as_int(normal - (1u << 31)));
  const int shift = 12 - headroom + 31 - 8;
  for (int i = 0; i < along.x; ++i) {
    const int difference = BYTE_VALUE(x[i * along.z], flip) - largest;
    const int product = high_multiply(factor, exponential(difference, least_difference, scale));
    y[i * along.y] = output_byte(output, shift > 31 ? 0 : shift_right(product, shift));
  }
#else
  const float most = (float)largest * scale.scale;
  float sum = 0.0f;
  for (int i = 0; i < along.x; ++i) {
    sum += exponential((float)BYTE_VALUE(x[i * along.z], flip) * scale.scale - most);
  }
  const float factor = divided(1.0f, sum);
  for (int i = 0; i < along.x; ++i) {
    const float e = exponential((float)BYTE_VALUE(x[i * along.z], flip) * scale.scale - most);
    y[i * along.y] = output_byte(output, round_half_even(divided(e * factor, output_scale)));
  }
#endif
}
