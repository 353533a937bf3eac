// Loops over several strided operands at once: the dimensions are put in the order in which the
// output lies in memory and merged where they can be, so that rows become long and kernels are
// written for one row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/tensor_view.hpp"

// Before a loop whose iterations are independent: operands may be the same memory, element by
// element, which the compiler cannot know.
#if defined(__clang__)
#define TENON_INDEPENDENT_LOOP _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TENON_INDEPENDENT_LOOP _Pragma("GCC ivdep")
#else
#define TENON_INDEPENDENT_LOOP
#endif

namespace tenon::cpu::portable {

/// Work below this many elements stays on one thread.
inline constexpr int64_t kParallelElements = 32768;
/// Rows longer than this are cut into tasks.
inline constexpr int32_t kTaskElements = 8192;

/// When and how finely rows are shared out among threads.
struct RowSharing {
  int64_t least = kParallelElements;  ///< elements; fewer stay on one thread
  int32_t piece = kTaskElements;      ///< elements; longer rows are cut
};

/// Reshape walks the common refinement of two shapes: up to the dimensions of both.
inline constexpr int kMaxLoopRank = 2 * kMaxRank;

/// Nested loops over N operands; operand 0 is the output. Strides are in bytes and may be negative.
template <int N>
struct LoopNest {
  int rank = 0;
  int32_t dims[kMaxLoopRank] = {};
  ptrdiff_t strides[N][kMaxLoopRank] = {};

  /// A dimension inside those added so far. Dimensions of size 1 are left out.
  template <typename... Strides>
  void Add(int32_t dim, Strides... bytes) {
    static_assert(sizeof...(Strides) == N, "one stride per operand");
    if (dim == 1) return;
    const ptrdiff_t values[N] = {static_cast<ptrdiff_t>(bytes)...};
    for (int i = 0; i < N; ++i) strides[i][rank] = values[i];
    dims[rank++] = dim;
  }

  [[nodiscard]] int64_t Elements() const {
    int64_t count = 1;
    for (int k = 0; k < rank; ++k) count *= dims[k];
    return count;
  }

  /// Byte stride of operand `i` along a row; where a row is one element, anything will do.
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

 private:
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

/// Where the operands' current elements lie.
template <int N>
struct Cursor {
  char* at[N];
};

/// Steps through the first `rank` dimensions of a nest, in order, from any position.
template <int N>
class Odometer {
 public:
  Odometer(const LoopNest<N>& nest, int rank, const Cursor<N>& start, int64_t position)
      : nest_(nest), rank_(rank), cursor_(start) {
    for (int k = rank - 1; k >= 0; --k) {
      index_[k] = static_cast<int32_t>(position % nest.dims[k]);
      position /= nest.dims[k];
      for (int i = 0; i < N; ++i) cursor_.at[i] += index_[k] * nest.strides[i][k];
    }
  }

  [[nodiscard]] const Cursor<N>& cursor() const { return cursor_; }
  [[nodiscard]] const int32_t* index() const { return index_; }

  void Next() {
    for (int k = rank_ - 1; k >= 0; --k) {
      if (++index_[k] < nest_.dims[k]) {
        for (int i = 0; i < N; ++i) cursor_.at[i] += nest_.strides[i][k];
        return;
      }
      index_[k] = 0;
      const ptrdiff_t back = nest_.dims[k] - 1;
      for (int i = 0; i < N; ++i) cursor_.at[i] -= back * nest_.strides[i][k];
    }
  }

 private:
  const LoopNest<N>& nest_;
  int rank_;
  Cursor<N> cursor_;
  int32_t index_[kMaxLoopRank] = {};
};

/// Calls `body(cursor, count)` for every row (innermost dimension) of a simplified nest, on several
/// threads where that pays. Long rows come in pieces.
template <int N, typename Body>
void ForEachRow(const LoopNest<N>& nest, const Cursor<N>& start, const ParallelRunner* parallel,
                const Body& body, const RowSharing& sharing = {}) {
  const int64_t elements = nest.Elements();
  if (elements == 0) return;
  const bool is_large = elements >= sharing.least;
  const int32_t length = nest.RowLength();
  const int32_t piece = is_large && length > sharing.piece ? sharing.piece : length;
  const int32_t pieces = (length - 1) / piece + 1;
  const int outer_rank = nest.rank == 0 ? 0 : nest.rank - 1;
  const auto tasks = static_cast<int>(elements / length * pieces);
  ParallelFor(is_large ? parallel : nullptr, tasks, [&](int begin, int end) {
    Odometer<N> odometer(nest, outer_rank, start, begin / pieces);
    int32_t first = begin % pieces * piece;
    for (int task = begin; task < end; ++task) {
      Cursor<N> cursor = odometer.cursor();
      for (int i = 0; i < N; ++i) cursor.at[i] += first * nest.RowStride(i);
      body(cursor, length - first < piece ? length - first : piece);
      first += piece;
      if (first >= length) {
        first = 0;
        odometer.Next();
      }
    }
  });
}

/// Byte stride of `view` along dimension `axis` of an output of rank `rank` that it broadcasts to.
[[nodiscard]] inline ptrdiff_t BroadcastStride(const TensorView& view, int rank, int axis) {
  const int own = axis - (rank - view.rank);
  if (own < 0 || view.dims[own] == 1) return 0;
  return static_cast<ptrdiff_t>(view.strides[own]) * DTypeBytes(view.dtype);
}

/// Byte stride of `view` along its own dimension `axis`.
[[nodiscard]] inline ptrdiff_t ByteStride(const TensorView& view, int axis) {
  return static_cast<ptrdiff_t>(view.strides[axis]) * DTypeBytes(view.dtype);
}

/// Unsigned words for moving elements whose type does not matter.
using Word1 [[gnu::may_alias]] = uint8_t;
using Word2 [[gnu::may_alias]] = uint16_t;
using Word4 [[gnu::may_alias]] = uint32_t;
using Word8 [[gnu::may_alias]] = uint64_t;

/// Calls `body(Word{})` with the word of `bytes` bytes (1, 2, 4 or 8).
template <typename Body>
void WithWord(int bytes, const Body& body) {
  switch (bytes) {
    case 1:
      return body(uint8_t{});
    case 2:
      return body(uint16_t{});
    case 4:
      return body(uint32_t{});
    default:
      return body(uint64_t{});
  }
}

/// Copies `count` elements of type T between two strided rows (strides in bytes).
template <typename T>
void CopyRow(char* to, ptrdiff_t to_stride, const char* from, ptrdiff_t from_stride, int count) {
  using Word [[gnu::may_alias]] = T;
  if (to_stride == sizeof(T) && from_stride == sizeof(T)) {
    std::memcpy(to, from, sizeof(T) * static_cast<size_t>(count));
    return;
  }
  for (int i = 0; i < count; ++i) {
    // The analyser cannot see that the caller has filled `from`.
    // NOLINTNEXTLINE(clang-analyzer-core.uninitialized.Assign)
    *reinterpret_cast<Word*>(to) = *reinterpret_cast<const Word*>(from);
    to += to_stride;
    from += from_stride;
  }
}

}  // namespace tenon::cpu::portable
