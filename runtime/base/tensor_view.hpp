// Describes a tensor to a kernel.
#pragma once

#include "runtime/base/dtype.hpp"
#include "runtime/base/shape.hpp"

namespace tenon {

/// A typed, strided window on memory that somebody else owns.
///
/// `dims` are in the model's own order (NCHW for images) whatever the layout; `strides`, in
/// elements and never negative, say where element (i0, i1, ...) lies:
///   address = data + sum(i[k] * strides[k]) * DTypeBytes(dtype).
/// So channels-last is the same `dims` with other strides, and a slice or one part of a
/// concatenation is its parent's memory with an offset. A stride of 0 repeats an element; only
/// inputs may have it. `data` may be null where only the description is wanted (shape rules,
/// capability questions).
struct TensorView {
  void* data = nullptr;
  const int32_t* dims = nullptr;
  const int32_t* strides = nullptr;
  DType dtype = DType::kF32;
  uint8_t rank = 0;

  [[nodiscard]] Shape shape() const { return Shape(dims, rank); }

  template <typename T>
  [[nodiscard]] T* As() const {
    return static_cast<T*>(data);
  }

  [[nodiscard]] int64_t Elements() const {
    int64_t count = 1;
    for (int i = 0; i < rank; ++i) count *= dims[i];
    return count;
  }

  /// True if the elements lie in row-major order without gaps. Strides of dimensions of size 1
  /// do not matter; without elements, none do.
  [[nodiscard]] bool IsRowMajor() const {
    if (Elements() == 0) return true;
    int64_t expected = 1;
    for (int i = rank - 1; i >= 0; --i) {
      if (dims[i] != 1 && strides[i] != expected) return false;
      expected *= dims[i];
    }
    return true;
  }

  /// True if this is a rank 4 tensor whose elements lie in N, H, W, C order without gaps.
  [[nodiscard]] bool IsChannelsLast() const {
    if (rank != 4) return false;
    constexpr int kOrder[4] = {1, 3, 2, 0};
    int64_t expected = 1;
    for (int axis : kOrder) {
      if (dims[axis] != 1 && strides[axis] != expected) return false;
      expected *= dims[axis];
    }
    return true;
  }
};

}  // namespace tenon
