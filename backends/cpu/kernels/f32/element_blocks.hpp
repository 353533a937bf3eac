// Splits loops over elements into blocks that stay in the first-level cache, of as many whole rows
// as fit, and makes rows of what does not lie in memory like the result.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/base/loop_nest.hpp"

namespace tenon::cpu::f32 {

/// How a block's elements of one tensor lie: one element for all, one after the other, or neither.
enum class BlockForm : uint8_t { kRepeated, kDense, kStrided };

/// Short rows are filled by so many floats at a time: what lies behind a row is filled after it, so
/// that a buffer for a block has so many floats more.
inline constexpr int kBlockPiece = 8;

/// Copies neighbours without a call, which would take longer than a short row.
inline void CopyNeighbours(const float* from, int count, float* to) {
  int i = 0;
  for (; i + kBlockPiece <= count; i += kBlockPiece) {
    std::memcpy(to + i, from + i, kBlockPiece * sizeof(float));
  }
  if ((count & 4) != 0) {
    std::memcpy(to + i, from + i, 4 * sizeof(float));
    i += 4;
  }
  if ((count & 2) != 0) {
    std::memcpy(to + i, from + i, 2 * sizeof(float));
    i += 2;
  }
  if ((count & 1) != 0) to[i] = from[i];
}

/// Fills `count` elements with one value, whole pieces at a time.
inline void FillRow(float value, int count, float* to) {
  float values[kBlockPiece];
  for (float& element : values) element = value;
  for (int i = 0; i < count; i += kBlockPiece) std::memcpy(to + i, values, sizeof values);
}

/// One block: where its elements of each operand begin, in floats.
template <int N>
struct ElementBlock {
  int64_t offsets[N];
  int count;     ///< indices of the outermost dimension in it
  int elements;  ///< of the result
};

/// Blocks of at most `most` elements. `nest` is simplified and outlives this; operand 0 is the
/// result.
template <int N>
class ElementBlocks {
 public:
  ElementBlocks() = default;
  ElementBlocks(const LoopNest<N>& nest, int most) : nest_(&nest), first_(nest.rank) {
    while (first_ > 0 && inner_ * nest.dims[first_ - 1] <= most) inner_ *= nest.dims[--first_];
    if (first_ == 0) {
      inner_ /= nest.dims[0];
      piece_ = nest.dims[0];
    } else {
      // Of the first dimension that does not fit, as much as does.
      piece_ = most / inner_;
      pieces_ = (nest.dims[--first_] + piece_ - 1) / piece_;
    }
  }

  [[nodiscard]] int Count() const {
    int blocks = pieces_;
    for (int k = 0; k < first_; ++k) blocks *= nest_->dims[k];
    return blocks;
  }

  [[nodiscard]] BlockForm FormOf(int operand) const {
    int64_t dense = 1;
    bool repeats = true;
    bool is_dense = true;
    for (int k = nest_->rank - 1; k >= first_; --k) {
      const ptrdiff_t stride = nest_->strides[operand][k];
      repeats = repeats && stride == 0;
      is_dense = is_dense && stride == dense;
      dense *= nest_->dims[k];
    }
    if (repeats && operand != 0) return BlockForm::kRepeated;
    return is_dense ? BlockForm::kDense : BlockForm::kStrided;
  }

  [[nodiscard]] ElementBlock<N> At(int block) const {
    const int first = block % pieces_ * piece_;
    block /= pieces_;
    ElementBlock<N> at;
    for (int i = 0; i < N; ++i) at.offsets[i] = first * nest_->strides[i][first_];
    for (int k = first_ - 1; k >= 0; --k) {
      const int index = block % nest_->dims[k];
      block /= nest_->dims[k];
      for (int i = 0; i < N; ++i) at.offsets[i] += index * nest_->strides[i][k];
    }
    const int left = nest_->dims[first_] - first;
    at.count = left < piece_ ? left : piece_;
    at.elements = at.count * inner_;
    return at;
  }

  /// Copies a block of an operand, whose first element is at `from`, to a row.
  void Gather(int operand, const ElementBlock<N>& block, const float* from, float* to) const {
    Gather(operand, first_, block.count, inner_, from, to);
  }

  /// Copies a row to where a block of the result begins.
  template <typename T>
  void Scatter(const ElementBlock<N>& block, const T* from, T* to) const {
    Scatter(first_, block.count, inner_, from, to);
  }

 private:
  /// Copies the first `count` of dimension `k`, each of `inner` elements, to a row.
  void Gather(int operand, int k, int count, int inner, const float* from, float* to) const {
    const ptrdiff_t stride = nest_->strides[operand][k];
    if (k + 1 == nest_->rank) {
      if (stride == 0) {
        FillRow(*from, count, to);
      } else if (stride == 1) {
        CopyNeighbours(from, count, to);
      } else {
        for (int i = 0; i < count; ++i) to[i] = from[i * stride];
      }
      return;
    }
    const int next = nest_->dims[k + 1];
    if (k + 2 == nest_->rank && nest_->strides[operand][k + 1] == 0 && stride != 0) {
      return RepeatEach(from, stride, count, next, to);
    }
    if (stride == 0) {
      Gather(operand, k + 1, next, inner / next, from, to);
      return Repeat(to, inner, count * inner);
    }
    for (int i = 0; i < count; ++i) {
      Gather(operand, k + 1, next, inner / next, from + i * stride, to + i * inner);
    }
  }

  /// Copies `count` elements, each `times` times.
  static void RepeatEach(const float* from, ptrdiff_t stride, int count, int times, float* to) {
    for (int i = 0; i < count; ++i, to += times) FillRow(from[i * stride], times, to);
  }

  /// Fills a row with what its first `done` elements are. What was just stored is not read again at
  /// once, for which a core waits until it has left for the cache, but in longer and longer parts.
  static void Repeat(float* row, int done, int all) {
    constexpr int kLong = 64;
    if (done <= kBlockPiece) {
      float values[kBlockPiece];
      std::memcpy(values, row, sizeof values);
      const int step = done;
      for (; done < all && done < kLong; done += step) {
        std::memcpy(row + done, values, sizeof values);
      }
    }
    while (done < all) {
      const int more = done < all - done ? done : all - done;
      std::memcpy(row + done, row, sizeof(float) * static_cast<size_t>(more));
      done += more;
    }
  }

  template <typename T>
  void Scatter(int k, int count, int inner, const T* from, T* to) const {
    const ptrdiff_t stride = nest_->strides[0][k];
    if (k + 1 == nest_->rank) {
      for (int i = 0; i < count; ++i) to[i * stride] = from[i];
      return;
    }
    const int next = nest_->dims[k + 1];
    for (int i = 0; i < count; ++i) {
      Scatter(k + 1, next, inner / next, from + i * inner, to + i * stride);
    }
  }

  const LoopNest<N>* nest_ = nullptr;
  int first_ = 0;   ///< the outermost dimension of a block
  int inner_ = 1;   ///< elements of a block for each index of it
  int piece_ = 1;   ///< indices of it in a block
  int pieces_ = 1;  ///< blocks along it
};

}  // namespace tenon::cpu::f32
