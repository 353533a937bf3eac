// Orders the loads of inner loops of 64-bit Arm, whose tiles need nearly all registers.
//
// Files that are compiled for instruction sets that the processor may lack include this: nothing
// here has external linkage.
#pragma once

namespace tenon::cpu {

/// Keeps what is loaded from the address behind the computation of the value, a register of a
/// vector: otherwise the compiler loads ahead what it has no registers for.
template <typename T, typename V>
[[gnu::always_inline]] static inline void LoadLater(T*& address, V& value) {
#if defined(__aarch64__)
  asm("" : "+r"(address), "+w"(value));
#else
  (void)address;
  (void)value;
#endif
}

}  // namespace tenon::cpu
