// Convolutions and matrix products of bytes by register tiles: a work-item computes TILE neighbouring
// output pixels of 16 output channels. Channels are innermost. X is the type of x's bytes, Y that of
// the output, whose bytes are uchar.
//
// Elements less their zero points are at most 255 apart from 0, so that sums of MOST_TERMS products
// stay below 2^24: floats hold them exactly, and every device multiplies floats fast. Such sums are
// added up as integers, which wrap.
//
// Packed weights, less their zero points, have one block per 16 output channels, the last one
// filled up with zeros: [tap][input channel][16] shorts. Factors likewise: of a block 16 biases,
// 16 multipliers (the bits of ints or floats) and 16 shifts.

#define TILE 4
#define MOST_TERMS 256
#define UNROLL _Pragma("unroll")

// As in quantized_tile.cpp. Strides count elements.
typedef struct {
  int lines;    // images * output rows
  int columns;  // of a line
  int rows;     // of an image
  int outputs;
  int input_rows, input_columns;
  int channels;
  int taps_y, taps_x;
  int stride_y, stride_x;
  int dilation_y, dilation_x;
  int pad_top, pad_left;
  int x_image, x_row, x_pixel;
  int y_image, y_row, y_pixel;
  int x_zero_point;
  QuantizedOutput output;
} QuantizedTileParameters;

#define YVEC JOIN(Y, 16)

// The results of a pixel's 16 sums.
static inline YVEC finish(const uint16 total, __global const int* factors,
                          const QuantizedOutput output) {
  const int16 sum = as_int16(total + as_uint16(vload16(0, factors)));
#if defined(GIVES_SUMS)
  return sum;
#elif defined(GIVES_FLOATS)
  return convert_float16(sum) * as_float16(vload16(1, factors));
#else
  const int16 rounded =
      requantized16(output.rounding, sum, vload16(1, factors), vload16(2, factors));
  return convert_uchar16(saturate16(output, rounded) & 0xff);
#endif
}

// Stores the first `lanes` of a pixel's results.
static inline void store(const YVEC results, __global Y* y, const int lanes) {
  if (lanes >= 16) {
    vstore16(results, 0, y);
    return;
  }
  Y each[16];
  vstore16(results, 0, each);
  for (int i = 0; i < lanes; ++i) y[i] = each[i];
}

#define FLUSH                                                       \
  UNROLL for (int i = 0; i < TILE; ++i) {                           \
    totals[i] += as_uint16(convert_int16(sums[i]));                 \
    sums[i] = (float16)(0.0f);                                      \
  }

#define ADD_TERM(s)                                                 \
  {                                                                 \
    const float16 weight = convert_float16(vload16(0, w));          \
    w += 16;                                                        \
    UNROLL for (int i = 0; i < TILE; ++i) {                         \
      sums[i] = fma((float16)(terms[i].s), weight, sums[i]);        \
    }                                                               \
  }

// Work-items: blocks of output channels, tiles of a line, lines.
__kernel void quantized_tile(__global const X* x, const ulong x_offset,
                             __global const short* weights, __global const int* factors,
                             __global Y* y, const ulong y_offset, const QuantizedTileParameters p) {
  const int first_output = get_global_id(0) * 16;
  const int column = get_global_id(1) * TILE;
  const int line = get_global_id(2);
  if (first_output >= p.outputs || column >= p.columns || line >= p.lines) return;
  const int image = line / p.rows;
  const int row = line - image * p.rows;
  const int in_row = row * p.stride_y - p.pad_top;
  const int in_column = column * p.stride_x - p.pad_left;
  const int pixels = min(TILE, p.columns - column);
  x += x_offset + image * p.x_image;
  weights += (size_t)first_output * p.taps_y * p.taps_x * p.channels;
  const float zero = (float)p.x_zero_point;
  uint16 totals[TILE];
  float16 sums[TILE];
  UNROLL for (int i = 0; i < TILE; ++i) {
    totals[i] = (uint16)(0);
    sums[i] = (float16)(0.0f);
  }
  int terms_so_far = 0;
  for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {
    const int at_row = in_row + tap_y * p.dilation_y;
    if ((uint)at_row >= (uint)p.input_rows) continue;
    for (int tap_x = 0; tap_x < p.taps_x; ++tap_x) {
      __global const short* w = weights + (tap_y * p.taps_x + tap_x) * p.channels * 16;
      // Pixels in the padding, or past the line, add nothing: they read what another does, times 0.
      __global const X* from[TILE];
      float counts[TILE];
      bool any = false;
      UNROLL for (int i = 0; i < TILE; ++i) {
        const int at_column = in_column + i * p.stride_x + tap_x * p.dilation_x;
        const bool inside = i < pixels && (uint)at_column < (uint)p.input_columns;
        any |= inside;
        counts[i] = inside ? 1.0f : 0.0f;
        from[i] = x + (at_row * p.x_row + (inside ? at_column * p.x_pixel : 0));
      }
      if (!any) continue;
      int k = 0;
      for (; k + 16 <= p.channels; k += 16) {
        if (terms_so_far + 16 > MOST_TERMS) {
          FLUSH
          terms_so_far = 0;
        }
        terms_so_far += 16;
        float16 terms[TILE];
        UNROLL for (int i = 0; i < TILE; ++i) {
          terms[i] = (convert_float16(vload16(0, from[i] + k)) - zero) * counts[i];
        }
        ADD_TERM(s0) ADD_TERM(s1) ADD_TERM(s2) ADD_TERM(s3)
        ADD_TERM(s4) ADD_TERM(s5) ADD_TERM(s6) ADD_TERM(s7)
        ADD_TERM(s8) ADD_TERM(s9) ADD_TERM(sa) ADD_TERM(sb)
        ADD_TERM(sc) ADD_TERM(sd) ADD_TERM(se) ADD_TERM(sf)
      }
      for (; k < p.channels; ++k) {
        if (terms_so_far + 1 > MOST_TERMS) {
          FLUSH
          terms_so_far = 0;
        }
        ++terms_so_far;
        const float16 weight = convert_float16(vload16(0, w));
        w += 16;
        UNROLL for (int i = 0; i < TILE; ++i) {
          const float term = ((float)from[i][k] - zero) * counts[i];
          sums[i] = fma((float16)(term), weight, sums[i]);
        }
      }
    }
  }
  FLUSH
  factors += first_output * 3;
  y += y_offset + image * p.y_image + row * p.y_row + column * p.y_pixel + first_output;
  for (int i = 0; i < pixels; ++i) {
    store(finish(totals[i], factors, p.output), y + i * p.y_pixel, p.outputs - first_output);
  }
}

// Depthwise: as many input channels as outputs. Packed weights: [tap][16] of each block. Taps are
// at most MOST_TERMS. Work-items: blocks of channels, columns, lines.
__kernel void quantized_depthwise(__global const X* x, const ulong x_offset,
                                  __global const short* weights, __global const int* factors,
                                  __global Y* y, const ulong y_offset, const QuantizedTileParameters p) {
  const int first = get_global_id(0) * 16;
  const int column = get_global_id(1);
  const int line = get_global_id(2);
  if (first >= p.outputs || column >= p.columns || line >= p.lines) return;
  const int lanes = p.outputs - first;
  const int image = line / p.rows;
  const int row = line - image * p.rows;
  x += x_offset + image * p.x_image + first;
  weights += (size_t)first * p.taps_y * p.taps_x;
  const float zero = (float)p.x_zero_point;
  float16 sums = (float16)(0.0f);
  for (int tap_y = 0; tap_y < p.taps_y; ++tap_y) {
    const int at_row = row * p.stride_y - p.pad_top + tap_y * p.dilation_y;
    if ((uint)at_row >= (uint)p.input_rows) continue;
    for (int tap_x = 0; tap_x < p.taps_x; ++tap_x) {
      const int at_column = column * p.stride_x - p.pad_left + tap_x * p.dilation_x;
      if ((uint)at_column >= (uint)p.input_columns) continue;
      __global const X* from = x + (at_row * p.x_row + at_column * p.x_pixel);
      float16 terms;
      if (lanes >= 16) {
        terms = convert_float16(vload16(0, from));
      } else {
        float each[16];
        for (int i = 0; i < 16; ++i) each[i] = i < lanes ? (float)from[i] : 0.0f;
        terms = vload16(0, each);
      }
      const float16 weight = convert_float16(vload16(tap_y * p.taps_x + tap_x, weights));
      sums = fma(terms - zero, weight, sums);
    }
  }
  y += y_offset + image * p.y_image + row * p.y_row + column * p.y_pixel + first;
  store(finish(as_uint16(convert_int16(sums)), factors + first * 3, p.output), y, lanes);
}
