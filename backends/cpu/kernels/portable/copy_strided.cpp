#include "backends/cpu/kernels/portable/copy_strided.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>

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
#define TENON_TRANSPOSE_4X4 1
using Vector4 [[gnu::vector_size(16), gnu::aligned(4), gnu::may_alias]] = uint32_t;

void Transpose4x4(char* to, ptrdiff_t to_row, const char* from, ptrdiff_t from_column) {
  Vector4 a[4];
  for (int i = 0; i < 4; ++i) a[i] = *reinterpret_cast<const Vector4*>(from + i * from_column);
  const Vector4 low01 = __builtin_shufflevector(a[0], a[1], 0, 4, 1, 5);
  const Vector4 high01 = __builtin_shufflevector(a[0], a[1], 2, 6, 3, 7);
  const Vector4 low23 = __builtin_shufflevector(a[2], a[3], 0, 4, 1, 5);
  const Vector4 high23 = __builtin_shufflevector(a[2], a[3], 2, 6, 3, 7);
  const Vector4 rows[4] = {__builtin_shufflevector(low01, low23, 0, 1, 4, 5),
                           __builtin_shufflevector(low01, low23, 2, 3, 6, 7),
                           __builtin_shufflevector(high01, high23, 0, 1, 4, 5),
                           __builtin_shufflevector(high01, high23, 2, 3, 6, 7)};
  for (int i = 0; i < 4; ++i) *reinterpret_cast<Vector4*>(to + i * to_row) = rows[i];
}
#endif

/// Rows of exactly `kColumns` elements side by side: interleaves as many planes.
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

template <typename T>
void CopyTile(const Tile& tile) {
  const bool is_unit = tile.from_row == sizeof(T) && tile.to_column == sizeof(T);
  if (is_unit && tile.to_row == tile.columns * static_cast<ptrdiff_t>(sizeof(T))) {
    if (tile.columns == 2) return Interleave<T, 2>(tile);
    if (tile.columns == 3) return Interleave<T, 3>(tile);
    if (tile.columns == 4) return Interleave<T, 4>(tile);
  }
#if defined(TENON_TRANSPOSE_4X4)
  if (sizeof(T) == 4 && is_unit) {
    const int32_t rows = tile.rows & ~3;
    const int32_t columns = tile.columns & ~3;
    for (int32_t r = 0; r < rows; r += 4) {
      for (int32_t c = 0; c < columns; c += 4) {
        Transpose4x4(tile.to + r * tile.to_row + c * tile.to_column, tile.to_row,
                     tile.from + r * tile.from_row + c * tile.from_column, tile.from_column);
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
    return;
  }
#endif
  CopyTileScalar<T>(tile);
}

/// The dimension along which the source runs faster than along the row, or -1.
int FindSourceDimension(const LoopNest<2>& nest) {
  int best = -1;
  ptrdiff_t smallest = std::abs(nest.RowStride(1));
  for (int k = 0; k + 1 < nest.rank; ++k) {
    const ptrdiff_t stride = std::abs(nest.strides[1][k]);
    if (stride != 0 && stride < smallest) {
      smallest = stride;
      best = k;
    }
  }
  return best;
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
  const int source = FindSourceDimension(nest);
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
