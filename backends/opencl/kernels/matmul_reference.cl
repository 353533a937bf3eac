// Computes a matrix product as its definition says, one output element per work-item, with any
// strides and any broadcasting. FUNCTION is the number of the activation.

DEFINE_FUNCTION(DTYPE, activate, FUNCTION)

#define MOST_DIMS 8

// As in matmul_reference.cpp. Dimensions of the output, outermost first; strides count elements
// and are 0 along what a factor or the bias repeats.
typedef struct {
  int rank;
  int depth;
  int dims[MOST_DIMS];
  int a[MOST_DIMS], b[MOST_DIMS], bias[MOST_DIMS], y[MOST_DIMS];
  int a_depth, b_depth;
  int has_bias;
  DTYPE first, second;  // parameters of the activation
} ReferenceParameters;

// Work-items: elements of the output.
__kernel void matmul_reference(__global const DTYPE* a, const ulong a_offset,
                               __global const DTYPE* b, const ulong b_offset,
                               __global const DTYPE* bias, const ulong bias_offset,
                               __global DTYPE* y, const ulong y_offset,
                               const ReferenceParameters p) {
  uint left = get_global_id(0);
  ulong at_a = a_offset;
  ulong at_b = b_offset;
  ulong at_bias = bias_offset;
  ulong at_y = y_offset;
  for (int k = p.rank - 1; k >= 0; --k) {
    const uint outer = left / (uint)p.dims[k];
    const uint index = left - outer * (uint)p.dims[k];
    left = outer;
    at_a += index * (uint)p.a[k];
    at_b += index * (uint)p.b[k];
    at_bias += index * (uint)p.bias[k];
    at_y += index * (uint)p.y[k];
  }
  if (left != 0) return;  // beyond the last element
  DTYPE sum = p.has_bias ? bias[at_bias] : (DTYPE)0;
  for (int k = 0; k < p.depth; ++k) {
    sum = fma(a[at_a + (uint)(k * p.a_depth)], b[at_b + (uint)(k * p.b_depth)], sum);
  }
  y[at_y] = activate(sum, p.first, p.second);
}
