// Computes softmax along one axis; with LOG, its logarithm.

// Less the maximum, so that no exponential overflows and the largest is exactly 1.

#define TAKE_LARGEST(T, total, value) ((value) > (total) ? (value) : (total))
#define TAKE_SUM(T, total, value) ((total) + (value))

// A work-item does one row of `count` contiguous elements (axis strides are 1).
static inline void SoftmaxRow(__global const DTYPE* x, __global DTYPE* y, const int count) {
  const int whole = count - count % VEC;
  DTYPE largest = x[0];
  VTYPE largest_of_lanes = (VTYPE)(x[0]);
  for (int i = 0; i < whole; i += VEC) {
    const VTYPE value = VLOAD(x + i);
    largest_of_lanes = value > largest_of_lanes ? value : largest_of_lanes;
  }
  for (int i = whole; i < count; ++i) largest = x[i] > largest ? x[i] : largest;
  FOLD(TAKE_LARGEST, largest, largest_of_lanes);

  VTYPE sums = (VTYPE)(0.0f);
  DTYPE sum = 0.0f;
  for (int i = 0; i < whole; i += VEC) {
    const VTYPE value = exp(VLOAD(x + i) - largest);
    sums += value;
#ifndef LOG
    VSTORE(value, y + i);
#endif
  }
  for (int i = whole; i < count; ++i) {
    const DTYPE value = exp(x[i] - largest);
    sum += value;
#ifndef LOG
    y[i] = value;
#endif
  }
  FOLD(TAKE_SUM, sum, sums);

#ifdef LOG
  const DTYPE shift = log(sum);
  for (int i = 0; i < whole; i += VEC) VSTORE((VLOAD(x + i) - largest) - shift, y + i);
  for (int i = whole; i < count; ++i) y[i] = (x[i] - largest) - shift;
#else
  const DTYPE scale = 1.0f / sum;
  for (int i = 0; i < whole; i += VEC) VSTORE(VLOAD(y + i) * scale, y + i);
  for (int i = whole; i < count; ++i) y[i] *= scale;
#endif
}

static inline void SoftmaxAny(__global const DTYPE* x, const int x_step, __global DTYPE* y,
                              const int y_step, const int count) {
  DTYPE largest = x[0];
  for (int i = 1; i < count; ++i) largest = x[i * x_step] > largest ? x[i * x_step] : largest;
  DTYPE sum = 0.0f;
  for (int i = 0; i < count; ++i) {
    const DTYPE value = exp(x[i * x_step] - largest);
    sum += value;
#ifndef LOG
    y[i * y_step] = value;
#endif
  }
#ifdef LOG
  const DTYPE shift = log(sum);
  for (int i = 0; i < count; ++i) y[i * y_step] = (x[i * x_step] - largest) - shift;
#else
  const DTYPE scale = 1.0f / sum;
  for (int i = 0; i < count; ++i) y[i * y_step] *= scale;
#endif
}

// Every work-item does one row. dims: up to four loops over rows; axis: count, y's step, x's step.
// The output may take over the input's memory.
__kernel void softmax(__global DTYPE* y_buffer, const ulong y_offset,
                      __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                      const int4 y_strides, const int4 x_strides, const int4 axis) {
  const int row = (int)get_global_id(0);
  if (row >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(row, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  if (axis.y == 1 && axis.z == 1) {
    SoftmaxRow(x, y, axis.x);
  } else {
    SoftmaxAny(x, axis.z, y, axis.y, axis.x);
  }
}

#ifdef GROUP
DEFINE_GROUP_JOIN(DTYPE, LargestOfGroup, TAKE_LARGEST)
DEFINE_GROUP_JOIN(DTYPE, SumOfGroup, TAKE_SUM)

// A work-group does one row, each work-item every GROUP-th element of it.
__kernel void softmax_group(__global DTYPE* y_buffer, const ulong y_offset,
                            __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                            const int4 y_strides, const int4 x_strides, const int4 axis) {
  __local DTYPE shared[GROUP];
  const int4 at = FindPosition((int)get_group_id(0), dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  const int me = (int)get_local_id(0);
  DTYPE largest = x[0];
  // Nobody writes to a row that another still reads the first element of.
  barrier(CLK_GLOBAL_MEM_FENCE);
  for (int i = me; i < axis.x; i += GROUP) {
    const DTYPE value = x[i * axis.z];
    largest = value > largest ? value : largest;
  }
  largest = LargestOfGroup(largest, shared);
  DTYPE sum = 0.0f;
  for (int i = me; i < axis.x; i += GROUP) {
    const DTYPE value = exp(x[i * axis.z] - largest);
    sum += value;
#ifndef LOG
    y[i * axis.y] = value;
#endif
  }
  sum = SumOfGroup(sum, shared);
#ifdef LOG
  const DTYPE shift = log(sum);
  for (int i = me; i < axis.x; i += GROUP) y[i * axis.y] = (x[i * axis.z] - largest) - shift;
#else
  const DTYPE scale = 1.0f / sum;
  for (int i = me; i < axis.x; i += GROUP) y[i * axis.y] *= scale;
#endif
}
#endif
