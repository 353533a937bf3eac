// Brings strided rows of bytes, through small buffers, to routines that take contiguous elements.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cpu/kernels/portable/stage.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::q8 {

/// Calls `run(z, x, count)` with contiguous elements for a row of `count` elements; where an
/// operand has gaps, it does so piece by piece. Strides are in bytes; `z` has elements of Z and `x`
/// of X.
template <typename Z, typename X, typename Run>
void ForEachPiece(char* z, ptrdiff_t z_stride, const char* x, ptrdiff_t x_stride, int count,
                  const Run& run) {
  const portable::Stager z_stager = {z_stride, sizeof(Z)};
  const portable::Stager x_stager = {x_stride, sizeof(X)};
  const bool is_contiguous = z_stager.IsContiguous() && x_stager.IsContiguous();
  const int most = is_contiguous ? count : portable::kStageElements;
  for (int done = 0; done < count; done += most) {
    const int piece = count - done < most ? count - done : most;
    portable::Stage x_stage;
    portable::Stage z_stage;
    const char* from = x_stager.Read(x, done, piece, x_stage);
    char* to = z_stager.Target(z, done, z_stage);
    run(reinterpret_cast<Z*>(to), reinterpret_cast<const X*>(from), piece);
    z_stager.Write(z, done, piece, z_stage);
  }
}

/// Calls `routine` for every element of `y` and the element of `x` at the same place, in memory
/// order. `whole` is the routine's call without `x`, `y` and `count`; the types of its pointers are
/// those of the elements.
template <typename Call>
void MapElements(const TensorView& y, const TensorView& x, const ParallelRunner* parallel,
                 const Call& whole, void (*routine)(const Call&)) {
  using Y = std::remove_pointer_t<decltype(Call::y)>;
  using X = std::remove_const_t<std::remove_pointer_t<decltype(Call::x)>>;
  // Finding the rows of so few would take as long as their elements.
  constexpr int64_t kShort = 2048;
  if (const int64_t elements = y.Elements();
      elements > 0 && elements <= kShort && x.IsRowMajor() && y.IsRowMajor()) {
    Call row = whole;
    row.x = x.As<const X>();
    row.y = y.As<Y>();
    row.count = static_cast<int>(elements);
    return routine(row);
  }
  LoopNest<2> nest;
  for (int k = 0; k < y.rank; ++k) {
    nest.Add(y.dims[k], portable::ByteStride(y, k), portable::ByteStride(x, k));
  }
  nest.Simplify();
  nest.LengthenRows();
  const portable::Cursor<2> start = {{y.As<char>(), x.As<char>()}};
  portable::ForEachRow(nest, start, parallel, [&](const portable::Cursor<2>& cursor, int count) {
    ForEachPiece<Y, X>(cursor.at[0], nest.RowStride(0), cursor.at[1], nest.RowStride(1), count,
                       [&](Y* to, const X* from, int piece) {
                         Call part = whole;
                         part.x = from;
                         part.y = to;
                         part.count = piece;
                         routine(part);
                       });
  });
}

}  // namespace tenon::cpu::q8
