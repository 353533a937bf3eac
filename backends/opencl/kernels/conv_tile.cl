// Computes convolutions and matrix products by register tiles: TILE_PIXELS rows of the GEMM (output
// pixels) by TILE_VECTORS vectors of TILE_LANES output channels stay in registers during the loops
// over taps and input channels. Local memory is not used: on CPUs, and on GPUs that keep it where
// everything is, it is one more copy. For others there is conv_tile_local.cl.
//
// Packed weights have, for every group, one block per TILE_WIDTH output channels, and the last
// block is filled up with zeros: bias [TILE_WIDTH], then [tap][input channel][TILE_WIDTH]. After
// the last block come as many zeros as a group has input channels: padding reads them.
//
// The host defines, besides what the prelude names: the first three TILE_ names; FUNCTION, the
// number of the activation; ANY_LAYOUT, where the input's channels need not be contiguous.

#define TILE_WIDTH (TILE_LANES * TILE_VECTORS)
#define VECTOR JOIN(DTYPE, TILE_LANES)
#define LOAD(index, pointer) JOIN(vload, TILE_LANES)(index, pointer)
#define STORE(vector, pointer) JOIN(vstore, TILE_LANES)(vector, 0, pointer)
#define UNROLL _Pragma("unroll")
#ifdef ON_CPU
// Spares the compiler the loop over a group's work-items.
#define TILE_GROUP __attribute__((reqd_work_group_size(1, 1, 1)))
// And of the end of a tile one copy, not one for each of its vectors.
#define FOR_EACH_SUM _Pragma("nounroll")
#else
#define TILE_GROUP
#define FOR_EACH_SUM _Pragma("unroll")
#endif

DEFINE_FUNCTION(VECTOR, activate, FUNCTION)
DEFINE_FUNCTION(DTYPE, activate_one, FUNCTION)

typedef union {
  VECTOR vector;
  DTYPE elements[TILE_LANES];
} Lanes;

// Adds the residual to `sum`, applies the activation and stores the first `lanes` of it.
static inline void epilogue(const VECTOR sum, const int lanes, __global const DTYPE* residual,
                          __global DTYPE* y, const TileParameters* p) {
  if (lanes >= TILE_LANES && p->y_channel == 1 && p->residual_channel == 1) {
    const VECTOR added = p->has_residual ? sum + LOAD(0, residual) : sum;
    STORE(activate(added, p->a, p->b), y);
    return;
  }
  // Elements are only read at variable places: LLVM 15 loses some that are written so.
  Lanes at;
  at.vector = sum;
  for (int i = 0; i < min(lanes, TILE_LANES); ++i) {
    DTYPE value = at.elements[i];
    if (p->has_residual) value += residual[i * p->residual_channel];
    y[i * p->y_channel] = activate_one(value, p->a, p->b);
  }
}

// Computes sums += x * weights over `channels`, from `offset` on; returns the end of those weights.
static inline __global const DTYPE* multiply(VECTOR sums[TILE_PIXELS][TILE_VECTORS],
                                             __global const DTYPE* at[TILE_PIXELS], int offset,
                                             __global const DTYPE* weights, const int channels,
                                             const int x_channel) {
  for (int k = 0; k < channels; ++k, offset += x_channel) {
    VECTOR value[TILE_VECTORS];
    UNROLL for (int v = 0; v < TILE_VECTORS; ++v) value[v] = LOAD(v, weights);
    UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
      const VECTOR one = (VECTOR)(at[i][offset]);
      UNROLL for (int v = 0; v < TILE_VECTORS; ++v) {
        sums[i][v] = fma(value[v], one, sums[i][v]);
      }
    }
    weights += TILE_WIDTH;
  }
  return weights;
}

// The taps of a tile some of whose taps lie in the padding.
static inline void add_with_padding(
    VECTOR sums[TILE_PIXELS][TILE_VECTORS], __global const DTYPE* from[TILE_PIXELS],
    const int top[TILE_PIXELS], const int left[TILE_PIXELS], __global const DTYPE* zeros,
    __global const DTYPE* w, const TileParameters* p) {
  for (int tap_y = 0; tap_y < p->taps_y; ++tap_y) {
    for (int tap_x = 0; tap_x < p->taps_x; ++tap_x) {
      __global const DTYPE* at[TILE_PIXELS];
#ifdef ANY_LAYOUT
      int step[TILE_PIXELS];  // from channel to channel; the zeros are no more than channels
#endif
      UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
        const int in_row = top[i] + tap_y * p->dilation_y;
        const int in_column = left[i] + tap_x * p->dilation_x;
        const bool inside =
            (uint)in_row < (uint)p->input_rows && (uint)in_column < (uint)p->input_columns;
        at[i] = inside ? from[i] + (in_row * p->x_row + in_column * p->x_pixel) : zeros;
#ifdef ANY_LAYOUT
        step[i] = inside ? p->x_channel : 0;
#endif
      }
#ifdef ANY_LAYOUT
      for (int k = 0; k < p->channels; ++k) {
        w = multiply(sums, at, 0, w, 1, 0);
        UNROLL for (int i = 0; i < TILE_PIXELS; ++i) at[i] += step[i];
      }
#else
      w = multiply(sums, at, 0, w, p->channels, 1);
#endif
    }
  }
}

static inline void start(VECTOR sums[TILE_PIXELS][TILE_VECTORS], __global const DTYPE* bias) {
  UNROLL for (int v = 0; v < TILE_VECTORS; ++v) {
    const VECTOR value = LOAD(v, bias);
    UNROLL for (int i = 0; i < TILE_PIXELS; ++i) sums[i][v] = value;
  }
}

static inline void gather_results(VECTOR sums[TILE_PIXELS][TILE_VECTORS],
                                  VECTOR results[TILE_PIXELS * TILE_VECTORS]) {
  UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
    UNROLL for (int v = 0; v < TILE_VECTORS; ++v) results[i * TILE_VECTORS + v] = sums[i][v];
  }
}

// Work-items: blocks of weights, runs of tiles, groups.
__kernel TILE_GROUP void conv_tile(__global const DTYPE* x, const ulong x_offset,
                                   __global const DTYPE* weights, const ulong weights_offset,
                                   __global DTYPE* y, const ulong y_offset,
                                   __global const DTYPE* residual, const ulong residual_offset,
                                   const TileParameters p) {
  const int block = get_global_id(0);
  const int group = get_global_id(2);
  if (block >= p.blocks) return;
  const int block_size = (p.taps_y * p.taps_x * p.channels + 1) * TILE_WIDTH;
  weights += weights_offset;
  __global const DTYPE* bias = weights + (size_t)(group * p.blocks + block) * block_size;
  __global const DTYPE* zeros = weights + (size_t)(p.weight_groups * p.blocks) * block_size;
  x += x_offset + (size_t)group * p.x_group;
  y += y_offset + (size_t)group * p.y_group + block * TILE_WIDTH * p.y_channel;
  residual += residual_offset + (size_t)group * p.residual_group +
              block * TILE_WIDTH * p.residual_channel;
  const int lanes = p.outputs - block * TILE_WIDTH;

  int pixel = get_global_id(1) * p.tiles_per_item * TILE_PIXELS;
  const int end = min(pixel + p.tiles_per_item * TILE_PIXELS, p.pixels);
  for (; pixel < end; pixel += TILE_PIXELS) {
    int row = pixel / p.output_columns;
    int column = pixel - row * p.output_columns;
    int image = row / p.output_rows;
    row -= image * p.output_rows;
    const int first_image = image;
    int top[TILE_PIXELS], left[TILE_PIXELS], to[TILE_PIXELS], add[TILE_PIXELS];
    __global const DTYPE* from[TILE_PIXELS];
    UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
      top[i] = row * p.stride_y - p.pad_top;
      left[i] = column * p.stride_x - p.pad_left;
      from[i] = x + image * p.x_image;
      to[i] = image * p.y_image + row * p.y_row + column * p.y_pixel;
      add[i] = image * p.residual_image + row * p.residual_row + column * p.residual_pixel;
      // Beyond the last pixel that one is computed again, and not stored.
      if (pixel + i + 1 < p.pixels && ++column == p.output_columns) {
        column = 0;
        if (++row == p.output_rows) {
          row = 0;
          ++image;
        }
      }
    }
    VECTOR sums[TILE_PIXELS][TILE_VECTORS];
    start(sums, bias);
    const int last_row = max(top[0], top[TILE_PIXELS - 1]) + (p.taps_y - 1) * p.dilation_y;
    bool inside = image == first_image && min(top[0], top[TILE_PIXELS - 1]) >= 0 &&
                  last_row < p.input_rows;
    UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
      inside = inside && left[i] >= 0 &&
               left[i] + (p.taps_x - 1) * p.dilation_x < p.input_columns;
    }
    __global const DTYPE* w = bias + TILE_WIDTH;
    if (inside) {
      // No tap of the tile lies in the padding: one place for each pixel, and steps that all share.
      __global const DTYPE* at[TILE_PIXELS];
      UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
        at[i] = from[i] + (top[i] * p.x_row + left[i] * p.x_pixel);
      }
      for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {
        for (int run = 0; run < p.runs_x; ++run) {
          w = multiply(sums, at, tap_y * p.dilation_y * p.x_row + run * p.run_step, w,
                       p.run_length, p.x_channel);
        }
      }
    } else {
      add_with_padding(sums, from, top, left, zeros, w, &p);
    }
    VECTOR results[TILE_PIXELS * TILE_VECTORS];
    gather_results(sums, results);
    FOR_EACH_SUM for (int n = 0; n < TILE_PIXELS * TILE_VECTORS; ++n) {
      const int i = n / TILE_VECTORS;
      const int first = n % TILE_VECTORS * TILE_LANES;
      if (pixel + i < p.pixels && lanes > first) {
        epilogue(results[n], lanes - first, residual + (add[i] + first * p.residual_channel),
               y + (to[i] + first * p.y_channel), &p);
      }
    }
  }
}

// Does the same for one tap without padding and pixels (rows) at equal distances.
__kernel TILE_GROUP void gemm_tile(__global const DTYPE* x, const ulong x_offset,
                                      __global const DTYPE* weights, const ulong weights_offset,
                                      __global DTYPE* y, const ulong y_offset,
                                      __global const DTYPE* residual, const ulong residual_offset,
                                      const TileParameters p) {
  const int block = get_global_id(0);
  const int group = get_global_id(2);
  if (block >= p.blocks) return;
  const int block_size = (p.channels + 1) * TILE_WIDTH;
  const int weight_group = group % p.weight_groups;
  __global const DTYPE* bias =
      weights + weights_offset + (size_t)(weight_group * p.blocks + block) * block_size;
  x += x_offset + (size_t)group * p.x_group;
  y += y_offset + (size_t)group * p.y_group + block * TILE_WIDTH;
  residual += residual_offset + (size_t)group * p.residual_group + block * TILE_WIDTH;
  const int lanes = p.outputs - block * TILE_WIDTH;

  int pixel = get_global_id(1) * p.tiles_per_item * TILE_PIXELS;
  const int end = min(pixel + p.tiles_per_item * TILE_PIXELS, p.pixels);
  for (; pixel < end; pixel += TILE_PIXELS) {
    __global const DTYPE* at[TILE_PIXELS];
    UNROLL for (int i = 0; i < TILE_PIXELS; ++i) {
      at[i] = x + min(pixel + i, p.pixels - 1) * p.x_pixel;
    }
    VECTOR sums[TILE_PIXELS][TILE_VECTORS];
    start(sums, bias);
    multiply(sums, at, 0, bias + TILE_WIDTH, p.channels, p.x_channel);
    VECTOR results[TILE_PIXELS * TILE_VECTORS];
    gather_results(sums, results);
    FOR_EACH_SUM for (int n = 0; n < TILE_PIXELS * TILE_VECTORS; ++n) {
      const int i = n / TILE_VECTORS;
      const int first = n % TILE_VECTORS * TILE_LANES;
      if (pixel + i < p.pixels && lanes > first) {
        epilogue(results[n], lanes - first, residual + ((pixel + i) * p.residual_pixel + first),
               y + ((pixel + i) * p.y_pixel + first), &p);
      }
    }
  }
}
