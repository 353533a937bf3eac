// Floating-point numbers too small to be normal, while ops run.
#pragma once

#include <cstdint>

namespace tenon {

/// Takes subnormal numbers (of f32, below about 1.2e-38) for zeros on this thread, in operands and
/// results, as long as it lives: decaying states and products of small weights come to be
/// subnormal, and on some processors an op on such takes up to a hundred times as long. Does
/// nothing where the processor has no such mode.
class FlushSubnormals {
 public:
#if defined(__SSE__)
  FlushSubnormals() : before_(__builtin_ia32_stmxcsr()) {
    constexpr uint32_t kResultsAndOperands = 0x8040;
    __builtin_ia32_ldmxcsr(before_ | kResultsAndOperands);
  }
  ~FlushSubnormals() { __builtin_ia32_ldmxcsr(before_); }
#elif defined(__aarch64__)
  FlushSubnormals() {
    constexpr uint64_t kFlush = uint64_t{1} << 24;
    asm volatile("mrs %0, fpcr" : "=r"(before_));
    asm volatile("msr fpcr, %0" : : "r"(before_ | kFlush));
  }
  ~FlushSubnormals() { asm volatile("msr fpcr, %0" : : "r"(before_)); }
#else
  FlushSubnormals() {}  // NOLINT(modernize-use-equals-default): else a variable of it is unused
#endif
  FlushSubnormals(const FlushSubnormals&) = delete;
  FlushSubnormals& operator=(const FlushSubnormals&) = delete;

 private:
#if defined(__SSE__)
  uint32_t before_;
#elif defined(__aarch64__)
  uint64_t before_;
#endif
};

}  // namespace tenon
