// Rows of x, each with the updates that name it, in their order.

// Options: ELEMENT, the elements' type (of plain replacing an unsigned one of their size); FUNCTION, the
// number of a ScatterFunction.
#if FUNCTION == 1
#define TAKE(old, update) ((old) + (update))
#elif FUNCTION == 2
#define TAKE(old, update) ((old) * (update))
// NaN wins, and then stays.
#elif FUNCTION == 3
#define TAKE(old, update) (((old) != (old)) | ((old) > (update)) ? (old) : (update))
#elif FUNCTION == 4
#define TAKE(old, update) (((old) != (old)) | ((old) < (update)) ? (old) : (update))
#else
#define TAKE(old, update) (update)
#endif

// A work-item does one element. `starts`: where the updates of each row begin in `order`, and where
// the last ones end. dims: up to four loops over a row; rows: how many, strides of y, x and updates.
// The output may take over the memory of x.
__kernel void scatter(__global ELEMENT* y_buffer, const ulong y_offset,
                      __global const ELEMENT* x_buffer, const ulong x_offset,
                      __global const ELEMENT* update_buffer, const ulong update_offset,
                      __global const int* starts, __global const int* order, const int4 dims,
                      const int4 y_strides, const int4 x_strides, const int4 update_strides,
                      const int4 rows) {
  const uint size = (uint)(dims.x * dims.y * dims.z * dims.w);
  const uint index = (uint)get_global_id(0);
  const int row = (int)(index / size);
  if (row >= rows.x) return;
  const int4 at = FindPosition((int)(index - (uint)row * size), dims);
  ELEMENT value = x_buffer[x_offset + row * rows.z + Dot(at, x_strides)];
  __global const ELEMENT* updates = update_buffer + update_offset + Dot(at, update_strides);
  for (int k = starts[row]; k < starts[row + 1]; ++k) {
    const ELEMENT update = updates[order[k] * rows.w];
    value = TAKE(value, update);
  }
  y_buffer[y_offset + row * rows.y + Dot(at, y_strides)] = value;
}
