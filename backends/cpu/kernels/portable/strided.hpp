// Walks a nest of loops (strides in bytes) for the portable kernels: row by row, on several threads
// where that pays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "runtime/backend_api/parallel.hpp"
#include "runtime/base/loop_nest.hpp"

// It precedes a loop whose iterations are independent: operands may be the same memory, element by
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

/// Says when and how finely rows are distributed among threads.
struct RowSharing {
  int64_t least = kParallelElements;  ///< elements; fewer stay on one thread
  int32_t piece = kTaskElements;      ///< elements; longer rows are cut
};

/// Points at the operands' current elements.
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
/// threads where that pays. Long rows are passed in pieces.
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

/// Returns the byte stride of `view` along dimension `axis` of an output of rank `rank` that it
/// broadcasts to.
[[nodiscard]] inline ptrdiff_t BroadcastByteStride(const TensorView& view, int rank, int axis) {
  return static_cast<ptrdiff_t>(BroadcastStride(view, rank, axis)) * DTypeBytes(view.dtype);
}

/// Returns the byte stride of `view` along its own dimension `axis`.
[[nodiscard]] inline ptrdiff_t ByteStride(const TensorView& view, int axis) {
  return static_cast<ptrdiff_t>(view.strides[axis]) * DTypeBytes(view.dtype);
}

/// Rows of an op by elements, whose inputs broadcast to its output `z`.
template <typename... Inputs>
LoopNest<1 + sizeof...(Inputs)> ElementRows(const TensorView& z, const Inputs&... inputs) {
  LoopNest<1 + sizeof...(Inputs)> nest;
  for (int k = 0; k < z.rank; ++k) {
    nest.Add(z.dims[k], ByteStride(z, k), BroadcastByteStride(inputs, z.rank, k)...);
  }
  nest.Simplify();
  return nest;
}

/// These are unsigned words for moving elements whose type does not matter.
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

// The following routine serves every op that only moves elements (movement/copy_strided.cpp).

/// Copies the elements of `nest` (operand 0: `to`, operand 1: `from`; not yet simplified) of
/// `element_bytes` bytes each (1, 2, 4 or 8). `to` and `from` may be the same memory only with the
/// same strides (then nothing is done), and may not overlap otherwise. Source strides may be 0.
void CopyStrided(LoopNest<2> nest, int element_bytes, void* to, const void* from,
                 const ParallelRunner* parallel);

/// Copies `from` to `to`, which has the same dtype and dims.
void CopyView(const TensorView& to, const TensorView& from, const ParallelRunner* parallel);

}  // namespace tenon::cpu::portable
