// The most 8-bit multiply-accumulates a second that one core of this processor can do: independent
// VNNI instructions in the widest registers.
#pragma once

#include <algorithm>
#include <chrono>

namespace tenon {

#if defined(__x86_64__) && defined(__GNUC__)

/// In assembly: compilers keep an array of so many registers in memory.
inline double VnniRate512() {
  constexpr int kChains = 12;  // more than latency times units, fewer than registers
  constexpr int kSteps = 10000;
  constexpr int kProducts = 64;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kSteps; ++i) {
    asm volatile(
        "vpdpbusd %%zmm31, %%zmm31, %%zmm16\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm17\n\t"
        "vpdpbusd %%zmm31, %%zmm31, %%zmm18\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm19\n\t"
        "vpdpbusd %%zmm31, %%zmm31, %%zmm20\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm21\n\t"
        "vpdpbusd %%zmm31, %%zmm31, %%zmm22\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm23\n\t"
        "vpdpbusd %%zmm31, %%zmm31, %%zmm24\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm25\n\t"
        "vpdpbusd %%zmm31, %%zmm31, %%zmm26\n\tvpdpbusd %%zmm31, %%zmm31, %%zmm27" ::
            : "memory");
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  return static_cast<double>(kProducts) * kChains * kSteps / seconds.count();
}

/// Multiply-accumulates a second; 0 where there is no VNNI.
inline double PeakVnni() {
  double best = 0.0;
  if (__builtin_cpu_supports("avx512vnni") == 0) return best;
  for (int i = 0; i < 500; ++i) best = std::max(best, VnniRate512());
  return best;
}

#else

inline double PeakVnni() { return 0.0; }

#endif

}  // namespace tenon
