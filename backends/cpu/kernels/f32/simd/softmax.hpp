// Computes softmax of rows: long rows have their elements in lanes, short ones one row per lane.
#pragma once

#include "backends/cpu/kernels/f32/simd/functions.hpp"
#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

constexpr float kLowest = -__builtin_inff();

/// Returns exp of x <= 0; 0 where that is below the smallest normal number.
[[gnu::always_inline]] static inline Floats ExpOfNegative(Floats x) {
  constexpr float kLogOfSmallest = -87.3365F;
  const Floats zeros = {};
  const Floats lowest = zeros + kLogOfSmallest;
#if TENON_F32_AVX512
  // Fewer instructions than by those that round and scale.
  const Floats raised = Raised<kLanes>(x, lowest);
  const Floats shifted = raised * 1.44269504F + kRounder;
  const Floats whole = shifted - kRounder;
  const Floats mantissa = ExpOfRest(RestOfExp(raised, whole));
  const __mmask16 is_normal = _mm512_cmp_ps_mask(x, lowest, _CMP_NLT_UQ);  // NaN stays NaN
  const __m512i exponent = _mm512_slli_epi32(reinterpret_cast<__m512i>(shifted), 23);
  return reinterpret_cast<Floats>(
      _mm512_maskz_add_epi32(is_normal, reinterpret_cast<__m512i>(mantissa), exponent));
#else
  const Floats result = ExpOfModerate(Raised<kLanes>(x, lowest));
  return x < lowest ? zeros : result;
#endif
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

static float SumOfExponentials(const float* x, float largest, int count) {
  Floats sum = {};
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) sum += ExpOfNegative(Load<kLanes>(x + i) - largest);
  if (i < count) {
    const Floats last = Load<kLanes>(x + count - kLanes);
    sum += LastLanes(ExpOfNegative(last - largest), count - i);
  }
  return SumOfLanes(sum);
}

/// Computes kRows rows at once, so that none waits for what folds the lanes of another.
template <int kRows>
static void SoftmaxLongRows(const SoftmaxCall& call, int first) {
  const int count = call.count;
  const float* x[kRows];
  float* y[kRows];
  Floats sums[kRows] = {};
  Floats largest[kRows];
  Floats last[kRows];  // read before y, which may be x, is written
  TENON_UNROLL
  for (int r = 0; r < kRows; ++r) {
    x[r] = call.x + (first + r) * call.x_step;
    y[r] = call.y + (first + r) * call.y_step;
    last[r] = Load<kLanes>(x[r] + count - kLanes);
    largest[r] = Larger(last[r], Floats{} + kLowest);
  }
  int i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) largest[r] = Larger(Load<kLanes>(x[r] + i), largest[r]);
  }
  TENON_UNROLL
  for (int r = 0; r < kRows; ++r) {
    largest[r] = FoldLanes(largest[r], [](auto a, auto b) { return a > b ? a : b; }) + Floats{};
  }
  for (i = 0; i + kLanes <= count; i += kLanes) {
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Floats values = ExpOfNegative(Load<kLanes>(x[r] + i) - largest[r]);
      sums[r] += values;
      Store<kLanes>(y[r] + i, values);
    }
  }
  TENON_UNROLL
  for (int r = 0; r < kRows; ++r) {
    last[r] = ExpOfNegative(last[r] - largest[r]);
    if (i < count) sums[r] += LastLanes(last[r], count - i);
    sums[r] = 1.0F / SumOfLanes(sums[r]) + Floats{};
  }
  for (i = 0; i + kLanes <= count; i += kLanes) {
    TENON_UNROLL
    for (int r = 0; r < kRows; ++r) Store<kLanes>(y[r] + i, Load<kLanes>(y[r] + i) * sums[r]);
  }
  TENON_UNROLL
  for (int r = 0; r < kRows; ++r) Store<kLanes>(y[r] + count - kLanes, last[r] * sums[r]);
}

static void LogSoftmaxLongRow(const float* x, float* y, int count) {
  const float largest = LargestOf(x, count);
  const Floats sum = SumOfExponentials(x, largest, count) + Floats{};
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
  if (call.log) {
    for (int row = 0; row < call.rows; ++row) {
      LogSoftmaxLongRow(call.x + row * call.x_step, call.y + row * call.y_step, call.count);
    }
    return;
  }
  int row = 0;
  for (; row + 2 <= call.rows; row += 2) SoftmaxLongRows<2>(call, row);
  if (row < call.rows) SoftmaxLongRows<1>(call, row);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
