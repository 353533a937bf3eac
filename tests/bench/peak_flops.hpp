// The most float32 operations a second that one core of this processor can do: independent fused
// multiply-adds in the widest registers it has.
#pragma once

#include <algorithm>
#include <chrono>

namespace tenon {

#if defined(__x86_64__) && defined(__GNUC__)

template <typename Vector>
[[gnu::always_inline]] inline double MultiplyAddRate() {
  constexpr int kChains = 12;  // more than latency times units, fewer than registers
  constexpr int kSteps = 200000;
  constexpr int kLanes = static_cast<int>(sizeof(Vector) / sizeof(float));
  Vector sums[kChains] = {};
  Vector factor = Vector{} + 0.999F;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSteps; ++i) {
#pragma GCC unroll 12
    for (Vector& sum : sums) {
      sum = sum * factor + factor;
      asm volatile("" : "+v"(sum));  // else the compiler finds a closed form
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return 2.0 * kLanes * kChains * kSteps / seconds.count();
}

[[gnu::target("avx512f"), gnu::noinline]] inline double MultiplyAddRate512() {
  typedef float Vector __attribute__((vector_size(64)));
  return MultiplyAddRate<Vector>();
}

[[gnu::target("avx2,fma"), gnu::noinline]] inline double MultiplyAddRate256() {
  typedef float Vector __attribute__((vector_size(32)));
  return MultiplyAddRate<Vector>();
}

/// Operations a second; 0 if this processor is not one that can be measured.
inline double PeakFlops() {
  double best = 0.0;
  for (int i = 0; i < 10; ++i) {
    if (__builtin_cpu_supports("avx512f")) {
      best = std::max(best, MultiplyAddRate512());
    } else if (__builtin_cpu_supports("fma")) {
      best = std::max(best, MultiplyAddRate256());
    }
  }
  return best;
}

#else

inline double PeakFlops() { return 0.0; }

#endif

}  // namespace tenon
