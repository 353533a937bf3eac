// Pads with a constant, the edge or a reflection. WORD is an unsigned type of the elements' size;
// MODE is the number of a PadMode.

// The index of x that index `i` of y shows, or -1 for the constant: i - begin, if that is one of
// those that stay, [first, last].
static inline int SourceIndex(const int i, const int begin, const int first, const int last) {
  const int at = i - begin;
  if (at >= first && at <= last) return at;
#if MODE == 0
  return -1;
#elif MODE == 1
  return at < first ? first : last;
#else
  return at < first ? 2 * first - at : 2 * last - at;
#endif
}

// A work-item does PIECE elements of a row of y. Loops as in unary; begin, first, last: of each.
__kernel void pad(__global WORD* y_buffer, const ulong y_offset, __global const WORD* x_buffer,
                  const ulong x_offset, const int4 dims, const int4 y_strides,
                  const int4 x_strides, const int4 begin, const int4 first, const int4 last,
                  const ulong value) {
  const RowPart part = FindRowPart(get_global_id(0), dims);
  if (part.count <= 0) return;
  __global WORD* y = y_buffer + y_offset + RowOffset(part, y_strides);
  const int a = SourceIndex(part.row[0], begin.x, first.x, last.x);
  const int b = SourceIndex(part.row[1], begin.y, first.y, last.y);
  const int c = SourceIndex(part.row[2], begin.z, first.z, last.z);
  const bool is_constant = a < 0 || b < 0 || c < 0;
  if (is_constant) {
    for (int i = 0; i < part.count; ++i) y[i * y_strides.w] = (WORD)value;
    return;
  }
  __global const WORD* x =
      x_buffer + x_offset + a * x_strides.x + b * x_strides.y + c * x_strides.z;
  const int at = part.first - begin.w;
  const bool is_inside = at >= first.w && at + part.count - 1 <= last.w;
  int i = 0;
  if (is_inside && x_strides.w == 1 && y_strides.w == 1) {
    for (; i + VEC <= part.count; i += VEC) VSTORE(VLOAD(x + at + i), y + i);
  }
  for (; i < part.count; ++i) {
    const int from = SourceIndex(part.first + i, begin.w, first.w, last.w);
    y[i * y_strides.w] = from < 0 ? (WORD)value : x[from * x_strides.w];
  }
}
