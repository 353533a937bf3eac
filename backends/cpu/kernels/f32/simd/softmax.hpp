// Computes softmax of rows: long rows have their elements in lanes, short ones one row per lane.
#pragma once

#include "backends/cpu/kernels/f32/simd/activate.hpp"
#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

constexpr float kLowest = -__builtin_inff();

/// Returns exp of x <= 0; 0 where that is below the smallest normal number.
[[gnu::always_inline]] static inline Floats ExpOfNegative(Floats x) {
  constexpr float kLogOfSmallest = -87.3365F;
  const Floats zeros = {};
  const Floats lowest = zeros + kLogOfSmallest;
  const Floats result = ExpOfModerate(Raised<kLanes>(x, lowest));
  return x < lowest ? zeros : result;
}

/// Returns log of a normal number of at least 1, or of NaN.
[[gnu::always_inline]] static inline Floats LogOfSum(Floats x) {
  return x != x ? x : LogOfNormal(x, Integers{});
}

/// Returns the larger of both. It ignores a NaN in `values`, since the sum will show it.
[[gnu::always_inline]] static inline Floats Larger(Floats values, Floats largest) {
  return Raised<kLanes>(largest, values);
}

/// `count` is at least kLanes, here and below: the last vector of a row overlaps the one before.
static float LargestOf(const float* x, int count) {
  Floats largest = Larger(Load<kLanes>(x + count - kLanes), Floats{} + kLowest);
  for (int i = 0; i + kLanes <= count; i += kLanes) largest = Larger(Load<kLanes>(x + i), largest);
  return FoldLanes(largest, [](auto a, auto b) { return a > b ? a : b; });
}

static float SumOfLanes(Floats values) {
  return FoldLanes(values, [](auto a, auto b) { return a + b; });
}

/// Returns the last `count` lanes; the others are 0.
[[gnu::always_inline]] static inline Floats LastLanes(Floats values, int count) {
  Integers lane;
  for (int i = 0; i < kLanes; ++i) lane[i] = i;
  return lane >= kLanes - count ? values : Floats{};
}

/// Returns the sum of exp(x - largest), and stores these in y unless it is null.
template <bool kStore>
static float SumOfExponentials(const float* x, float largest, float* y, int count) {
  const Floats last = Load<kLanes>(x + count - kLanes);  // before y, which may be x, is written
  Floats sum = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const Floats values = ExpOfNegative(Load<kLanes>(x + i) - largest);
    sum += values;
    if constexpr (kStore) Store<kLanes>(y + i, values);
  }
  if (i < count) {
    const Floats values = ExpOfNegative(last - largest);
    sum += LastLanes(values, count - i);
    if constexpr (kStore) Store<kLanes>(y + count - kLanes, values);
  }
  return SumOfLanes(sum);
}

static void SoftmaxLongRow(const float* x, float* y, int count) {
  const float sum = SumOfExponentials<true>(x, LargestOf(x, count), y, count);
  const float scale = 1.0F / sum;
  const Floats last = Load<kLanes>(y + count - kLanes) * scale;
  for (int i = 0; i + kLanes <= count; i += kLanes) {
    Store<kLanes>(y + i, Load<kLanes>(y + i) * scale);
  }
  Store<kLanes>(y + count - kLanes, last);
}

static void LogSoftmaxLongRow(const float* x, float* y, int count) {
  const float largest = LargestOf(x, count);
  const Floats sum = SumOfExponentials<false>(x, largest, nullptr, count) + Floats{};
  const float log_sum = LogOfSum(sum)[0];
  const Floats last = (Load<kLanes>(x + count - kLanes) - largest) - log_sum;
  for (int i = 0; i + kLanes <= count; i += kLanes) {
    Store<kLanes>(y + i, (Load<kLanes>(x + i) - largest) - log_sum);
  }
  Store<kLanes>(y + count - kLanes, last);
}

/// Works in place: element i of every row is at lanes[i * kLanes].
template <bool kLog>
static void SoftmaxOfLanes(float* lanes, int count) {
  Floats largest = Load<kLanes>(lanes);
  for (int i = 1; i < count; ++i) largest = Larger(Load<kLanes>(lanes + i * kLanes), largest);
  Floats sum = {};
  for (int i = 0; i < count; ++i) {
    const Floats lowered = Load<kLanes>(lanes + i * kLanes) - largest;
    const Floats exponential = ExpOfNegative(lowered);
    sum += exponential;
    Store<kLanes>(lanes + i * kLanes, kLog ? lowered : exponential);
  }
  const Floats last = kLog ? LogOfSum(sum) : 1.0F / sum;
  for (int i = 0; i < count; ++i) {
    const Floats values = Load<kLanes>(lanes + i * kLanes);
    Store<kLanes>(lanes + i * kLanes, kLog ? values - last : values * last);
  }
}

/// Computes up to kLanes rows at once, through a buffer that turns rows into lanes.
static void SoftmaxShortRows(const SoftmaxCall& call, int first, int rows) {
  float lanes[kShortRow * kLanes];
  const float* x = call.x + first * call.x_step;
  for (int i = 0; i < call.count; ++i) {
    for (int r = 0; r < rows; ++r) lanes[i * kLanes + r] = x[r * call.x_step + i];
    for (int r = rows; r < kLanes; ++r) lanes[i * kLanes + r] = 0.0F;
  }
  if (call.log) {
    SoftmaxOfLanes<true>(lanes, call.count);
  } else {
    SoftmaxOfLanes<false>(lanes, call.count);
  }
  float* y = call.y + first * call.y_step;
  for (int i = 0; i < call.count; ++i) {
    for (int r = 0; r < rows; ++r) y[r * call.y_step + i] = lanes[i * kLanes + r];
  }
}

/// Computes kLanes columns at once, or of fewer the first: element i of all is at x + i * stride.
template <bool kLog, bool kPartial>
static void SoftmaxColumns(const SoftmaxCall& call, int first,
                           const Lanes<kLanes, kPartial>& lanes) {
  const float* const x = call.x + first;
  float* const y = call.y + first;
  Floats largest = lanes.Get(x);
  for (int i = 1; i < call.count; ++i) largest = Larger(lanes.Get(x + i * call.stride), largest);
  Floats sum = {};
  for (int i = 0; i < call.count; ++i) {
    const Floats lowered = lanes.Get(x + i * call.stride) - largest;
    const Floats exponential = ExpOfNegative(lowered);
    sum += exponential;
    lanes.Put(y + i * call.stride, kLog ? lowered : exponential);
  }
  const Floats last = kLog ? LogOfSum(sum) : 1.0F / sum;
  for (int i = 0; i < call.count; ++i) {
    const Floats values = lanes.Get(y + i * call.stride);
    lanes.Put(y + i * call.stride, kLog ? values - last : values * last);
  }
}

template <bool kLog>
static void SoftmaxOfColumns(const SoftmaxCall& call) {
  int first = 0;
  for (; first + kLanes <= call.rows; first += kLanes) {
    SoftmaxColumns<kLog>(call, first, Lanes<kLanes, false>{kLanes});
  }
  const int left = call.rows - first;
  if (left > 0) SoftmaxColumns<kLog>(call, first, Lanes<kLanes, true>{left});
}

static void RunSoftmax(const SoftmaxCall& call) {
  if (call.stride != 0) {
    return call.log ? SoftmaxOfColumns<true>(call) : SoftmaxOfColumns<false>(call);
  }
  if (call.count <= kShortRow) {
    for (int row = 0; row < call.rows; row += kLanes) {
      const int left = call.rows - row;
      SoftmaxShortRows(call, row, left < kLanes ? left : kLanes);
    }
    return;
  }
  for (int row = 0; row < call.rows; ++row) {
    const float* x = call.x + row * call.x_step;
    float* y = call.y + row * call.y_step;
    if (call.log) {
      LogSoftmaxLongRow(x, y, call.count);
    } else {
      SoftmaxLongRow(x, y, call.count);
    }
  }
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
