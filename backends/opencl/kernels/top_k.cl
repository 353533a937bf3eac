// Indices of the largest elements along an axis, in their order; of equal ones the lower comes first.
// Option SMALLEST: of the smallest.

// The bits of a float as an integer in the order of the numbers: both zeros alike, NaN above all.
static inline int KeyOf(const DTYPE x) {
  const int bits = as_int(x);
  const int size = bits & INT_MAX;
  return x != x ? INT_MAX : bits < 0 ? -size : size;
}

#ifdef SMALLEST
#define IS_BEFORE(key, i, other, j) ((key) < (other) || ((key) == (other) && (i) < (j)))
#else
#define IS_BEFORE(key, i, other, j) ((key) > (other) || ((key) == (other) && (i) < (j)))
#endif

// A work-item does one element: its place is the number of those before it. dims: up to four loops
// over lines; axis: elements of a line, how many are wanted, steps of y and x.
__kernel void top_k(__global long* y_buffer, const ulong y_offset,
                    __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                    const int4 y_strides, const int4 x_strides, const int4 axis) {
  const uint index = (uint)get_global_id(0);
  const int line = (int)(index / (uint)axis.x);
  const int i = (int)(index - (uint)line * (uint)axis.x);
  if (line >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(line, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  const int key = KeyOf(x[i * axis.w]);
  int place = 0;
  for (int j = 0; j < axis.x; ++j) {
    const int other = KeyOf(x[j * axis.w]);
    if (IS_BEFORE(other, j, key, i)) ++place;
  }
  if (place < axis.y) y_buffer[y_offset + Dot(at, y_strides) + place * axis.z] = i;
}

// The first of a line: a work-item does a line.
__kernel void top_1(__global long* y_buffer, const ulong y_offset,
                    __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                    const int4 y_strides, const int4 x_strides, const int4 axis) {
  const int line = (int)get_global_id(0);
  if (line >= dims.x * dims.y * dims.z * dims.w) return;
  const int4 at = FindPosition(line, dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  int best = 0;
  int key = KeyOf(x[0]);
  for (int j = 1; j < axis.x; ++j) {
    const int other = KeyOf(x[j * axis.w]);
    if (IS_BEFORE(other, j, key, best)) {
      key = other;
      best = j;
    }
  }
  y_buffer[y_offset + Dot(at, y_strides)] = best;
}

#ifdef GROUP
// The same: a work-group does a line, each work-item every GROUP-th element of it.
__kernel void top_1_group(__global long* y_buffer, const ulong y_offset,
                          __global const DTYPE* x_buffer, const ulong x_offset, const int4 dims,
                          const int4 y_strides, const int4 x_strides, const int4 axis) {
  __local int keys[GROUP];
  __local int places[GROUP];
  const int4 at = FindPosition((int)get_group_id(0), dims);
  __global const DTYPE* x = x_buffer + x_offset + Dot(at, x_strides);
  const int me = (int)get_local_id(0);
  // Who has no element of its own has another's.
  int best = min(me, axis.x - 1);
  int key = KeyOf(x[best * axis.w]);
  for (int j = me + GROUP; j < axis.x; j += GROUP) {
    const int other = KeyOf(x[j * axis.w]);
    if (IS_BEFORE(other, j, key, best)) {
      key = other;
      best = j;
    }
  }
  keys[me] = key;
  places[me] = best;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int half_of = GROUP / 2; half_of > 0; half_of /= 2) {
    if (me < half_of &&
        IS_BEFORE(keys[me + half_of], places[me + half_of], keys[me], places[me])) {
      keys[me] = keys[me + half_of];
      places[me] = places[me + half_of];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (me == 0) y_buffer[y_offset + Dot(at, y_strides)] = places[0];
}
#endif
