// Computes local response normalisation over channels (axis 1).

static inline DTYPE PowerOne(const DTYPE base, const DTYPE exponent) {
  return exponent == 0.75f ? sqrt(base) * sqrt(sqrt(base)) : pow(base, exponent);
}
static inline VTYPE PowerVector(const VTYPE base, const DTYPE exponent) {
  return exponent == 0.75f ? sqrt(base) * sqrt(sqrt(base)) : pow(base, (VTYPE)(exponent));
}

// A work-item does PIECE channels of one position. dims: three loops over positions, then channels.
// window: neighbours before and after.
__kernel void lrn(__global DTYPE* y_buffer, const ulong y_offset, __global const DTYPE* x_buffer,
                  const ulong x_offset, const int4 dims, const int4 y_strides,
                  const int4 x_strides, const int2 window, const DTYPE scale, const DTYPE beta,
                  const DTYPE bias) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global const DTYPE* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global DTYPE* y = y_buffer + y_offset + RowOffset(part, y_strides);
  const bool is_vector = x_strides.w == 1 && y_strides.w == 1;
  for (int i = 0; i < part.count;) {
    // Vectors whose neighbours are all channels.
    const bool is_inside =
        part.first + i >= window.x && part.first + i + VEC - 1 + window.y < dims.w;
    if (is_vector && is_inside && i + VEC <= part.count) {
      VTYPE sum = (VTYPE)(0.0f);
      for (int k = -window.x; k <= window.y; ++k) {
        const VTYPE value = VLOAD(x + i + k);
        sum += value * value;
      }
      VSTORE(VLOAD(x + i) / PowerVector(bias + scale * sum, beta), y + i);
      i += VEC;
      continue;
    }
    // Asked channel by channel: where the window was cut before the loop, a driver (NVIDIA
    // 580.159) read beyond the last channel, of contiguous ones only.
    DTYPE sum = 0.0f;
    for (int k = -window.x; k <= window.y; ++k) {
      if ((uint)(part.first + i + k) >= (uint)dims.w) continue;
      const DTYPE value = x[(i + k) * x_strides.w];
      sum += value * value;
    }
    y[i * y_strides.w] = x[i * x_strides.w] / PowerOne(bias + scale * sum, beta);
    ++i;
  }
}
