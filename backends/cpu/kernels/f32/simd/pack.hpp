// Packs columns of a matrix beside each other, as register tiles read them.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Returns vectors of four floats that lie `step` apart as one.
template <int kCount>
[[gnu::always_inline]] static inline Vector<kCount> LoadFours(const float* from, int64_t step) {
  if constexpr (kCount == 4) {
    return Load<4>(from);
  } else if constexpr (kCount == 8) {
    return __builtin_shufflevector(Load<4>(from), Load<4>(from + step), 0, 1, 2, 3, 4, 5, 6, 7);
  } else {
    return __builtin_shufflevector(LoadFours<8>(from, step), LoadFours<8>(from + 2 * step, step), 0,
                                   1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  }
}

/// Interleaves the first, or with `kHigh` the last, two floats of every four of x and y.
template <int kCount, bool kHigh>
[[gnu::always_inline]] static inline Vector<kCount> Interleave(Vector<kCount> x, Vector<kCount> y) {
  constexpr int h = kHigh ? 2 : 0;
  constexpr int n = kCount + h;
  if constexpr (kCount == 4) {
    return __builtin_shufflevector(x, y, h, n, h + 1, n + 1);
  } else if constexpr (kCount == 8) {
    return __builtin_shufflevector(x, y, h, n, h + 1, n + 1, h + 4, n + 4, h + 5, n + 5);
  } else {
    return __builtin_shufflevector(x, y, h, n, h + 1, n + 1, h + 4, n + 4, h + 5, n + 5, h + 8,
                                   n + 8, h + 9, n + 9, h + 12, n + 12, h + 13, n + 13);
  }
}

/// Joins the first, or with `kHigh` the last, two floats of every four of x with those of y.
template <int kCount, bool kHigh>
[[gnu::always_inline]] static inline Vector<kCount> JoinPairs(Vector<kCount> x, Vector<kCount> y) {
  constexpr int h = kHigh ? 2 : 0;
  constexpr int n = kCount + h;
  if constexpr (kCount == 4) {
    return __builtin_shufflevector(x, y, h, h + 1, n, n + 1);
  } else if constexpr (kCount == 8) {
    return __builtin_shufflevector(x, y, h, h + 1, n, n + 1, h + 4, h + 5, n + 4, n + 5);
  } else {
    return __builtin_shufflevector(x, y, h, h + 1, n, n + 1, h + 4, h + 5, n + 4, n + 5, h + 8,
                                   h + 9, n + 8, n + 9, h + 12, h + 13, n + 12, n + 13);
  }
}

/// Stores `kCount` columns of four neighbours each as four rows.
template <int kCount>
[[gnu::always_inline]] static inline void TransposeRows(const float* from, int64_t column_step,
                                                        float scale, int column,
                                                        float* const* rows) {
  Vector<kCount> columns[4];
  TENON_UNROLL
  for (int c = 0; c < 4; ++c) {
    columns[c] = LoadFours<kCount>(from + c * column_step, 4 * column_step) * scale;
  }
  const Vector<kCount> low[2] = {Interleave<kCount, false>(columns[0], columns[1]),
                                 Interleave<kCount, false>(columns[2], columns[3])};
  const Vector<kCount> high[2] = {Interleave<kCount, true>(columns[0], columns[1]),
                                  Interleave<kCount, true>(columns[2], columns[3])};
  Store<kCount>(rows[0] + column, JoinPairs<kCount, false>(low[0], low[1]));
  Store<kCount>(rows[1] + column, JoinPairs<kCount, true>(low[0], low[1]));
  Store<kCount>(rows[2] + column, JoinPairs<kCount, false>(high[0], high[1]));
  Store<kCount>(rows[3] + column, JoinPairs<kCount, true>(high[0], high[1]));
}

/// Counts through the rows of a matrix, and says where each is packed.
class PackedRows {
 public:
  explicit PackedRows(const PackCall& call)
      : to_(call.to), taps_(call.taps), step_(call.to_step), tap_floats_(call.depth * step_) {}

  [[nodiscard]] float* Next() {
    float* row = to_ + tap_ * tap_floats_;
    if (++tap_ == taps_) {
      tap_ = 0;
      to_ += step_;
    }
    return row;
  }

 private:
  float* to_;
  int tap_ = 0;
  int taps_;
  int64_t step_;
  int64_t tap_floats_;
};

/// Packs four rows of a matrix whose columns are of neighbours.
static inline void PackFourRows(const PackCall& call, const float* from, float* const* rows) {
  int c = 0;
  for (; c + kLanes <= call.count; c += kLanes) {
    TransposeRows<kLanes>(from + c * call.column_step, call.column_step, call.scale, c, rows);
  }
  if constexpr (kLanes > 4) {
    for (; c + 4 <= call.count; c += 4) {
      TransposeRows<4>(from + c * call.column_step, call.column_step, call.scale, c, rows);
    }
  }
  for (; c < call.count; ++c) {
    for (int i = 0; i < 4; ++i) rows[i][c] = from[c * call.column_step + i] * call.scale;
  }
  for (; c < call.width; ++c) {
    for (int i = 0; i < 4; ++i) rows[i][c] = 0.0F;
  }
}

static inline void PackRow(const PackCall& call, const float* from, float* row) {
  int c = 0;
  if (call.column_step == 1) {
    for (; c + kLanes <= call.count; c += kLanes) {
      Store<kLanes>(row + c, Load<kLanes>(from + c) * call.scale);
    }
  }
  for (; c < call.count; ++c) row[c] = from[c * call.column_step] * call.scale;
  for (; c < call.width; ++c) row[c] = 0.0F;
}

static void RunPack(const PackCall& packed) {
  const PackCall call = packed;  // what is stored may be anything, `packed` too
  const int count = call.depth * call.taps;
  PackedRows rows(call);
  int row = 0;
  if (call.row_step == 1) {
    for (; row + 4 <= count; row += 4) {
      float* const four[4] = {rows.Next(), rows.Next(), rows.Next(), rows.Next()};
      PackFourRows(call, call.from + row, four);
    }
  }
  for (; row < count; ++row) PackRow(call, call.from + row * call.row_step, rows.Next());
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
