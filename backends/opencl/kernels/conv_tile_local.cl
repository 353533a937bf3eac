// Computes convolutions and matrix products by tiles in local memory, for devices that have such of
// their own: a work-group computes TILE_PIXELS rows of the GEMM (output pixels) by TILE_WIDTH output
// channels. Step by step its work-items load TILE_DEPTH rows of both operands, each value once, and
// every work-item multiplies what its ITEM_PIXELS by ITEM_OUTPUTS sums need of them. TILE_SLICES
// parts of a work-group do so side by side for different parts of the depth (taps and channels), and
// add up at the end: small ops have few tiles, and a GPU wants many work-items.
//
// The functions, their parameters and the packed weights are those of conv_tile.cl; `memory` has
// TileShape::local_floats (tile_shapes.hpp). The host defines the names in capitals that are used
// above, and FUNCTION, the number of the activation.

#define ITEMS_X (TILE_WIDTH / ITEM_OUTPUTS)
#define SLICE_ITEMS (TILE_PIXELS / ITEM_PIXELS * ITEMS_X)
#define GROUP_ITEMS (SLICE_ITEMS * TILE_SLICES)
#define X_LOADS (TILE_PIXELS * TILE_DEPTH / SLICE_ITEMS)
#define WEIGHT_LOADS (TILE_WIDTH * TILE_DEPTH / SLICE_ITEMS)
#define PIXEL_STEP (SLICE_ITEMS / TILE_DEPTH)
#define VECTOR JOIN(DTYPE, 4)
#define UNROLL _Pragma("unroll")
// Neighbours in depth lie in different banks.
#if TILE_PIXELS >= 4
#define X_PITCH (TILE_PIXELS + 4)
#else
#define X_PITCH TILE_PIXELS
#endif
#define OPERAND_FLOATS (TILE_DEPTH * (X_PITCH + TILE_WIDTH))
#define SUM_FLOATS (TILE_PIXELS * TILE_WIDTH)
// Where ops are merged, a work-group may have more work-items than this one needs: those only wait.
#ifdef TENON_IDLE
#define IS_IDLE TENON_IDLE
#else
#define IS_IDLE false
#endif

DEFINE_FUNCTION(DTYPE, activate_one, FUNCTION)

// Where a work-item stands.
typedef struct {
  int item;    // of the work-group
  int slice;   // of the depth
  int within;  // the slice: its number among the slice's work-items
  int block;   // of weights
  int group;
  int first_pixel;  // of the tile
  int load_depth, load_pixel;  // what it loads of x: the first, of those that are PIXEL_STEP apart
  int pixel, output;           // the first of its sums, within the tile
} Place;

static inline Place find_place(const uint x, const uint y, const uint z) {
  const uint item = x % GROUP_ITEMS;
  const uint within = item % SLICE_ITEMS;
  Place at;
  at.item = item;
  at.slice = item / SLICE_ITEMS;
  at.within = within;
  at.block = x / GROUP_ITEMS;
  at.group = z;
  at.first_pixel = y * TILE_PIXELS;
  at.load_depth = within % TILE_DEPTH;
  at.load_pixel = within / TILE_DEPTH;
  at.pixel = within / ITEMS_X * ITEM_PIXELS;
  at.output = within % ITEMS_X * ITEM_OUTPUTS;
  return at;
}

static inline void clear(DTYPE sums[ITEM_PIXELS][ITEM_OUTPUTS]) {
  UNROLL for (int i = 0; i < ITEM_PIXELS; ++i) {
    UNROLL for (int o = 0; o < ITEM_OUTPUTS; ++o) sums[i][o] = 0.0f;
  }
}

// The bias of a tile's channels; the weights, row by row of the depth, come behind it.
static inline __global const DTYPE* find_block(__global const DTYPE* weights, const int group,
                                               const int block, const int blocks,
                                               const int depth) {
  return weights + (size_t)(group * blocks + block) * ((depth + 1) * TILE_WIDTH);
}

// Puts what a slice needs for the rows of the depth from `first` on into local memory: `values` are
// what this work-item has loaded of x.
static inline void share(__local DTYPE* operands, const DTYPE values[X_LOADS],
                         __global const DTYPE* weights, const Place* at, const int first,
                         const int depth, const bool is_idle) {
  DTYPE loaded[WEIGHT_LOADS];
  UNROLL for (int i = 0; i < WEIGHT_LOADS; ++i) {
    const uint index = at->within + i * SLICE_ITEMS;
    const bool is_there = !is_idle && first + (int)(index / TILE_WIDTH) < depth;
    loaded[i] = is_there ? weights[first * TILE_WIDTH + index] : 0.0f;
  }
  barrier(CLK_LOCAL_MEM_FENCE);  // the rows before have been used
  if (!is_idle) {
    UNROLL for (int i = 0; i < X_LOADS; ++i) {
      operands[at->load_depth * X_PITCH + at->load_pixel + i * PIXEL_STEP] = values[i];
    }
    UNROLL for (int i = 0; i < WEIGHT_LOADS; ++i) {
      operands[TILE_DEPTH * X_PITCH + at->within + i * SLICE_ITEMS] = loaded[i];
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
}

static inline void multiply(DTYPE sums[ITEM_PIXELS][ITEM_OUTPUTS], __local const DTYPE* operands,
                            const Place* at) {
  __local const DTYPE* x = operands + at->pixel;
  __local const DTYPE* weights = operands + TILE_DEPTH * X_PITCH + at->output;
  UNROLL for (int row = 0; row < TILE_DEPTH; ++row) {
    DTYPE value[ITEM_PIXELS];
    DTYPE weight[ITEM_OUTPUTS];
#if ITEM_PIXELS % 4 == 0
    UNROLL for (int i = 0; i < ITEM_PIXELS; i += 4) {
      const VECTOR four = *(__local const VECTOR*)(x + row * X_PITCH + i);
      value[i] = four.s0;
      value[i + 1] = four.s1;
      value[i + 2] = four.s2;
      value[i + 3] = four.s3;
    }
#else
    UNROLL for (int i = 0; i < ITEM_PIXELS; ++i) value[i] = x[row * X_PITCH + i];
#endif
    UNROLL for (int o = 0; o < ITEM_OUTPUTS; o += 4) {
      const VECTOR four = *(__local const VECTOR*)(weights + row * TILE_WIDTH + o);
      weight[o] = four.s0;
      weight[o + 1] = four.s1;
      weight[o + 2] = four.s2;
      weight[o + 3] = four.s3;
    }
    UNROLL for (int i = 0; i < ITEM_PIXELS; ++i) {
      UNROLL for (int o = 0; o < ITEM_OUTPUTS; ++o) {
        sums[i][o] = fma(value[i], weight[o], sums[i][o]);
      }
    }
  }
}

// Adds bias and residual to the sum of a pixel and an output channel of the tile, and stores it.
static inline void epilogue(const DTYPE sum, const int pixel, const int column,
                            __global const DTYPE* bias, __global DTYPE* y,
                            __global const DTYPE* residual, const Place* at, const bool is_gemm,
                            const TileParameters* p) {
  const int output = at->block * TILE_WIDTH + column;
  if (pixel >= p->pixels || output >= p->outputs) return;
  int to = pixel * p->y_pixel;
  int from = pixel * p->residual_pixel;
  if (!is_gemm) {
    const int line = pixel / p->output_columns;
    const int image = line / p->output_rows;
    const int x = pixel - line * p->output_columns;
    const int row = line - image * p->output_rows;
    to = image * p->y_image + row * p->y_row + x * p->y_pixel;
    from = image * p->residual_image + row * p->residual_row + x * p->residual_pixel;
  }
  DTYPE value = sum + bias[column];
  if (p->has_residual) value += residual[from + output * p->residual_channel];
  y[to + output * p->y_channel] = activate_one(value, p->a, p->b);
}

// Adds up what the slices have, and stores the tile.
static inline void finish(DTYPE sums[ITEM_PIXELS][ITEM_OUTPUTS], __local DTYPE* memory,
                          __global const DTYPE* bias, __global DTYPE* y,
                          __global const DTYPE* residual, const Place* at, const bool is_gemm,
                          const bool is_idle, const TileParameters* p) {
#if TILE_SLICES > 1
  barrier(CLK_LOCAL_MEM_FENCE);  // the operands have been used
  if (!is_idle) {
    UNROLL for (int i = 0; i < ITEM_PIXELS; ++i) {
      UNROLL for (int o = 0; o < ITEM_OUTPUTS; ++o) {
        memory[at->slice * SUM_FLOATS + (at->pixel + i) * TILE_WIDTH + at->output + o] =
            sums[i][o];
      }
    }
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (is_idle) return;
  for (uint n = at->item; n < SUM_FLOATS; n += GROUP_ITEMS) {
    DTYPE total = memory[n];
    for (int slice = 1; slice < TILE_SLICES; ++slice) total += memory[slice * SUM_FLOATS + n];
    epilogue(total, at->first_pixel + n / TILE_WIDTH, n % TILE_WIDTH, bias, y, residual, at,
             is_gemm, p);
  }
#else
  if (is_idle) return;
  UNROLL for (int i = 0; i < ITEM_PIXELS; ++i) {
    UNROLL for (int o = 0; o < ITEM_OUTPUTS; ++o) {
      epilogue(sums[i][o], at->first_pixel + at->pixel + i, at->output + o, bias, y, residual,
               at, is_gemm, p);
    }
  }
#endif
}

// Work-items: blocks of weights, tiles of pixels, groups.
__kernel void conv_tile(__global const DTYPE* x, const ulong x_offset,
                        __global const DTYPE* weights, const ulong weights_offset,
                        __global DTYPE* y, const ulong y_offset, __global const DTYPE* residual,
                        const ulong residual_offset, const TileParameters p,
                        __local VECTOR* memory) {
  const bool is_idle = IS_IDLE;
  const Place at = find_place(get_global_id(0), get_global_id(1), get_global_id(2));
  const int depth = p.taps_y * p.taps_x * p.channels;
  __global const DTYPE* bias =
      find_block(weights + weights_offset, at.group, at.block, p.blocks, depth);
  x += x_offset + (size_t)at.group * p.x_group;
  __local DTYPE* operands = (__local DTYPE*)memory + at.slice * OPERAND_FLOATS;
  int from[X_LOADS], top[X_LOADS], left[X_LOADS];
  UNROLL for (int i = 0; i < X_LOADS; ++i) {
    // Beyond the last pixel that one is computed again, and not stored.
    const int pixel = min(at.first_pixel + at.load_pixel + i * PIXEL_STEP, p.pixels - 1);
    const int line = pixel / p.output_columns;
    const int image = line / p.output_rows;
    top[i] = (line - image * p.output_rows) * p.stride_y - p.pad_top;
    left[i] = (pixel - line * p.output_columns) * p.stride_x - p.pad_left;
    from[i] = image * p.x_image + top[i] * p.x_row + left[i] * p.x_pixel;
  }
  DTYPE sums[ITEM_PIXELS][ITEM_OUTPUTS];
  clear(sums);
  // All slices take as many steps, since all wait at the same barriers.
  for (int step = 0; step < depth; step += TILE_DEPTH * TILE_SLICES) {
    const int first = step + at.slice * TILE_DEPTH;
    const int row = first + at.load_depth;
    const int tap = row / p.channels;
    const int tap_y = tap / p.taps_x;
    const int down = tap_y * p.dilation_y;
    const int right = (tap - tap_y * p.taps_x) * p.dilation_x;
    const int offset =
        down * p.x_row + right * p.x_pixel + (row - tap * p.channels) * p.x_channel;
    DTYPE values[X_LOADS];
    UNROLL for (int i = 0; i < X_LOADS; ++i) {
      const bool inside = !is_idle && row < depth && (uint)(top[i] + down) < (uint)p.input_rows &&
                          (uint)(left[i] + right) < (uint)p.input_columns;
      values[i] = inside ? x[from[i] + offset] : 0.0f;
    }
    share(operands, values, bias + TILE_WIDTH, &at, first, depth, is_idle);
    multiply(sums, operands, &at);
  }
  finish(sums, (__local DTYPE*)memory, bias,
         y + y_offset + (size_t)at.group * p.y_group,
         residual + residual_offset + (size_t)at.group * p.residual_group, &at, false, is_idle,
         &p);
}

// Does the same for one tap without padding and pixels (rows) at equal distances.
__kernel void gemm_tile(__global const DTYPE* x, const ulong x_offset,
                        __global const DTYPE* weights, const ulong weights_offset,
                        __global DTYPE* y, const ulong y_offset, __global const DTYPE* residual,
                        const ulong residual_offset, const TileParameters p,
                        __local VECTOR* memory) {
  const bool is_idle = IS_IDLE;
  const Place at = find_place(get_global_id(0), get_global_id(1), get_global_id(2));
  __global const DTYPE* bias = find_block(weights + weights_offset, at.group % p.weight_groups,
                                          at.block, p.blocks, p.channels);
  x += x_offset + (size_t)at.group * p.x_group;
  __local DTYPE* operands = (__local DTYPE*)memory + at.slice * OPERAND_FLOATS;
  int from[X_LOADS];
  UNROLL for (int i = 0; i < X_LOADS; ++i) {
    from[i] = min(at.first_pixel + at.load_pixel + i * PIXEL_STEP, p.pixels - 1) * p.x_pixel;
  }
  DTYPE sums[ITEM_PIXELS][ITEM_OUTPUTS];
  clear(sums);
  for (int step = 0; step < p.channels; step += TILE_DEPTH * TILE_SLICES) {
    const int first = step + at.slice * TILE_DEPTH;
    const int row = first + at.load_depth;
    DTYPE values[X_LOADS];
    UNROLL for (int i = 0; i < X_LOADS; ++i) {
      const bool is_there = !is_idle && row < p.channels;
      values[i] = is_there ? x[from[i] + row * p.x_channel] : 0.0f;
    }
    share(operands, values, bias + TILE_WIDTH, &at, first, p.channels, is_idle);
    multiply(sums, operands, &at);
  }
  finish(sums, (__local DTYPE*)memory, bias,
         y + y_offset + (size_t)at.group * p.y_group,
         residual + residual_offset + (size_t)at.group * p.residual_group, &at, true, is_idle, &p);
}
