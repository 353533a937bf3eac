// Normalises rows, whose elements are in lanes.
#pragma once

#include "backends/cpu/kernels/f32/simd/softmax.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Returns the sum of term(x) of a row's elements, in four sums of lanes.
template <typename Term>
[[gnu::always_inline]] static inline float SumOfRow(const float* x, int count, const Term& term) {
  Floats sums[4] = {};
  int i = 0;
  for (; i + 4 * kLanes <= count; i += 4 * kLanes) {
    TENON_UNROLL
    for (int s = 0; s < 4; ++s) sums[s] += term(Load<kLanes>(x + i + s * kLanes));
  }
  for (; i + kLanes <= count; i += kLanes) sums[0] += term(Load<kLanes>(x + i));
  float rest = 0.0F;
  for (; i < count; ++i) rest += term(Floats{} + x[i])[0];
  return SumOfLanes((sums[0] + sums[1]) + (sums[2] + sums[3])) + rest;
}

template <bool kBias>
static void NormaliseRow(const LayerNormCall& call, const float* x, float* y) {
  const auto elements = static_cast<float>(call.count);
  const float mean =
      call.rms ? 0.0F : SumOfRow(x, call.count, [](Floats v) { return v; }) / elements;
  const Floats means = Floats{} + mean;
  const float squares =
      SumOfRow(x, call.count, [&](Floats v) { return (v - means) * (v - means); });
  const float factor = 1.0F / __builtin_sqrtf(squares / elements + call.epsilon);
  int i = 0;
  for (; i + kLanes <= call.count; i += kLanes) {
    Floats value = (Load<kLanes>(x + i) - means) * factor * Load<kLanes>(call.scale + i);
    if constexpr (kBias) value += Load<kLanes>(call.bias + i);
    Store<kLanes>(y + i, value);
  }
  for (; i < call.count; ++i) {
    y[i] = (x[i] - mean) * factor * call.scale[i] + (kBias ? call.bias[i] : 0.0F);
  }
}

static void RunLayerNorm(const LayerNormCall& call) {
  for (int row = 0; row < call.rows; ++row) {
    const float* x = call.x + row * call.x_step;
    float* y = call.y + row * call.y_step;
    if (call.bias != nullptr) {
      NormaliseRow<true>(call, x, y);
    } else {
      NormaliseRow<false>(call, x, y);
    }
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
