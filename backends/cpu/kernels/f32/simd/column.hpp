// Multiplies rows by one column: sums of products along rows. Elements of a row are in lanes; of
// rows shorter than a vector several are in one.
#pragma once

#include "backends/cpu/kernels/f32/simd/functions.hpp"
#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Returns the sums of neighbours of a and, behind them, of b, in their order.
[[gnu::always_inline]] static inline Floats SumNeighbours(Floats a, Floats b) {
#if defined(__clang__)
  float lanes[2 * kLanes];
  Store<kLanes>(lanes, a);
  Store<kLanes>(lanes + kLanes, b);
  Floats sums;
  for (int i = 0; i < kLanes; ++i) sums[i] = lanes[2 * i] + lanes[2 * i + 1];
  return sums;
#else
  Integers even;
  for (int i = 0; i < kLanes; ++i) even[i] = 2 * i;
  return __builtin_shuffle(a, b, even) + __builtin_shuffle(a, b, even + 1);
#endif
}

/// Adds up neighbours until the sums of kCount vectors are in the first.
template <int kCount>
[[gnu::always_inline]] static inline void SumAllNeighbours(Floats* sums) {
  if constexpr (kCount > 1) {
    TENON_UNROLL
    for (int i = 0; i < kCount / 2; ++i) sums[i] = SumNeighbours(sums[2 * i], sums[2 * i + 1]);
    SumAllNeighbours<kCount / 2>(sums);
  }
}

/// Computes kLanes rows of kDepth elements that follow each other. `column`: again and again.
template <int kDepth>
[[gnu::always_inline]] static inline Floats SumShortRows(const float* a, Floats column) {
  Floats sums[kDepth];
  TENON_UNROLL
  for (int i = 0; i < kDepth; ++i) sums[i] = Load<kLanes>(a + i * kLanes) * column;
  SumAllNeighbours<kDepth>(sums);
  return sums[0];
}

/// Computes whole vectors of rows and returns how many rows that was.
template <int kDepth>
static int MultiplyShortRows(const ColumnCall& call) {
  if constexpr (kDepth > kLanes) {
    return static_cast<void>(call), 0;
  } else {
    float repeated[kLanes];
    for (int i = 0; i < kLanes; ++i) repeated[i] = call.column[i % kDepth];
    const Floats column = Load<kLanes>(repeated);
    int row = 0;
    for (; row + kLanes <= call.rows; row += kLanes) {
      Store<kLanes>(call.y + row, SumShortRows<kDepth>(call.a + int64_t{row} * kDepth, column));
    }
    return row;
  }
}

/// Contains the sums of four rows' products with the column.
struct RowSums {
  Floats sums[4] = {};

  template <bool kPartial>
  [[gnu::always_inline]] void Add(const float* a, int64_t step, const float* column,
                                  const Lanes<kLanes, kPartial>& lanes) {
    const Floats x = lanes.Get(column);
    TENON_UNROLL
    for (int r = 0; r < 4; ++r) sums[r] += lanes.Get(a + r * step) * x;
  }
};

static float SumOfProducts(const ColumnCall& call, const float* a) {
  Floats sum = {};
  int k = 0;
  for (; k + kLanes <= call.depth; k += kLanes) {
    sum += Load<kLanes>(a + k) * Load<kLanes>(call.column + k);
  }
  if (k < call.depth) {
    const int left = call.depth - k;
    sum += LoadFirst<kLanes>(a + k, left) * LoadFirst<kLanes>(call.column + k, left);
  }
  return FoldLanes(sum, [](auto x, auto y) { return x + y; });
}

static void RunColumn(const ColumnCall& call) {
  int row = 0;
  if (call.a_step == call.depth) {
    if (call.depth == 4) row = MultiplyShortRows<4>(call);
    if (call.depth == 8) row = MultiplyShortRows<8>(call);
    if (call.depth == 16) row = MultiplyShortRows<16>(call);
  }
  for (; row + 4 <= call.rows; row += 4) {
    const float* a = call.a + row * call.a_step;
    RowSums rows;
    int k = 0;
    for (; k + kLanes <= call.depth; k += kLanes) {
      rows.Add(a + k, call.a_step, call.column + k, Lanes<kLanes, false>{kLanes});
    }
    if (k < call.depth) {
      rows.Add(a + k, call.a_step, call.column + k, Lanes<kLanes, true>{call.depth - k});
    }
    TENON_UNROLL
    for (int r = 0; r < 4; ++r) {
      call.y[row + r] = FoldLanes(rows.sums[r], [](auto x, auto y) { return x + y; });
    }
  }
  for (; row < call.rows; ++row) call.y[row] = SumOfProducts(call, call.a + row * call.a_step);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
