// Sums of floats over the lanes of a reduction.
//
// Eight elements are summed by halves, ((a + b) + (c + d)) + ..., and such sums are added in f64.
// Rounding errors are then those of three additions, however long the sum is, and equal elements of
// f32 add up exactly: their mean is the element itself. A normalisation written out as ops
// subtracts that mean and divides what is left by the square root of its (no) variance. In which
// order elements join depends on the shapes alone: threads change no bit.
#pragma once

#include <cmath>
#include <cstddef>

#include "backends/cpu/kernels/portable/reduce/reduce_plan.hpp"
#include "backends/cpu/kernels/portable/strided.hpp"

namespace tenon::cpu::portable {

// What is summed of an element.
struct Itself {
  template <typename T>
  static T Of(T value, T /*shift*/) {
    return value;
  }
};
struct Magnitude {
  template <typename T>
  static T Of(T value, T /*shift*/) {
    return value < 0 ? -value : value;
  }
};
struct Square {
  template <typename T>
  static T Of(T value, T /*shift*/) {
    return value * value;
  }
};
struct Exponential {
  template <typename T>
  static T Of(T value, T shift) {
    return std::exp(value - shift);
  }
};

/// Is the number of elements that are summed by halves.
inline constexpr int kSumBlock = 8;

/// Sums kSumBlock elements, `step` apart.
template <typename Term, typename T>
[[gnu::always_inline]] inline T SumOfBlock(const T* x, ptrdiff_t step, T shift) {
  const T a = Term::Of(x[0], shift) + Term::Of(x[step], shift);
  const T b = Term::Of(x[2 * step], shift) + Term::Of(x[3 * step], shift);
  const T c = Term::Of(x[4 * step], shift) + Term::Of(x[5 * step], shift);
  const T d = Term::Of(x[6 * step], shift) + Term::Of(x[7 * step], shift);
  return (a + b) + (c + d);
}

/// Adds a run of kReduceLanes lanes that are neighbours.
template <typename Term, typename T>
[[gnu::noinline]] void AddRunsOfLanes(const ReducePlan& plan, const T* x, const T* shifts,
                                      double* sums) {
  const ptrdiff_t step = plan.run_x;
  int i = 0;
  for (; i + kSumBlock <= plan.run_dim; i += kSumBlock, x += kSumBlock * step) {
    T block[kReduceLanes];
    TENON_INDEPENDENT_LOOP
    for (int lane = 0; lane < kReduceLanes; ++lane) {
      block[lane] = SumOfBlock<Term>(x + lane, step, shifts[lane]);
    }
    for (int lane = 0; lane < kReduceLanes; ++lane) sums[lane] += block[lane];
  }
  for (; i < plan.run_dim; ++i, x += step) {
    for (int lane = 0; lane < kReduceLanes; ++lane) sums[lane] += Term::Of(x[lane], shifts[lane]);
  }
}

/// Sums a run of one lane of fewer than two blocks.
template <typename Term, typename T>
[[gnu::always_inline]] inline double SumOfShortRun(const T* x, ptrdiff_t step, int count, T shift) {
  double sum = 0;
  int i = 0;
  if (count >= kSumBlock) {
    sum += SumOfBlock<Term>(x, step, shift);
    i = kSumBlock;
  }
  for (; i < count; ++i) sum += Term::Of(x[i * step], shift);
  return sum;
}

/// Sums a run of one lane, `stride` apart unless kNeighbours: eight sums side by side, which fit
/// into vectors where the elements are neighbours, and need not wait for each other. It has two
/// blocks and more.
template <typename Term, bool kNeighbours, typename T>
[[gnu::noinline]] double SumOfRun(const T* x, ptrdiff_t stride, int count, T shift) {
  const ptrdiff_t step = kNeighbours ? 1 : stride;
  double sides[kSumBlock] = {};
  int i = 0;
  for (; i + kSumBlock * kSumBlock <= count; i += kSumBlock * kSumBlock) {
    T block[kSumBlock];
    for (int side = 0; side < kSumBlock; ++side) {
      block[side] = SumOfBlock<Term>(x + side * step, kSumBlock * step, shift);
    }
    for (int side = 0; side < kSumBlock; ++side) sides[side] += block[side];
    x += kSumBlock * kSumBlock * step;
  }
  for (int side = 0; i + kSumBlock <= count; ++side, i += kSumBlock, x += kSumBlock * step) {
    sides[side] += SumOfBlock<Term>(x, step, shift);
  }
  double sum = ((sides[0] + sides[1]) + (sides[2] + sides[3])) +
               ((sides[4] + sides[5]) + (sides[6] + sides[7]));
  for (; i < count; ++i, x += step) sum += Term::Of(*x, shift);
  return sum;
}

/// Adds short runs, for which a call each would take longer than the sum.
template <typename Term, typename T>
[[gnu::noinline]] void AddShortRuns(const ReducePlan& plan, const T* x, int lanes, const T* shifts,
                                    double* sums) {
  const ptrdiff_t step = plan.run_x;
  const ptrdiff_t next = plan.lane_x;
  const int count = plan.run_dim;
  for (int lane = 0; lane < lanes; ++lane, x += next) {
    sums[lane] += SumOfShortRun<Term>(x, step, count, shifts[lane]);
  }
}

/// Sums a block of lanes whose first elements start at `x`; `shifts` and `sums` have kReduceLanes.
template <typename Term, typename T>
void SumLanes(const ReducePlan& plan, const T* x, int lanes, const T* shifts, double* sums) {
  for (int lane = 0; lane < kReduceLanes; ++lane) sums[lane] = 0;
  const bool is_whole = plan.lane_x == 1 && lanes == kReduceLanes;
  ForEachRun(plan, [&](ptrdiff_t offset) {
    if (is_whole) return AddRunsOfLanes<Term>(plan, x + offset, shifts, sums);
    if (plan.run_dim < 2 * kSumBlock)
      return AddShortRuns<Term>(plan, x + offset, lanes, shifts, sums);
    for (int lane = 0; lane < lanes; ++lane) {
      const T* run = x + offset + lane * plan.lane_x;
      sums[lane] += plan.run_x == 1
                        ? SumOfRun<Term, true>(run, 1, plan.run_dim, shifts[lane])
                        : SumOfRun<Term, false>(run, plan.run_x, plan.run_dim, shifts[lane]);
    }
  });
}

}  // namespace tenon::cpu::portable
