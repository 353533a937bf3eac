// Normalises rows along the last axis: see LayerNormAttributes. Options: RMS (no mean), BIAS.

// Every work-item does one row. dims: up to four loops over rows; axis: count, steps of y, x and scale.
// The output may take over the input's memory.
__kernel void layer_norm(__global DTYPE* y_buffer, const ulong y_offset,
                         __global const DTYPE* x_buffer, const ulong x_offset,
                         __global const DTYPE* scale_buffer, const ulong scale_offset,
#ifdef BIAS
                         __global const DTYPE* bias_buffer, const ulong bias_offset,
#endif
                         const int4 dims, const int4 y_strides, const int4 x_strides,
                         const int4 axis, const int bias_step,
                         const DTYPE epsilon) {
  const int row = (int)get_global_id(0);
  if (row >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(row, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  __global const DTYPE* scale = scale_buffer + scale_offset;
  const int count = axis.x;
  DTYPE mean = 0.0f;
#ifndef RMS
  for (int i = 0; i < count; ++i) mean += x[i * axis.z];
  mean /= (DTYPE)count;
#endif
  DTYPE squares = 0.0f;
  for (int i = 0; i < count; ++i) {
    const DTYPE value = x[i * axis.z] - mean;
    squares += value * value;
  }
  const DTYPE factor = 1.0f / sqrt(squares / (DTYPE)count + epsilon);
  for (int i = 0; i < count; ++i) {
    DTYPE value = (x[i * axis.z] - mean) * factor * scale[i * axis.w];
#ifdef BIAS
    value += bias_buffer[bias_offset + i * bias_step];
#endif
    y[i * axis.y] = value;
  }
}

#ifdef GROUP
#define TAKE_SUM(T, total, value) ((total) + (value))
DEFINE_GROUP_JOIN(DTYPE, SumOfGroup, TAKE_SUM)

// A work-group does one row, each work-item every GROUP-th element of it.
__kernel void layer_norm_group(__global DTYPE* y_buffer, const ulong y_offset,
                               __global const DTYPE* x_buffer, const ulong x_offset,
                               __global const DTYPE* scale_buffer, const ulong scale_offset,
#ifdef BIAS
                               __global const DTYPE* bias_buffer, const ulong bias_offset,
#endif
                               const int4 dims, const int4 y_strides, const int4 x_strides,
                               const int4 axis, const int bias_step,
                               const DTYPE epsilon) {
  __local DTYPE shared[GROUP];
  const int4 at = FindPosition((int)get_group_id(0), dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  __global DTYPE* y = y_buffer + y_offset + Dot(at, y_strides);
  __global const DTYPE* scale = scale_buffer + scale_offset;
  const int me = (int)get_local_id(0);
  const int count = axis.x;
  DTYPE mean = 0.0f;
#ifndef RMS
  for (int i = me; i < count; i += GROUP) mean += x[i * axis.z];
  mean = SumOfGroup(mean, shared) / (DTYPE)count;
#endif
  DTYPE squares = 0.0f;
  for (int i = me; i < count; i += GROUP) {
    const DTYPE value = x[i * axis.z] - mean;
    squares += value * value;
  }
  squares = SumOfGroup(squares, shared);
  const DTYPE factor = 1.0f / sqrt(squares / (DTYPE)count + epsilon);
  for (int i = me; i < count; i += GROUP) {
    DTYPE value = (x[i * axis.z] - mean) * factor * scale[i * axis.w];
#ifdef BIAS
    value += bias_buffer[bias_offset + i * bias_step];
#endif
    y[i * axis.y] = value;
  }
}
#endif
