// Multiplies a few rows by a matrix in the order in which the matrix lies in memory: each of its
// elements is used once a row, so that reading it is all that counts, and prefetchers follow a
// stream. Sums wait in y, which is in the first-level cache.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Adds the products of kDepth elements of each row, from k on, to the sums of the lanes from c on.
template <int kRows, int kDepth, bool kPartial>
[[gnu::always_inline]] static inline void AddProducts(const FewRowsCall& call, int64_t k, int64_t c,
                                                      const Lanes<kLanes, kPartial>& lanes) {
  const float* weights = call.weights + k * call.weight_step + c;
  Floats columns[kDepth];
  TENON_UNROLL
  for (int i = 0; i < kDepth; ++i) {
    __builtin_prefetch(weights + (i + kDepth) * call.weight_step, 0, 2);
    columns[i] = lanes.Get(weights + i * call.weight_step);
  }
  TENON_UNROLL
  for (int r = 0; r < kRows; ++r) {
    const float* x = call.x + r * call.x_step + k;
    Floats sum = columns[0] * x[0];
    TENON_UNROLL
    for (int i = 1; i < kDepth; ++i) sum += columns[i] * x[i];
    float* y = call.y + r * call.y_step + c;
    lanes.Put(y, lanes.Get(y) + sum);
  }
}

/// Does so for all lanes.
template <int kRows, int kDepth>
static void AddRows(const FewRowsCall& call, int64_t k) {
  int64_t c = 0;
  for (; c + kLanes <= call.columns; c += kLanes) {
    AddProducts<kRows, kDepth>(call, k, c, Lanes<kLanes, false>{kLanes});
  }
  const int left = static_cast<int>(call.columns - c);
  if (left > 0) AddProducts<kRows, kDepth>(call, k, c, Lanes<kLanes, true>{left});
}

template <int kRows>
static void MultiplyRows(const FewRowsCall& call) {
  constexpr int kDepth = 4;
  for (int r = 0; r < kRows; ++r) {
    float* y = call.y + r * call.y_step;
    for (int c = 0; c < call.columns; ++c) y[c] = call.bias == nullptr ? 0.0F : call.bias[c];
  }
  int64_t k = 0;
  for (; k + kDepth <= call.depth; k += kDepth) AddRows<kRows, kDepth>(call, k);
  for (; k < call.depth; ++k) AddRows<kRows, 1>(call, k);
  for (int r = 0; r < kRows; ++r) {
    float* y = call.y + r * call.y_step;
    for (int c = 0; c < call.columns; ++c) {
      const float raised = y[c] < call.low ? call.low : y[c];
      y[c] = raised > call.high ? call.high : raised;
    }
  }
}

static void RunFewRows(const FewRowsCall& call) {
  static_assert(kMostFewRows == 3);
  if (call.rows == 1) return MultiplyRows<1>(call);
  if (call.rows == 2) return MultiplyRows<2>(call);
  MultiplyRows<3>(call);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
