// Brings a matrix that is no constant, and its bias, into the order that gemm_tile reads.

// As in matmul.cpp. Strides count elements.
typedef struct {
  int depth, columns;
  int width;   // of a tile
  int blocks;  // of columns
  int group_step, depth_step, column_step;
  int has_bias;
} PackParameters;

#ifdef ON_CPU

// Work-items: blocks of columns, groups.
__kernel void matmul_pack(__global const DTYPE* b, const ulong b_offset, __global const DTYPE* bias,
                          const ulong bias_offset, __global DTYPE* packed,
                          const ulong packed_offset, const PackParameters p) {
  const int block = get_global_id(0);
  const int group = get_global_id(1);
  const int first = block * p.width;
  const int count = min(p.width, p.columns - first);
  b += b_offset + (size_t)group * p.group_step + (size_t)first * p.column_step;
  packed += packed_offset + (size_t)(group * p.blocks + block) * (p.depth + 1) * p.width;
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

#else

// Work-items: columns of all blocks, rows of packed weights, the first of which is the bias, groups.
__kernel void matmul_pack(__global const DTYPE* b, const ulong b_offset, __global const DTYPE* bias,
                          const ulong bias_offset, __global DTYPE* packed,
                          const ulong packed_offset, const PackParameters p) {
  const int column = get_global_id(0);
  const int row = get_global_id(1);
  const int group = get_global_id(2);
  if (column >= p.blocks * p.width || row > p.depth) return;
  const int block = column / p.width;
  DTYPE value = 0;
  if (column < p.columns && row > 0) {
    value = b[b_offset + (size_t)group * p.group_step + (size_t)(row - 1) * p.depth_step +
              (size_t)column * p.column_step];
  } else if (column < p.columns && p.has_bias) {
    value = bias[bias_offset + column];
  }
  packed[packed_offset + ((size_t)(group * p.blocks + block) * (p.depth + 1) + row) * p.width +
         column - block * p.width] = value;
}

#endif
