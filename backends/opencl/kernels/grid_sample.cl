// Samples images at the points of a grid, each from TAPS by TAPS pixels: the arithmetic of
// runtime/ops/grid_positions.hpp, where every step is rounded.
#pragma OPENCL FP_CONTRACT OFF

#define ZEROS 0
#define REFLECTION 2

typedef struct {
  int size;       // pixels
  int step;       // elements from pixel to pixel
  float low;      // where a point at -1 lies
  float range;    // from there to a point at 1
} GridAxis;

static inline GridAxis MakeAxis(const int size, const int step, const int align_corners) {
  GridAxis axis;
  axis.size = size;
  axis.step = step;
  axis.low = align_corners != 0 ? 0.0f : -0.5f;
  axis.range = (float)(align_corners != 0 ? size - 1 : size);
  return axis;
}

static inline float Reflected(const GridAxis axis, const float place) {
  if (axis.range <= 0.0f) return 0.0f;
  const float period = 2.0f * axis.range;
  const float distance = fabs(place - axis.low);
  const float rest = fabs(distance - floor(distance / period) * period);
  return (rest < period - rest ? rest : period - rest) + axis.low;
}

static inline void Take(const GridAxis axis, const int tap, const float place, const DTYPE weight,
                        int* offsets, DTYPE* weights) {
  const float last = (float)(axis.size - 1);
  const int inside = place > 0.0f ? (int)(place < last ? place : last) : 0;
  offsets[tap] = inside * axis.step;
  weights[tap] = PADDING == ZEROS && (float)inside != place ? (DTYPE)0.0f : weight;
}

static inline void FindTaps(const GridAxis axis, const float point, int* offsets, DTYPE* weights) {
  float place = (point + 1.0f) * (0.5f * axis.range) + axis.low;
#if TAPS == 1
  place = rint(place);
  if (PADDING == REFLECTION) place = rint(Reflected(axis, place));
  Take(axis, 0, place, 1.0f, offsets, weights);
#elif TAPS == 2
  const float last = (float)(axis.size - 1);
  if (PADDING == REFLECTION) place = Reflected(axis, place);
  if (PADDING != ZEROS) place = place < 0.0f ? 0.0f : (place > last ? last : place);
  const float below = floor(place);
  Take(axis, 0, below, 1.0f - (place - below), offsets, weights);
  Take(axis, 1, below + 1.0f, place - below, offsets, weights);
#else
  if (PADDING == REFLECTION) place = Reflected(axis, place);
  const float below = floor(place);
  const float t = place - below;
  const float s = 1.0f - t;
  const float a = -0.75f;
  float cubic[4];
  cubic[0] = ((a * (t + 1.0f) - 5.0f * a) * (t + 1.0f) + 8.0f * a) * (t + 1.0f) - 4.0f * a;
  cubic[1] = ((a + 2.0f) * t - (a + 3.0f)) * t * t + 1.0f;
  cubic[2] = ((a + 2.0f) * s - (a + 3.0f)) * s * s + 1.0f;
  cubic[3] = ((a * (s + 1.0f) - 5.0f * a) * (s + 1.0f) + 8.0f * a) * (s + 1.0f) - 4.0f * a;
  for (int i = 0; i < 4; ++i) {
    const float pixel = below + (float)(i - 1);
    Take(axis, i, PADDING == REFLECTION ? rint(Reflected(axis, pixel)) : pixel, cubic[i], offsets,
         weights);
  }
#endif
}

// A work-item does VEC channels of one point. dims: images, channels, rows, columns of y, whose
// strides, and x's, are in the same order; those of the grid are of images, rows, columns and from a
// point's place across to that down. sizes: rows and columns of x, align_corners.
__kernel void grid_sample(__global DTYPE* y_buffer, const ulong y_offset,
                          __global const DTYPE* x_buffer, const ulong x_offset,
                          __global const DTYPE* grid_buffer, const ulong grid_offset,
                          const int4 dims, const int4 y_strides, const int4 x_strides,
                          const int4 grid_strides, const int4 sizes) {
  const BlendedOutput at = FindBlendedOutput((uint)get_global_id(0), dims);
  if (at.image >= dims.x) return;
  __global const DTYPE* point = grid_buffer + grid_offset + at.image * grid_strides.x +
                                at.row * grid_strides.y + at.column * grid_strides.z;
  int row_offsets[TAPS], column_offsets[TAPS];
  DTYPE row_weights[TAPS], column_weights[TAPS];
  FindTaps(MakeAxis(sizes.y, x_strides.w, sizes.z), point[0], column_offsets, column_weights);
  FindTaps(MakeAxis(sizes.x, x_strides.z, sizes.z), point[grid_strides.w], row_offsets,
           row_weights);
  __global const DTYPE* x = x_buffer + x_offset + at.image * x_strides.x + at.channel * x_strides.y;
  __global DTYPE* y = y_buffer + y_offset + OffsetOfBlended(at, y_strides);
  BLEND_CHANNELS(dims, x_strides, y_strides, at.channel);
}
