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

  /// Three planes of four elements, whose elements it puts side by side.
  static void InterleaveThree(char* to, const char* from, ptrdiff_t from_column) {
    static_assert(kSide == 4, "the shuffles are of four elements");
    Vector a;
    Vector b;
    Vector c;
    std::memcpy(&a, from, sizeof a);
    std::memcpy(&b, from + from_column, sizeof b);
    std::memcpy(&c, from + 2 * from_column, sizeof c);
    const Vector low = __builtin_shufflevector(a, b, 0, 4, 1, 5);     // a0 b0 a1 b1
    const Vector high = __builtin_shufflevector(a, b, 2, 6, 3, 7);    // a2 b2 a3 b3
    const Vector ca = __builtin_shufflevector(c, a, 0, 1, 5, 6);      // c0 c1 a1 a2
    const Vector bc = __builtin_shufflevector(b, c, 1, 2, 5, 6);      // b1 b2 c1 c2
    const Vector cab = __builtin_shufflevector(c, high, 2, 3, 6, 7);  // c2 c3 a3 b3
    const Vector first = __builtin_shufflevector(low, ca, 0, 1, 4, 6);
    const Vector second = __builtin_shufflevector(bc, high, 0, 2, 4, 5);
    const Vector third = __builtin_shufflevector(cab, cab, 0, 2, 3, 1);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(to + sizeof first, &second, sizeof second);
    std::memcpy(to + 2 * sizeof first, &third, sizeof third);
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
[[gnu::always_inline]] inline void Interleave(const Tile& tile) {
  using Word [[gnu::may_alias]] = T;
  auto* to = reinterpret_cast<Word*>(tile.to);
  const Word* from[kColumns];
  for (int c = 0; c < kColumns; ++c) {
    from[c] = reinterpret_cast<const Word*>(tile.from + c * tile.from_column);
  }
  int32_t row = 0;
#if defined(TENON_VECTOR_TRANSPOSE)
  if constexpr (kColumns == 3 && sizeof(T) == 4) {  // compilers do single elements
    for (; row + 4 <= tile.rows; row += 4) {
      VectorBlock<T>::InterleaveThree(tile.to + row * tile.to_row, tile.from + row * tile.from_row,
                                      tile.from_column);
    }
  }
#endif
  TENON_INDEPENDENT_LOOP
  for (; row < tile.rows; ++row) {
    for (int c = 0; c < kColumns; ++c) to[row * kColumns + c] = from[c][row];
  }
}

/// The reverse: takes `kRows` interleaved planes apart, one after the other: stores to several
/// planes by turns would collide where the planes lie a multiple of 4096 bytes apart.
template <typename T, int kRows>
[[gnu::always_inline]] inline void Deinterleave(const Tile& tile) {
  using Word [[gnu::may_alias]] = T;
  const Tile here = tile;  // what is stored may be anything, `tile` too
  for (int r = 0; r < kRows; ++r) {
    const auto* from = reinterpret_cast<const Word*>(here.from) + r;
    auto* to = reinterpret_cast<Word*>(here.to + r * here.to_row);
    TENON_INDEPENDENT_LOOP
    for (int32_t column = 0; column < here.columns; ++column) to[column] = from[column * kRows];
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
[[gnu::always_inline]] inline void CopyTile(const Tile& tile) {
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

/// Copies `count` tiles of one size, from where `outer` is on. What a tile is made of must be known
/// to be no memory that its elements are stored to: `copy` is inlined.
template <typename Copy>
void CopyEachTile(Tile tile, Odometer<2> outer, int count, const Copy& copy) {
  for (; count > 0; --count, outer.Next()) {
    tile.to = outer.cursor().at[0];
    tile.from = outer.cursor().at[1];
    copy(tile);
  }
}

/// For tiles of a few elements, of each pixel's channels, say: what to do is decided once.
template <typename T>
void CopySmallTiles(const Tile& tile, const Odometer<2>& outer, int count) {
  constexpr auto kBytes = static_cast<ptrdiff_t>(sizeof(T));
  const auto interleave = [&](auto columns) {
    CopyEachTile(tile, outer, count,
                 [](const Tile& one) { Interleave<T, decltype(columns)::value>(one); });
  };
  if (tile.from_row == kBytes && tile.to_column == kBytes && tile.to_row == tile.columns * kBytes) {
    if (tile.columns == 2) return interleave(std::integral_constant<int, 2>());
    if (tile.columns == 3) return interleave(std::integral_constant<int, 3>());
    if (tile.columns == 4) return interleave(std::integral_constant<int, 4>());
  }
  CopyEachTile(tile, outer, count, [](const Tile& one) { CopyTile<T>(one); });
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
      if (down == 1 && across == 1) {
        CopySmallTiles<decltype(word)>(whole, Odometer<2>(nest, nest.rank, start, begin),
                                       end - begin);
        return;
      }
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

/// A task of a thread copies so many pieces of few bytes at most.
constexpr int32_t kPiecesOfTask = 1024;

using TileRoutine = void (*)(const Tile&);

/// Copies the rows of a tile, pieces of memory of so few bytes that a call for each would take
/// longer than its copy.
template <size_t kBytes>
void CopyPieces(const Tile& tile) {
  const Tile here = tile;  // what is stored may be anything, `tile` too
  char* to = here.to;
  const char* from = here.from;
  for (int32_t row = 0; row < here.rows; ++row) {
    std::memcpy(to, from, kBytes);
    to += here.to_row;
    from += here.from_row;
  }
}

/// Null for sizes that are not expected.
TileRoutine RoutineOfPieces(ptrdiff_t bytes) {
#if defined(TENON_VECTOR_TRANSPOSE)
  switch (bytes) {
    case 8:
      return CopyPieces<8>;
    case 12:
      return CopyPieces<12>;
    case 16:
      return CopyPieces<16>;
    case 24:
      return CopyPieces<24>;
    case 32:
      return CopyPieces<32>;
    case 48:
      return CopyPieces<48>;
    case 64:
      return CopyPieces<64>;
    default:
      break;
  }
#endif
  return static_cast<void>(bytes), nullptr;
}

/// For rows that are one piece of memory on both sides. False where nothing was done.
bool CopyFewBytes(LoopNest<2> nest, int element_bytes, const Cursor<2>& start,
                  const ParallelRunner* parallel) {
  if (nest.rank < 2) return false;
  if (nest.RowStride(0) != element_bytes || nest.RowStride(1) != element_bytes) return false;
  const int row = nest.rank - 2;
  const TileRoutine copy = RoutineOfPieces(ptrdiff_t{element_bytes} * nest.RowLength());
  if (copy == nullptr) return false;
  Tile whole = {};
  whole.rows = nest.dims[row];
  whole.to_row = nest.strides[0][row];
  whole.from_row = nest.strides[1][row];
  const int64_t elements = nest.Elements();
  const int32_t each = std::min(whole.rows, kPiecesOfTask);
  const int32_t down = (whole.rows - 1) / each + 1;
  const auto tasks = static_cast<int>(elements / nest.RowLength() / whole.rows * down);
  ParallelFor(elements >= kParallelElements ? parallel : nullptr, tasks, [&](int begin, int end) {
    Odometer<2> outer(nest, row, start, begin / down);
    int32_t first = begin % down * each;
    Tile tile = whole;
    for (int task = begin; task < end; ++task) {
      tile.to = outer.cursor().at[0] + first * whole.to_row;
      tile.from = outer.cursor().at[1] + first * whole.from_row;
      tile.rows = std::min(each, whole.rows - first);
      copy(tile);
      first += each;
      if (first >= whole.rows) {
        first = 0;
        outer.Next();
      }
    }
  });
  return true;
}

/// The innermost loops where they are so short that starting each costs more than its elements:
/// the places of all their elements, one pattern, are found once.
struct CopyPattern {
  static constexpr int kMost = 32;
  int count = 1;
  ptrdiff_t to[kMost] = {};
  ptrdiff_t from[kMost] = {};

  /// Takes the innermost loops out of the nest.
  explicit CopyPattern(LoopNest<2>& nest) {
    while (nest.rank > 1 && count * nest.RowLength() <= kMost) {
      const int k = nest.rank - 1;
      const int inner = count;
      count *= nest.dims[k];
      for (int i = inner; i < count; ++i) {
        to[i] = to[i - inner] + nest.strides[0][k];
        from[i] = from[i - inner] + nest.strides[1][k];
      }
      nest.Remove(k);
    }
  }
};

/// True where neither side of the tile that `source`, or -1, makes with the rows is worth a loop.
bool HasShortLoops(const LoopNest<2>& nest, int source) {
#if defined(TENON_VECTOR_TRANSPOSE)
  constexpr int32_t kShortRow = 5;
  constexpr int64_t kMany = 1024;  // elements, for which finding a pattern is worth it
  return nest.rank > 1 && nest.RowLength() < kShortRow && nest.Elements() >= kMany &&
         (source < 0 || nest.dims[source] < kShortSide);
#else
  return static_cast<void>(nest), static_cast<void>(source), false;
#endif
}

/// Copies `count` patterns of kElements that lie one after the other in `to`.
template <typename T, int kElements>
void CopyDensePatterns(const CopyPattern& pattern, const Cursor<2>& cursor, ptrdiff_t to_step,
                       ptrdiff_t from_step, int count) {
  using Word [[gnu::may_alias]] = T;
  ptrdiff_t places[kElements];
  for (int k = 0; k < kElements; ++k) places[k] = pattern.from[k];
  char* to = cursor.at[0];
  const char* from = cursor.at[1];
  for (int i = 0; i < count; ++i, to += to_step, from += from_step) {
    T elements[kElements];
    for (int k = 0; k < kElements; ++k) {
      elements[k] = *reinterpret_cast<const Word*>(from + places[k]);
    }
    std::memcpy(to, elements, sizeof elements);
  }
}

template <typename T>
using PatternRoutine = void (*)(const CopyPattern& pattern, const Cursor<2>& cursor,
                                ptrdiff_t to_step, ptrdiff_t from_step, int count);

/// Null for sizes that are not expected, and where elements lie apart in `to`.
template <typename T>
PatternRoutine<T> RoutineOfPatterns(const CopyPattern& pattern) {
  for (int k = 0; k < pattern.count; ++k) {
    if (pattern.to[k] != k * static_cast<ptrdiff_t>(sizeof(T))) return nullptr;
  }
  switch (pattern.count) {
    case 2:
      return CopyDensePatterns<T, 2>;
    case 3:
      return CopyDensePatterns<T, 3>;
    case 4:
      return CopyDensePatterns<T, 4>;
    case 8:
      return CopyDensePatterns<T, 8>;
    case 9:
      return CopyDensePatterns<T, 9>;
    case 16:
      return CopyDensePatterns<T, 16>;
    default:
      return nullptr;
  }
}

/// Copies pattern after pattern along the innermost loop that is left.
void CopyPatterns(LoopNest<2> nest, int element_bytes, const Cursor<2>& start,
                  const ParallelRunner* parallel) {
  const CopyPattern pattern(nest);
  const ptrdiff_t to_stride = nest.RowStride(0);
  const ptrdiff_t from_stride = nest.RowStride(1);
  WithWord(element_bytes, [&](auto word) {
    using Word [[gnu::may_alias]] = decltype(word);
    const auto dense = RoutineOfPatterns<decltype(word)>(pattern);
    const auto run = [&](const Cursor<2>& cursor, int count) {
      if (dense != nullptr) return dense(pattern, cursor, to_stride, from_stride, count);
      const int elements = pattern.count;  // copies, which what is stored cannot be part of
      const ptrdiff_t to_step = to_stride;
      const ptrdiff_t from_step = from_stride;
      char* to = cursor.at[0];
      const char* from = cursor.at[1];
      for (int i = 0; i < count; ++i, to += to_step, from += from_step) {
        for (int k = 0; k < elements; ++k) {
          *reinterpret_cast<Word*>(to + pattern.to[k]) =
              *reinterpret_cast<const Word*>(from + pattern.from[k]);
        }
      }
    };
    ForEachRow(nest, start, parallel, run,
               RowSharing{kParallelElements / pattern.count, kPiecesOfTask});
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
  if (HasShortLoops(nest, source)) {
    if (source >= 0 || !CopyFewBytes(nest, element_bytes, start, parallel)) {
      CopyPatterns(nest, element_bytes, start, parallel);
    }
    return;
  }
  if (source >= 0) {
    CopyInTiles(nest, source, element_bytes, start, parallel);
    return;
  }
  if (CopyFewBytes(nest, element_bytes, start, parallel)) return;
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
