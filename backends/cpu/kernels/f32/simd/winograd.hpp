// Computes the transforms of inputs and outputs of Winograd's minimal filtering F(4x4, 3x3), with
// channels in lanes.
//
// The matrices are those of Lavin and Gray, "Fast Algorithms for Convolutional Neural Networks"
// (2015), section 4.3, for the points 0, 1, -1, 2, -2 and infinity.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Multiplies a column of six by B transposed.
template <typename V>
[[gnu::always_inline]] static inline void InputColumn(const V* d, V* t) {
  const V even = d[4] - 4.0F * d[2];
  const V odd = d[3] - 4.0F * d[1];
  const V even_two = d[4] - d[2];
  const V odd_two = 2.0F * (d[3] - d[1]);
  t[0] = 4.0F * d[0] - 5.0F * d[2] + d[4];
  t[1] = even + odd;
  t[2] = even - odd;
  t[3] = even_two + odd_two;
  t[4] = even_two - odd_two;
  t[5] = 4.0F * d[1] - 5.0F * d[3] + d[5];
}

/// Multiplies a column of six by A transposed.
template <typename V>
[[gnu::always_inline]] static inline void OutputColumn(const V* m, V* t) {
  const V sum = m[1] + m[2];
  const V difference = m[1] - m[2];
  const V sum_two = m[3] + m[4];
  const V difference_two = m[3] - m[4];
  t[0] = m[0] + sum + sum_two;
  t[1] = difference + 2.0F * difference_two;
  t[2] = sum + 4.0F * sum_two;
  t[3] = difference + 8.0F * difference_two + m[5];
}

template <int kCount, bool kPartial>
[[gnu::always_inline]] static inline void InputLanes(const WinogradInputCall& call, int channel) {
  using V = Vector<kCount>;
  V columns[6][6];  // [column][row of the transform]
  TENON_UNROLL
  for (int c = 0; c < 6; ++c) {
    V d[6];
    TENON_UNROLL
    for (int r = 0; r < 6; ++r) {
      const float* from = call.rows[r * 6 + c] + channel;
      if constexpr (kPartial) {
        d[r] = LoadFirst<kCount>(from, call.channels - channel);
      } else {
        d[r] = Load<kCount>(from);
      }
    }
    InputColumn(d, columns[c]);
  }
  TENON_UNROLL
  for (int r = 0; r < 6; ++r) {
    const V row[6] = {columns[0][r], columns[1][r], columns[2][r],
                      columns[3][r], columns[4][r], columns[5][r]};
    V t[6];
    InputColumn(row, t);
    TENON_UNROLL
    for (int c = 0; c < 6; ++c) {
      Store<kCount>(call.coefficients + (r * 6 + c) * call.coefficient_step + channel, t[c]);
    }
  }
}

static void RunWinogradInput(const WinogradInputCall& call) {
  int channel = 0;
  for (; channel + kLanes <= call.channels; channel += kLanes)
    InputLanes<kLanes, false>(call, channel);
  if (channel < call.channels) InputLanes<kLanes, true>(call, channel);
}

template <int kCount>
[[gnu::always_inline]] static inline void OutputLanes(const WinogradOutputCall& call, int first) {
  using V = Vector<kCount>;
  V columns[6][4];
  TENON_UNROLL
  for (int c = 0; c < 6; ++c) {
    V m[6];
    TENON_UNROLL
    for (int r = 0; r < 6; ++r) {
      m[r] = Load<kCount>(call.coefficients + (r * 6 + c) * call.coefficient_step + first);
    }
    OutputColumn(m, columns[c]);
  }
  const V bias = Load<kCount>(call.bias + first);
  const Bounds<kCount> bounds(call.low, call.high);
  const int left = call.channels - first;
  TENON_UNROLL
  for (int r = 0; r < 4; ++r) {
    if (r >= call.y_rows) break;
    const V row[6] = {columns[0][r], columns[1][r], columns[2][r],
                      columns[3][r], columns[4][r], columns[5][r]};
    V t[4];
    OutputColumn(row, t);
    TENON_UNROLL
    for (int c = 0; c < 4; ++c) {
      if (c >= call.y_columns) break;
      float* y = call.y + r * call.y_row_step + c * call.y_step + first;
      V sum = t[c] + bias;
      if (call.residual != nullptr) {
        const float* residual =
            call.residual + r * call.residual_row_step + c * call.residual_step + first;
        sum += left >= kCount ? Load<kCount>(residual) : LoadFirst<kCount>(residual, left);
      }
      sum = bounds.Clamp(sum);
      if (left >= kCount) {
        Store<kCount>(y, sum);
      } else {
        StoreFirst<kCount>(y, sum, left);
      }
    }
  }
}

static void RunWinogradOutput(const WinogradOutputCall& call) {
  int first = 0;
  for (; first + kLanes <= call.width && first < call.channels; first += kLanes) {
    OutputLanes<kLanes>(call, first);
  }
  if constexpr (kLanes > kWidthStep) {
    if (first < call.channels) OutputLanes<kWidthStep>(call, first);
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
