#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {
namespace {

/// Tiles of a transposition: a block of cache lines on both sides.
constexpr int32_t kTile = 32;
/// A side shorter than this is one tile wide, and the other side's tiles are longer.
constexpr int32_t kShortSide = 8;
constexpr int32_t kLongTile = 512;

/// A rectangle in which the source runs along `row` and the destination along `column`.
struct Tile {
  char* to;
  const char* from;
  int32_t rows;
  int32_t columns;
  ptrdiff_t to_row;  // byte strides
  ptrdiff_t to_column;
  ptrdiff_t from_row;
  ptrdiff_t from_column;
};

#if defined(__SSE2__) || defined(__ARM_NEON)
#define TENON_VECTOR_TRANSPOSE 1
/// A square block of as many vectors as a vector has elements of type T, transposed in registers.
template <typename T>
class VectorBlock {
 public:
  static constexpr int kSide = 16 / static_cast<int>(sizeof(T));

  static void Transpose(char* to, ptrdiff_t to_row, const char* from, ptrdiff_t from_column) {
    Vector a[kSide];
    for (int i = 0; i < kSide; ++i) std::memcpy(&a[i], from + i * from_column, sizeof(Vector));
    // Interleaving the first half with the second as often as the side can be halved.
    for (int step = 1; step < kSide; step *= 2) {
      Vector b[kSide];
      for (int i = 0; i < kSide / 2; ++i) {
        b[2 * i] = InterleaveFrom<0>(a[i], a[i + kSide / 2], Indices());
        b[2 * i + 1] = InterleaveFrom<kSide / 2>(a[i], a[i + kSide / 2], Indices());
      }
      for (int i = 0; i < kSide; ++i) a[i] = b[i];
    }
    for (int i = 0; i < kSide; ++i) std::memcpy(to + i * to_row, &a[i], sizeof(Vector));
  }

 private:
  using Vector [[gnu::vector_size(16)]] = T;
  using Indices = std::make_integer_sequence<int, kSide>;

  /// x and y by turns, both from element `kFirst` on.
  template <int kFirst, int... kIndex>
  static Vector InterleaveFrom(Vector x, Vector y, std::integer_sequence<int, kIndex...>) {
    return __builtin_shufflevector(x, y, (kFirst + kIndex / 2 + kIndex % 2 * kSide)...);
  }
};
#endif

/// Takes rows of exactly `kColumns` contiguous elements: it interleaves as many planes.
template <typename T, int kColumns>
void Interleave(const Tile& tile) {
  using Word [[gnu::may_alias]] = T;
  auto* to = reinterpret_cast<Word*>(tile.to);
  const Word* from[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    from[c] = reinterpret_cast<const Word*>(tile.from + c * tile.from_column);
  }
  TENON_INDEPENDENT_LOOP
  for (int32_t row = 0; row < tile.rows; ++row) {
    for (int c = 0; c < kColumns; ++c) to[row * kColumns + c] = from[c][row];
  }
}

/// The reverse: takes `kRows` interleaved planes apart, one after the other: stores to several
/// planes by turns would collide where the planes lie a multiple of 4096 bytes apart.
template <typename T, int kRows>
void Deinterleave(const Tile& tile) {
  using Word [[gnu::may_alias]] = T;
  for (int r = 0; r < kRows; ++r) {
    const auto* from = reinterpret_cast<const Word*>(tile.from) + r;
    auto* to = reinterpret_cast<Word*>(tile.to + r * tile.to_row);
    TENON_INDEPENDENT_LOOP
    for (int32_t column = 0; column < tile.columns; ++column) to[column] = from[column * kRows];
  }
}

template <typename T>
void CopyTileScalar(const Tile& tile) {
  if (tile.rows >= tile.columns) {
    for (int32_t c = 0; c < tile.columns; ++c) {
      CopyRow<T>(tile.to + c * tile.to_column, tile.to_row, tile.from + c * tile.from_column,
                 tile.from_row, tile.rows);
    }
  } else {
    for (int32_t r = 0; r < tile.rows; ++r) {
      CopyRow<T>(tile.to + r * tile.to_row, tile.to_column, tile.from + r * tile.from_row,
                 tile.from_column, tile.columns);
    }
  }
}

/// Few planes side by side, without gaps between their elements, as in images of 2 to 4 channels.
/// False where nothing was done because the general way is as fast.
template <typename T>
bool CopyFewPlanes(const Tile& tile) {
  constexpr auto kBytes = static_cast<ptrdiff_t>(sizeof(T));
  if (tile.to_row == tile.columns * kBytes) {
    if (tile.columns == 2) return Interleave<T, 2>(tile), true;
    if (tile.columns == 3) return Interleave<T, 3>(tile), true;
    if (tile.columns == 4) return Interleave<T, 4>(tile), true;
  }
  if (sizeof(T) >= 4 && tile.from_column == tile.rows * kBytes) {
    if (tile.rows == 2) return Deinterleave<T, 2>(tile), true;
    if (tile.rows == 3) return Deinterleave<T, 3>(tile), true;
  }
  return false;
}

template <typename T>
void CopyTile(const Tile& tile) {
  const bool is_unit = tile.from_row == sizeof(T) && tile.to_column == sizeof(T);
  if (!is_unit) return CopyTileScalar<T>(tile);
  if (CopyFewPlanes<T>(tile)) return;
#if defined(TENON_VECTOR_TRANSPOSE)
  constexpr int kSide = VectorBlock<T>::kSide;
  const int32_t rows = tile.rows / kSide * kSide;
  const int32_t columns = tile.columns / kSide * kSide;
  for (int32_t r = 0; r < rows; r += kSide) {
    for (int32_t c = 0; c < columns; c += kSide) {
      VectorBlock<T>::Transpose(tile.to + r * tile.to_row + c * tile.to_column, tile.to_row,
                                tile.from + r * tile.from_row + c * tile.from_column,
                                tile.from_column);
    }
  }
  Tile right = tile;
  right.columns -= columns;
  right.to += columns * tile.to_column;
  right.from += columns * tile.from_column;
  Tile bottom = tile;
  bottom.rows -= rows;
  bottom.columns = columns;
  bottom.to += rows * tile.to_row;
  bottom.from += rows * tile.from_row;
  CopyTileScalar<T>(right);
  CopyTileScalar<T>(bottom);
#else
  CopyTileScalar<T>(tile);
#endif
}

/// Copies with dimension `source` and the innermost one in tiles, so that neither side jumps over
/// a cache line for every element.
void CopyInTiles(LoopNest<2> nest, int source, int element_bytes, const Cursor<2>& start,
                 const ParallelRunner* parallel) {
  const int64_t elements = nest.Elements();
  const int column = nest.rank - 1;
  const Tile whole = {nullptr,
                      nullptr,
                      nest.dims[source],
                      nest.dims[column],
                      nest.strides[0][source],
                      nest.strides[0][column],
                      nest.strides[1][source],
                      nest.strides[1][column]};
  nest.Remove(column);
  nest.Remove(source);
  const int32_t tile_rows = whole.columns < kShortSide ? kLongTile
                            : whole.rows < kShortSide  ? whole.rows
                                                       : kTile;
  const int32_t tile_columns = whole.columns < kShortSide ? whole.columns
                               : whole.rows < kShortSide  ? kLongTile
                                                          : kTile;
  const int32_t down = (whole.rows - 1) / tile_rows + 1;
  const int32_t across = (whole.columns - 1) / tile_columns + 1;
  const auto tasks = static_cast<int>(nest.Elements() * down * across);
  WithWord(element_bytes, [&](auto word) {
    ParallelFor(elements >= kParallelElements ? parallel : nullptr, tasks, [&](int begin, int end) {
      for (int task = begin; task < end; ++task) {
        const int32_t column_at = task % across * tile_columns;
        const int32_t row_at = task / across % down * tile_rows;
        const Odometer<2> outer(nest, nest.rank, start, task / across / down);
        Tile tile = whole;
        tile.rows = std::min(tile_rows, whole.rows - row_at);
        tile.columns = std::min(tile_columns, whole.columns - column_at);
        tile.to = outer.cursor().at[0] + row_at * whole.to_row + column_at * whole.to_column;
        tile.from = outer.cursor().at[1] + row_at * whole.from_row + column_at * whole.from_column;
        CopyTile<decltype(word)>(tile);
      }
    });
  });
}

bool SameStrides(const LoopNest<2>& nest) {
  for (int k = 0; k < nest.rank; ++k) {
    if (nest.strides[0][k] != nest.strides[1][k]) return false;
  }
  return true;
}

}  // namespace

void CopyStrided(LoopNest<2> nest, int element_bytes, void* to, const void* from,
                 const ParallelRunner* parallel) {
  if (nest.Elements() == 0) return;
  if (to == from && SameStrides(nest)) return;
  nest.Simplify();
  // Only read through: the cursor type is shared with kernels that write.
  const Cursor<2> start = {{static_cast<char*>(to), static_cast<char*>(const_cast<void*>(from))}};
  const int source = nest.CrossingDimension();
  if (source >= 0) {
    CopyInTiles(nest, source, element_bytes, start, parallel);
    return;
  }
  const ptrdiff_t to_stride = nest.RowStride(0);
  const ptrdiff_t from_stride = nest.RowStride(1);
  WithWord(element_bytes, [&](auto word) {
    ForEachRow(nest, start, parallel, [&](const Cursor<2>& cursor, int count) {
      CopyRow<decltype(word)>(cursor.at[0], to_stride, cursor.at[1], from_stride, count);
    });
  });
}

void CopyView(const TensorView& to, const TensorView& from, const ParallelRunner* parallel) {
  LoopNest<2> nest;
  for (int k = 0; k < to.rank; ++k) nest.Add(to.dims[k], ByteStride(to, k), ByteStride(from, k));
  CopyStrided(nest, DTypeBytes(to.dtype), to.data, from.data, parallel);
}

}  // namespace tenon::cpu::portable
