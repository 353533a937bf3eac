// Reduces dimensions. FUNCTION is the number of a ReduceFunction.
//
// It reduces `runs` runs of `length` elements with `step` between them; the position of run r in
// nested loops gives its start.

#define TAKE_PRODUCT(T, total, value) ((total) * (value))
// NaN wins, and then stays.
#define TAKE_LARGEST(T, total, value) ((((value) > (total)) | ((value) != (value))) ? (value) : (total))
#define TAKE_SMALLEST(T, total, value) ((((value) < (total)) | ((value) != (value))) ? (value) : (total))

// What is taken, how, and what from; of sums: what of an element.
#if FUNCTION == 2
#define TAKE TAKE_LARGEST
#define START -INFINITY
#elif FUNCTION == 3
#define TAKE TAKE_SMALLEST
#define START INFINITY
#elif FUNCTION == 4
#define TAKE TAKE_PRODUCT
#define START 1.0f
#elif FUNCTION == 5
#define TERM(value) fabs(value)
#elif FUNCTION == 6 || FUNCTION == 7
#define TERM(value) ((value) * (value))
#elif FUNCTION == 9
#define TERM(value) exp((value)-shift)
#else
#define TERM(value) (value)
#endif

typedef struct {
  int8 dims;
  int8 strides;
  int runs;
  int length;
  int step;
} Runs;

#define LOAD_ONE(pointer) *(pointer)

#define DEFINE_REDUCTION(T, name, LOAD, START, TAKE)                                      \
  static inline T name(__global const DTYPE* x, const Runs runs) {                        \
    T total = (T)(START);                                                                 \
    for (int r = 0; r < runs.runs; ++r) {                                                 \
      __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);                \
      for (int i = 0; i < runs.length; ++i) {                                             \
        const T value = LOAD(run + i * runs.step);                                        \
        total = TAKE(T, total, value);                                                    \
      }                                                                                   \
    }                                                                                     \
    return total;                                                                         \
  }

// The same of one output whose runs are neighbours (step 1), in vectors.
#define DEFINE_REDUCTION_ALONG(name, START, TAKE)                                         \
  static inline DTYPE name(__global const DTYPE* x, const Runs runs) {                    \
    DTYPE total = (START);                                                                \
    for (int r = 0; r < runs.runs; ++r) {                                                 \
      __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);                \
      VTYPE vector = (VTYPE)(START);                                                      \
      int i = 0;                                                                          \
      for (; i + VEC <= runs.length; i += VEC) {                                          \
        const VTYPE value = VLOAD(run + i);                                               \
        vector = TAKE(VTYPE, vector, value);                                              \
      }                                                                                   \
      for (; i < runs.length; ++i) {                                                      \
        const DTYPE value = run[i];                                                       \
        total = TAKE(DTYPE, total, value);                                                \
      }                                                                                   \
      FOLD(TAKE, total, vector);                                                          \
    }                                                                                     \
    return total;                                                                         \
  }

#ifdef TERM
// Sums keep what is rounded off. Eight elements are summed by halves, and such sums join a total
// whose rounding errors are summed beside it (Knuth's TwoSum). So equal elements add up exactly,
// and their mean is the element itself: a normalisation written out as ops subtracts it, and
// divides what is left by the square root of its (no) variance. The compiler may not reorder this.
#pragma OPENCL FP_CONTRACT OFF

#define ADD(T, total, errors, value)                                \
  {                                                                 \
    const T added = (value);                                        \
    const T sum = total + added;                                    \
    const T taken = sum - total;                                    \
    errors += (total - (sum - taken)) + (added - taken);            \
    total = sum;                                                    \
  }

// Of the element `k` behind the i-th of a run, whose elements are `step` apart.
#define TERM_AT(LOAD, k) TERM(LOAD(run + (i + (k)) * step))
#define SUM_OF_PAIR(LOAD, k, apart) (TERM_AT(LOAD, (k) * (apart)) + TERM_AT(LOAD, ((k) + 1) * (apart)))
#define SUM_OF_BLOCK(LOAD, apart)                                               \
  ((SUM_OF_PAIR(LOAD, 0, apart) + SUM_OF_PAIR(LOAD, 2, apart)) +                \
   (SUM_OF_PAIR(LOAD, 4, apart) + SUM_OF_PAIR(LOAD, 6, apart)))

// Gives the sum, or the mean where `count` is not 0. An infinite total has no errors: they are NaN.
#define DEFINE_FINISH(T, name)                                                          \
  static inline T name(const T total, const T errors, const DTYPE count) {              \
    const T finite = total - total == (T)(0.0f) ? errors : (T)(0.0f);                   \
    if (count == 0.0f) return total + finite;                                           \
    const DTYPE part = 1.0f / count;                                                    \
    const T quotient = (total + finite) * part;                                         \
    const T rest = fma(-quotient, (T)(count), total) + finite;                          \
    return rest - rest == (T)(0.0f) ? fma(rest, (T)(part), quotient) : quotient;        \
  }
DEFINE_FINISH(VTYPE, finish_vectors)
DEFINE_FINISH(DTYPE, finish_one)

#define DEFINE_SUM(T, name, LOAD, finish)                                               \
  static inline T name(__global const DTYPE* x, const Runs runs, const T shift,         \
                       const DTYPE count) {                                             \
    const int step = runs.step;                                                         \
    T total = (T)(0.0f);                                                                \
    T errors = (T)(0.0f);                                                               \
    for (int r = 0; r < runs.runs; ++r) {                                               \
      __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);              \
      int i = 0;                                                                        \
      for (; i + 8 <= runs.length; i += 8) ADD(T, total, errors, SUM_OF_BLOCK(LOAD, 1))    \
      for (; i < runs.length; ++i) ADD(T, total, errors, TERM_AT(LOAD, 0))              \
    }                                                                                   \
    return finish(total, errors, count);                                                \
  }
DEFINE_SUM(VTYPE, reduce_vectors, VLOAD, finish_vectors)
DEFINE_SUM(DTYPE, reduce_ones, LOAD_ONE, finish_one)

// The sum of a vector's elements, by halves. (Element by element: what checks kernels for values that
// were never set does not follow parts of wide vectors.)
static inline DTYPE sum_of_lanes(const VTYPE v) {
#if VEC == 16
#define LANE(a, b, c, d) ((v.s##a + v.s##b) + (v.s##c + v.s##d))
  return (LANE(0, 8, 4, c) + LANE(2, a, 6, e)) + (LANE(1, 9, 5, d) + LANE(3, b, 7, f));
#elif VEC == 8
  return ((v.s0 + v.s4) + (v.s2 + v.s6)) + ((v.s1 + v.s5) + (v.s3 + v.s7));
#else
  return (v.s0 + v.s2) + (v.s1 + v.s3);
#endif
}

// The elements of a vector are sums of their own, which join in the end.
static inline DTYPE reduce_along(__global const DTYPE* x, const Runs runs, const DTYPE one_shift,
                                 const DTYPE count) {
  const int step = 1;
  VTYPE totals = (VTYPE)(0.0f);
  VTYPE totals_errors = (VTYPE)(0.0f);
  DTYPE total = 0.0f;
  DTYPE errors = 0.0f;
  for (int r = 0; r < runs.runs; ++r) {
    __global const DTYPE* run = x + PlaceOf(r, runs.dims, runs.strides);
    int i = 0;
    {
      const VTYPE shift = (VTYPE)(one_shift);
      for (; i + 8 * VEC <= runs.length; i += 8 * VEC) {
        ADD(VTYPE, totals, totals_errors, SUM_OF_BLOCK(VLOAD, VEC))
      }
      for (; i + VEC <= runs.length; i += VEC) {
        ADD(VTYPE, totals, totals_errors, TERM_AT(VLOAD, 0))
      }
    }
    const DTYPE shift = one_shift;
    for (; i < runs.length; ++i) ADD(DTYPE, total, errors, TERM_AT(LOAD_ONE, 0))
  }
  ADD(DTYPE, total, errors, sum_of_lanes(totals))
  return finish_one(total, errors + sum_of_lanes(totals_errors), count);
}
#else
DEFINE_REDUCTION(VTYPE, reduce_vectors, VLOAD, START, TAKE)
DEFINE_REDUCTION(DTYPE, reduce_ones, LOAD_ONE, START, TAKE)
DEFINE_REDUCTION_ALONG(reduce_along, START, TAKE)
#endif

#if FUNCTION == 9
DEFINE_REDUCTION(VTYPE, largest_of_vectors, VLOAD, -INFINITY, TAKE_LARGEST)
DEFINE_REDUCTION(DTYPE, largest_of_ones, LOAD_ONE, -INFINITY, TAKE_LARGEST)
DEFINE_REDUCTION_ALONG(largest_along, -INFINITY, TAKE_LARGEST)
// Less the maximum, so that no exponential overflows; an infinite one shifts nothing.
#define REDUCE(T, reduce, largest)                                  \
  const T most = largest(x, runs);                                  \
  const T shift = fabs(most) < (T)(INFINITY) ? most : (T)(0.0f);    \
  const T total = log(reduce(x, runs, shift, 0.0f)) + shift;
#elif defined(TERM)
#define REDUCE(T, reduce, largest) \
  const T total = FINISH(reduce(x, runs, (T)(0.0f), FUNCTION == 1 ? count : 0.0f));
#else
#define REDUCE(T, reduce, largest) const T total = reduce(x, runs);
#endif

#if FUNCTION == 6
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

#ifdef GROUP
// A work-group does one output, each work-item every GROUP-th of the elements that it is made of.

// Element `index` of all that are reduced to one.
static inline DTYPE element_of(__global const DTYPE* x, const Runs runs, const int index) {
  const int run = index / runs.length;
  return x[PlaceOf(run, runs.dims, runs.strides) + (index - run * runs.length) * runs.step];
}

#ifdef TERM
// Sums and what they have rounded off, which is summed beside them, join likewise.
static inline DTYPE sum_of_group(__global const DTYPE* x, const Runs runs, const DTYPE shift,
                                 const DTYPE count, __local DTYPE* totals, __local DTYPE* lost) {
  const int me = (int)get_local_id(0);
  DTYPE total = 0.0f;
  DTYPE errors = 0.0f;
  for (int i = me; i < runs.runs * runs.length; i += GROUP) {
    ADD(DTYPE, total, errors, TERM(element_of(x, runs, i)))
  }
  totals[me] = total;
  lost[me] = errors;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    if (me < half_of) {
      total = totals[me];
      errors = lost[me] + lost[me + half_of];
      ADD(DTYPE, total, errors, totals[me + half_of])
      totals[me] = total;
      lost[me] = errors;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return finish_one(totals[0], lost[0], count);
}
#endif

#if FUNCTION == 9
#define TAKE_OF_GROUP TAKE_LARGEST
#define START_OF_GROUP -INFINITY
#elif defined(TAKE)
#define TAKE_OF_GROUP TAKE
#define START_OF_GROUP START
#endif
#ifdef TAKE_OF_GROUP
DEFINE_GROUP_JOIN(DTYPE, join_group, TAKE_OF_GROUP)

static inline DTYPE take_of_group(__global const DTYPE* x, const Runs runs, __local DTYPE* shared) {
  DTYPE total = START_OF_GROUP;
  for (int i = (int)get_local_id(0); i < runs.runs * runs.length; i += GROUP) {
    const DTYPE value = element_of(x, runs, i);
    total = TAKE_OF_GROUP(DTYPE, total, value);
  }
  return join_group(total, shared);
}
#endif

__kernel void reduce_group(__global DTYPE* y_buffer, const ulong y_offset,
                           __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                           const int4 y_strides, const int4 x_strides, const int8 run_dims,
                           const int8 run_strides, const int4 run, const DTYPE count) {
  __local DTYPE shared[GROUP];
  const Runs runs = {run_dims, run_strides, run.x, run.y, run.z};
  const int4 at = FindPosition((int)get_group_id(0), dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
#ifdef TERM
  __local DTYPE lost[GROUP];
#if FUNCTION == 9
  const DTYPE most = take_of_group(x, runs, shared);
  const DTYPE shift = fabs(most) < INFINITY ? most : 0.0f;
  const DTYPE total = log(sum_of_group(x, runs, shift, 0.0f, shared, lost)) + shift;
#else
  const DTYPE sum = sum_of_group(x, runs, 0.0f, FUNCTION == 1 ? count : 0.0f, shared, lost);
  const DTYPE total = FINISH(sum);
#endif
#else
  const DTYPE total = take_of_group(x, runs, shared);
#endif
  if (get_local_id(0) == 0) y_buffer[y_offset + Dot(at, y_strides)] = total;
}
#endif
