// Reduces dimensions. FUNCTION is the number of a ReduceFunction.
//
// It reduces `runs` runs of `length` elements with `step` between them; the position of run r in
// nested loops gives its start.

#define TAKE_SUM(T, total, value) ((total) + (value))
#define TAKE_MAGNITUDE(T, total, value) ((total) + fabs(value))
#define TAKE_SQUARE(T, total, value) ((total) + (value) * (value))
#define TAKE_PRODUCT(T, total, value) ((total) * (value))
#define TAKE_EXPONENTIAL(T, total, value) ((total) + exp((value)-shift))
// NaN wins, and then stays.
#define TAKE_LARGEST(T, total, value) ((((value) > (total)) | ((value) != (value))) ? (value) : (total))
#define TAKE_SMALLEST(T, total, value) ((((value) < (total)) | ((value) != (value))) ? (value) : (total))

// How partial results join, and what they start from.
#define JOIN_TOTALS TAKE_SUM
#define START 0.0f
#if FUNCTION == 0 || FUNCTION == 1 || FUNCTION == 8
#define TAKE TAKE_SUM
#elif FUNCTION == 2
#define TAKE TAKE_LARGEST
#undef JOIN_TOTALS
#define JOIN_TOTALS TAKE_LARGEST
#undef START
#define START -INFINITY
#elif FUNCTION == 3
#define TAKE TAKE_SMALLEST
#undef JOIN_TOTALS
#define JOIN_TOTALS TAKE_SMALLEST
#undef START
#define START INFINITY
#elif FUNCTION == 4
#define TAKE TAKE_PRODUCT
#undef JOIN_TOTALS
#define JOIN_TOTALS TAKE_PRODUCT
#undef START
#define START 1.0f
#elif FUNCTION == 5
#define TAKE TAKE_MAGNITUDE
#elif FUNCTION == 6 || FUNCTION == 7
#define TAKE TAKE_SQUARE
#else
#define TAKE TAKE_EXPONENTIAL
#endif

typedef struct {
  int8 dims;
  int8 strides;
  int runs;
  int length;
  int step;
} Runs;

#define LOAD_ONE(pointer) *(pointer)

// A run is taken by itself before it joins, which keeps the rounding errors of long sums down.
#define DEFINE_REDUCTION(T, name, LOAD, START, TAKE, JOIN_TOTALS)                         \
  static inline T name(__global const DTYPE* x, const Runs runs, const T shift) {         \
    T total = (T)(START);                                                                 \
    for (int r = 0; r < runs.runs; ++r) {                                                 \
      __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);                \
      T partial = (T)(START);                                                             \
      for (int i = 0; i < runs.length; ++i) {                                             \
        const T value = LOAD(run + i * runs.step);                                        \
        partial = TAKE(T, partial, value);                                                \
      }                                                                                   \
      total = JOIN_TOTALS(T, total, partial);                                             \
    }                                                                                     \
    return total;                                                                         \
  }

// The same of one output whose runs are neighbours (step 1), in vectors.
#define DEFINE_REDUCTION_ALONG(name, START, TAKE, JOIN_TOTALS)                            \
  static inline DTYPE name(__global const DTYPE* x, const Runs runs, const DTYPE shift) { \
    DTYPE total = (START);                                                                \
    for (int r = 0; r < runs.runs; ++r) {                                                 \
      __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);                \
      VTYPE vector = (VTYPE)(START);                                                      \
      int i = 0;                                                                          \
      for (; i + VEC <= runs.length; i += VEC) {                                          \
        const VTYPE value = VLOAD(run + i);                                               \
        vector = TAKE(VTYPE, vector, value);                                              \
      }                                                                                   \
      DTYPE partial = (START);                                                            \
      for (; i < runs.length; ++i) {                                                      \
        const DTYPE value = run[i];                                                       \
        partial = TAKE(DTYPE, partial, value);                                            \
      }                                                                                   \
      FOLD(JOIN_TOTALS, partial, vector);                                                 \
      total = JOIN_TOTALS(DTYPE, total, partial);                                         \
    }                                                                                     \
    return total;                                                                         \
  }

DEFINE_REDUCTION(VTYPE, reduce_vectors, VLOAD, START, TAKE, JOIN_TOTALS)
DEFINE_REDUCTION(DTYPE, reduce_ones, LOAD_ONE, START, TAKE, JOIN_TOTALS)
DEFINE_REDUCTION_ALONG(reduce_along, START, TAKE, JOIN_TOTALS)

#if FUNCTION == 9
DEFINE_REDUCTION(VTYPE, largest_of_vectors, VLOAD, -INFINITY, TAKE_LARGEST, TAKE_LARGEST)
DEFINE_REDUCTION(DTYPE, largest_of_ones, LOAD_ONE, -INFINITY, TAKE_LARGEST, TAKE_LARGEST)
DEFINE_REDUCTION_ALONG(largest_along, -INFINITY, TAKE_LARGEST, TAKE_LARGEST)
// Less the maximum, so that no exponential overflows; an infinite one shifts nothing.
#define REDUCE(T, reduce, largest)                                  \
  const T most = largest(x, runs, (T)(0.0f));                       \
  const T shift = fabs(most) < (T)(INFINITY) ? most : (T)(0.0f);    \
  const T total = log(reduce(x, runs, shift)) + shift;
#else
#define REDUCE(T, reduce, largest) const T total = FINISH(reduce(x, runs, (T)(0.0f)));
#endif

#if FUNCTION == 1
#define FINISH(total) (total) / count
#elif FUNCTION == 6
#define FINISH(total) sqrt(total)
#elif FUNCTION == 8
#define FINISH(total) log(total)
#else
#define FINISH(total) total
#endif

// A work-item does PIECE outputs of a row whose elements of x are neighbours. Arguments as in unary,
// then the loops over runs; run: how many, length, step. `count`: elements reduced to one.
__kernel void reduce_rows(__global DTYPE* y_buffer, const ulong y_offset,
                          __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                          const int4 y_strides, const int4 x_strides, const int8 run_dims,
                          const int8 run_strides, const int4 run, const DTYPE count) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  const Runs runs = {run_dims, run_strides, run.x, run.y, run.z};
  __global const DTYPE* x = x_buffer + x_offset + RowOffset(part, x_strides);
  __global DTYPE* y = y_buffer + y_offset + RowOffset(part, y_strides);
  int i = 0;
  if (x_strides.w == 1 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC, x += VEC, y += VEC) {
      REDUCE(VTYPE, reduce_vectors, largest_of_vectors)
      VSTORE(total, y);
    }
  }
  for (; i < part.count; ++i, x += x_strides.w, y += y_strides.w) {
    REDUCE(DTYPE, reduce_ones, largest_of_ones)
    y[0] = total;
  }
}

// A work-item does one output.
__kernel void reduce_each(__global DTYPE* y_buffer, const ulong y_offset,
                          __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                          const int4 y_strides, const int4 x_strides, const int8 run_dims,
                          const int8 run_strides, const int4 run, const DTYPE count) {
  const int index = (int)get_global_id(0);
  if (index >= dims.x * dims.y * dims.z * dims.w) return;
  const Runs runs = {run_dims, run_strides, run.x, run.y, run.z};
  const int4 at = FindPosition(index, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  if (run.z == 1) {
    REDUCE(DTYPE, reduce_along, largest_along)
    y[0] = total;
  } else {
    REDUCE(DTYPE, reduce_ones, largest_of_ones)
    y[0] = total;
  }
}
