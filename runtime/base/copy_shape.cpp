#include "runtime/base/copy_shape.hpp"

#include <cstring>

namespace tenon {

size_t CopyShape::Bytes() const {
  size_t bytes = run;
  for (int k = 0; k < rank; ++k) bytes *= counts[k];
  return bytes;
}

int CopyShape::RectLoops() const {
  if (rank == 0 || strides[rank - 1] < run) return 0;
  if (rank == 1) return 1;
  // OpenCL wants planes to be whole numbers of rows, and not to overlap.
  const size_t row = strides[rank - 1];
  const size_t plane = strides[rank - 2];
  return plane % row == 0 && plane >= row * counts[rank - 1] ? 2 : 1;
}

CopyShape CopyShapeOf(const TensorView& view) {
  CopyShape shape;
  const auto element = static_cast<size_t>(DTypeBytes(view.dtype));
  if (view.Elements() == 0) return shape;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.dims[axis] == 1 || view.strides[axis] == 0) continue;
    const size_t stride = static_cast<size_t>(view.strides[axis]) * element;
    int place = shape.rank++;
    for (; place > 0 && shape.strides[place - 1] < stride; --place) {
      shape.strides[place] = shape.strides[place - 1];
      shape.counts[place] = shape.counts[place - 1];
    }
    shape.strides[place] = stride;
    shape.counts[place] = static_cast<size_t>(view.dims[axis]);
  }
  shape.run = element;
  while (shape.rank > 0 && shape.strides[shape.rank - 1] == shape.run) {
    shape.run *= shape.counts[--shape.rank];
  }
  // Loops that pass on evenly are one loop.
  int last = 0;
  for (int k = 1; k < shape.rank; ++k) {
    if (shape.strides[last] == shape.counts[k] * shape.strides[k]) {
      shape.counts[last] *= shape.counts[k];
      shape.strides[last] = shape.strides[k];
    } else {
      ++last;
      shape.counts[last] = shape.counts[k];
      shape.strides[last] = shape.strides[k];
    }
  }
  if (shape.rank > 0) shape.rank = last + 1;
  return shape;
}

void Pack(const CopyShape& shape, const uint8_t* from, uint8_t* packed) {
  if (shape.run == 0) return;
  ForEachPosition(shape, shape.rank, [&](size_t offset) {
    std::memcpy(packed, from + offset, shape.run);
    packed += shape.run;
  });
}

void Unpack(const CopyShape& shape, const uint8_t* packed, uint8_t* to) {
  if (shape.run == 0) return;
  ForEachPosition(shape, shape.rank, [&](size_t offset) {
    std::memcpy(to + offset, packed, shape.run);
    packed += shape.run;
  });
}

void CopyRuns(const CopyShape& shape, const uint8_t* from, uint8_t* to) {
  if (shape.run == 0) return;
  ForEachPosition(shape, shape.rank,
                  [&](size_t offset) { std::memcpy(to + offset, from + offset, shape.run); });
}

}  // namespace tenon
