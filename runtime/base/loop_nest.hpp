// Loops over several strided operands at once: the dimensions are put in the order in which the
// output lies in memory and merged where they can be, so that rows become long and kernels are
// written for one row. Every backend walks its operands so, and the cost model counts the same
// rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "runtime/base/tensor_view.hpp"

namespace tenon {

/// Reshape walks the common refinement of two shapes: up to the dimensions of both.
inline constexpr int kMaxLoopRank = 2 * kMaxRank;

/// Nested loops over N operands; operand 0 is the output. Strides may be negative; they are in
/// elements or in bytes, as whoever adds the loops likes.
template <int N>
struct LoopNest {
  int rank = 0;
  int32_t dims[kMaxLoopRank] = {};
  ptrdiff_t strides[N][kMaxLoopRank] = {};

  /// A dimension inside those added so far. Dimensions of size 1 are left out.
  template <typename... Strides>
  void Add(int32_t dim, Strides... steps) {
    static_assert(sizeof...(Strides) == N, "one stride per operand");
    if (dim == 1) return;
    const ptrdiff_t values[N] = {static_cast<ptrdiff_t>(steps)...};
    for (int i = 0; i < N; ++i) strides[i][rank] = values[i];
    dims[rank++] = dim;
  }

  [[nodiscard]] int64_t Elements() const {
    int64_t count = 1;
    for (int k = 0; k < rank; ++k) count *= dims[k];
    return count;
  }

  /// Stride of operand `i` along a row; where a row is one element, anything will do.
  [[nodiscard]] ptrdiff_t RowStride(int i) const { return rank == 0 ? 0 : strides[i][rank - 1]; }
  [[nodiscard]] int32_t RowLength() const { return rank == 0 ? 1 : dims[rank - 1]; }

  /// Orders the dimensions by the output's strides, largest outermost, and merges neighbours that
  /// every operand passes through evenly.
  void Simplify() {
    for (int k = 1; k < rank; ++k) {
      for (int j = k; j > 0 && strides[0][j - 1] < strides[0][j]; --j) Swap(j - 1, j);
    }
    int last = 0;
    for (int k = 1; k < rank; ++k) {
      if (Merges(last, k)) {
        dims[last] *= dims[k];
      } else {
        dims[++last] = dims[k];
      }
      for (int i = 0; i < N; ++i) strides[i][last] = strides[i][k];
    }
    if (rank > 0) rank = last + 1;
  }

  /// After Simplify: where rows are so short that starting one costs more than its work, makes the
  /// longest dimension the innermost, strided though it is.
  void LengthenRows() {
    constexpr int32_t kShortRow = 16;
    if (rank < 2 || dims[rank - 1] >= kShortRow) return;
    int longest = rank - 1;
    for (int k = 0; k < rank; ++k) {
      if (dims[k] > dims[longest]) longest = k;
    }
    for (int k = longest; k + 1 < rank; ++k) Swap(k, k + 1);
  }

  void Remove(int k) {
    for (; k + 1 < rank; ++k) Swap(k, k + 1);
    --rank;
  }

  /// The outer dimension along which operand 1 moves faster than along the rows, or -1.
  [[nodiscard]] int CrossingDimension() const {
    int best = -1;
    ptrdiff_t smallest = Magnitude(RowStride(1));
    for (int k = 0; k + 1 < rank; ++k) {
      const ptrdiff_t stride = Magnitude(strides[1][k]);
      if (stride != 0 && stride < smallest) {
        smallest = stride;
        best = k;
      }
    }
    return best;
  }

 private:
  static ptrdiff_t Magnitude(ptrdiff_t stride) { return stride < 0 ? -stride : stride; }

  void Swap(int j, int k) {
    std::swap(dims[j], dims[k]);
    for (int i = 0; i < N; ++i) std::swap(strides[i][j], strides[i][k]);
  }

  [[nodiscard]] bool Merges(int outer, int inner) const {
    for (int i = 0; i < N; ++i) {
      if (strides[i][outer] != strides[i][inner] * dims[inner]) return false;
    }
    return true;
  }
};

/// Stride, in elements, of `view` along dimension `axis` of an output of rank `rank` that it
/// broadcasts to: 0 where the view has no such dimension or has size 1 there.
[[nodiscard]] inline int32_t BroadcastStride(const TensorView& view, int rank, int axis) {
  const int own = axis - (rank - view.rank);
  return own < 0 || view.dims[own] == 1 ? 0 : view.strides[own];
}

/// A tensor's dimensions from the innermost outwards, one at a time and in pieces: a dimension of
/// 12 can be taken as 4 and then 3.
class DimensionReader {
 public:
  explicit DimensionReader(const TensorView& view) : view_(view), axis_(view.rank) { Advance(); }

  [[nodiscard]] bool done() const { return axis_ < 0; }
  [[nodiscard]] int32_t left() const { return left_; }
  [[nodiscard]] ptrdiff_t stride() const { return stride_; }  ///< in elements

  /// Takes the innermost `count` of what is left, which `count` divides.
  void Take(int32_t count) {
    left_ /= count;
    stride_ *= count;
    if (left_ == 1) Advance();
  }

 private:
  void Advance() {
    do {
      --axis_;
    } while (axis_ >= 0 && view_.dims[axis_] == 1);
    if (axis_ < 0) return;
    left_ = view_.dims[axis_];
    stride_ = view_.strides[axis_];
  }

  const TensorView& view_;
  int axis_;
  int32_t left_ = 1;
  ptrdiff_t stride_ = 0;
};

/// Adds the loops that both shapes are made of, so that reshaping becomes a strided copy; strides
/// are in elements times `unit`. False where there are none ([4, 6] to [6, 4] with gaps). The
/// loops are in no particular order.
[[nodiscard]] inline bool FindCommonLoops(const TensorView& y, const TensorView& x, ptrdiff_t unit,
                                          LoopNest<2>& nest) {
  if (x.IsRowMajor() && y.IsRowMajor()) {
    nest.Add(static_cast<int32_t>(y.Elements()), unit, unit);
    return true;
  }
  DimensionReader to(y);
  DimensionReader from(x);
  while (!to.done()) {
    const int32_t count = to.left() < from.left() ? to.left() : from.left();
    if (to.left() % count != 0 || from.left() % count != 0) return false;
    nest.Add(count, to.stride() * unit, from.stride() * unit);
    to.Take(count);
    from.Take(count);
  }
  return true;
}

}  // namespace tenon
