// Describes the bytes of a strided tensor as runs that can be copied one by one or in rows.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/base/tensor_view.hpp"

namespace tenon {

/// Describes runs of `run` contiguous bytes, in `rank` nested loops, outermost first. Repeated
/// elements (stride 0) count once.
struct CopyShape {
  size_t run = 0;
  int rank = 0;
  size_t counts[kMaxRank] = {};
  size_t strides[kMaxRank] = {};  ///< bytes

  [[nodiscard]] size_t Bytes() const;
  /// Returns how many of the innermost loops a copy of rows in planes can do (OpenCL has one, for
  /// rows that do not overlap): 0 to 2.
  [[nodiscard]] int RectLoops() const;
};

/// Returns the shape of a view; empty tensors give runs of 0 bytes.
[[nodiscard]] CopyShape CopyShapeOf(const TensorView& view);

/// Copies the runs at `from` to `packed`, one after the other, and back.
void Pack(const CopyShape& shape, const uint8_t* from, uint8_t* packed);
void Unpack(const CopyShape& shape, const uint8_t* packed, uint8_t* to);
/// Copies the runs at `from` to the same places from `to` on.
void CopyRuns(const CopyShape& shape, const uint8_t* from, uint8_t* to);

/// Calls `body(offset)` with the byte offset of each position of the `loops` outermost loops, in
/// order.
template <typename Body>
void ForEachPosition(const CopyShape& shape, int loops, const Body& body) {
  size_t index[kMaxRank] = {};
  size_t offset = 0;
  for (;;) {
    body(offset);
    int k = loops - 1;
    for (; k >= 0; --k) {
      offset += shape.strides[k];
      if (++index[k] < shape.counts[k]) break;
      offset -= shape.counts[k] * shape.strides[k];
      index[k] = 0;
    }
    if (k < 0) return;
  }
}

}  // namespace tenon
