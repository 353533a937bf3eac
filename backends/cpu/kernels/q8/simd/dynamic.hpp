// What products whose first factor gets its range at run time take beside the sums.
#pragma once

#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::TENON_Q8_ISA {

using RangeFloats [[gnu::vector_size(TENON_BYTES_WIDTH)]] = float;
constexpr int kRangeLanes = TENON_BYTES_WIDTH / 4;

/// Bounds that vectors hold, lane by lane.
struct RangeLanes {
  RangeFloats least;
  RangeFloats most;

  [[gnu::always_inline]] inline void Add(const float* x) {
    RangeFloats value;
    __builtin_memcpy(&value, x, sizeof value);
    least = value < least ? value : least;
    most = value > most ? value : most;
  }
};

static void RunRange(const float* x, int count, float* bounds) {
  int i = 0;
  if (count >= kRangeLanes) {
    // Four chains hide how long a comparison takes; the bounds themselves hold.
    const RangeLanes start = {RangeFloats{} + bounds[0], RangeFloats{} + bounds[1]};
    RangeLanes lanes[4] = {start, start, start, start};
    for (; i + 4 * kRangeLanes <= count; i += 4 * kRangeLanes) {
      for (int k = 0; k < 4; ++k) lanes[k].Add(x + i + k * kRangeLanes);
    }
    for (; i + kRangeLanes <= count; i += kRangeLanes) lanes[0].Add(x + i);
    lanes[1].Add(x + count - kRangeLanes);  // the last ones, some of them again
    RangeFloats least = lanes[0].least;
    RangeFloats most = lanes[0].most;
    for (int k = 1; k < 4; ++k) {
      least = lanes[k].least < least ? lanes[k].least : least;
      most = lanes[k].most > most ? lanes[k].most : most;
    }
    float leasts[kRangeLanes];
    float mosts[kRangeLanes];
    __builtin_memcpy(leasts, &least, sizeof leasts);
    __builtin_memcpy(mosts, &most, sizeof mosts);
    for (int half = kRangeLanes / 2; half > 0; half /= 2) {
      for (int k = 0; k < half; ++k) {
        leasts[k] = leasts[k + half] < leasts[k] ? leasts[k + half] : leasts[k];
        mosts[k] = mosts[k + half] > mosts[k] ? mosts[k + half] : mosts[k];
      }
    }
    bounds[0] = leasts[0];
    bounds[1] = mosts[0];
    return;
  }
  for (; i < count; ++i) {
    bounds[0] = x[i] < bounds[0] ? x[i] : bounds[0];
    bounds[1] = x[i] > bounds[1] ? x[i] : bounds[1];
  }
}

template <typename Bias>
[[gnu::always_inline]] static inline void ScaleAll(const ScaleSumsCall& call, const Bias& bias) {
  float* y = call.y;
  const int32_t* column_sums = call.column_sums;
  const float* factors = call.factors;
  const auto zero_point = static_cast<uint32_t>(call.zero_point);
  const float scale = call.scale;
  const int count = call.count;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    uint32_t sum = 0;
    __builtin_memcpy(&sum, y + i, sizeof sum);
    sum -= zero_point * static_cast<uint32_t>(column_sums[i]);
    y[i] = bias(static_cast<float>(static_cast<int32_t>(sum)) * (scale * factors[i]), i);
  }
}

static void RunScaleSums(const ScaleSumsCall& call) {
  const float* bias = call.bias;
  if (bias == nullptr) return ScaleAll(call, [](float value, int) { return value; });
  ScaleAll(call, [=](float value, int i) { return value + bias[i]; });
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
