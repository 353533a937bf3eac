// Brings a matrix that is no constant, and its bias, into the order that gemm_tile reads.

// As in matmul.cpp. Strides count elements.
typedef struct {
  int depth, columns;
  int width;  // of a tile
  int group_step, depth_step, column_step;
  int has_bias;
} PackParameters;

// Work-items: blocks of columns, groups.
__kernel void matmul_pack(__global const DTYPE* b, const ulong b_offset, __global const DTYPE* bias,
                          const ulong bias_offset, __global DTYPE* packed,
                          const ulong packed_offset, const PackParameters p) {
  const int block = get_global_id(0);
  const int blocks = get_global_size(0);
  const int group = get_global_id(1);
  const int first = block * p.width;
  const int count = min(p.width, p.columns - first);
  b += b_offset + (size_t)group * p.group_step + (size_t)first * p.column_step;
  packed += packed_offset + (size_t)(group * blocks + block) * (p.depth + 1) * p.width;
  for (int i = 0; i < p.width; ++i) {
    packed[i] = p.has_bias && i < count ? bias[bias_offset + first + i] : (DTYPE)0;
  }
  packed += p.width;
  if (count == p.width && p.width % 16 == 0 && p.column_step == 1) {
    for (int k = 0; k < p.depth; ++k) {
      for (int i = 0; i < p.width; i += 16) {
        vstore16(vload16(0, b + (size_t)k * p.depth_step + i), 0, packed + k * p.width + i);
      }
    }
    return;
  }
  for (int i = 0; i < p.width; ++i) {
    __global const DTYPE* from = b + (size_t)i * p.column_step;
    for (int k = 0; k < p.depth; ++k) {
      packed[k * p.width + i] = i < count ? from[(size_t)k * p.depth_step] : (DTYPE)0;
    }
  }
}
