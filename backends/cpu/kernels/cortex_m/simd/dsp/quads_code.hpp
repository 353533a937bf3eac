// Assembler code of Armv7E-M for a pixel, read as bytes, times four outputs: instructions as
// strings.
#pragma once

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize_code.hpp"

// 13 instructions for 16 products. r0-r3 are sums, r4 is the next weight, r5 the next input, r6 is
// `less`.
#define TENON_QUAD_STEP             \
  "ldr r8, [r5], #4\n"              \
  "ldmia r4!, {r9, r10, r11, lr}\n" \
  "sxtab16 r7, r6, r8\n"            \
  "sxtab16 r8, r6, r8, ror #8\n"    \
  "smlad r0, r7, r9, r0\n"          \
  "smlad r1, r7, r10, r1\n"         \
  "smlad r2, r7, r11, r2\n"         \
  "smlad r3, r7, lr, r3\n"          \
  "ldmia r4!, {r9, r10, r11, lr}\n" \
  "smlad r0, r8, r9, r0\n"          \
  "smlad r1, r8, r10, r1\n"         \
  "smlad r2, r8, r11, r2\n"         \
  "smlad r3, r8, lr, r3\n"

#define TENON_DOUBLE_ALL \
  "add r0, r0\n"         \
  "add r1, r1\n"         \
  "add r2, r2\n"         \
  "add r3, r3\n"

// Four sums to bytes, as RequantizeFloat does: of two requantizers in r6-r11, and two more at r4.
#if defined(__ARM_FP) && (__ARM_FP & 4)
#define TENON_QUAD_FLOATS \
  "vmov s4, s5, r6, r9\n"                              \
  "ldmia r4!, {r6, r8, r9, r10}\n"                     \
  "add r4, #8\n"                                       \
  "vmov s6, s7, r6, r10\n"                             \
  "vmov s0, s1, r0, r1\n"                              \
  "vmov s2, s3, r2, r3\n"                              \
  TENON_FLOAT("s0") TENON_FLOAT("s1") TENON_FLOAT("s2") \
  TENON_FLOAT("s3") TENON_ROUND("s0", "s4")            \
  TENON_ROUND("s1", "s5") TENON_ROUND("s2", "s6")      \
  TENON_ROUND("s3", "s7")                              \
  "vmov r0, r1, s0, s1\n"                              \
  "vmov r2, r3, s2, s3\n"                              \
  TENON_BYTE("r0", "r7") TENON_BYTE("r1", "r7")        \
  TENON_BYTE("r2", "r7") TENON_BYTE("r3", "r7")
#else
#define TENON_QUAD_FLOATS
#endif

// Bytes of the sums by two requantizers, of four that stand together, in r6-r11; behind r4 stand
// the two others and then: y, y_step, x_gap, pixels left. "5:" is for kRelu, "4:" for kDoubled,
// "8:" for kFloat. Flags say whether pixels are left, and r5 is the next one's x.
#define TENON_QUAD_BYTES \
  "5:\n" TENON_DOUBLE_ALL TENON_REQUANTIZE("r0", "r6", "r7", "r8") \
  TENON_REQUANTIZE("r1", "r9", "r10", "r11") \
  "ldmia r4!, {r6-r11}\n" TENON_REQUANTIZE("r2", "r6", "r7", "r8") \
  TENON_REQUANTIZE("r3", "r9", "r10", "r11") \
  "3:\n" \
  "ldm r4, {r6-r9}\n" \
  "strb r0, [r6]\n" \
  "strb r1, [r6, #1]\n" \
  "strb r2, [r6, #2]\n" \
  "strb r3, [r6, #3]\n" \
  "add r6, r7\n" \
  "add r5, r8\n" \
  "subs r9, #1\n" \
  "str r6, [r4]\n" \
  "str r9, [r4, #12]\n"
#define TENON_QUAD_BYTES_APART \
  ".balign 4\n" \
  "4:\n" TENON_DOUBLE_ALL TENON_SIGN("r0", "r7") TENON_REQUANTIZE("r0", "r6", "lr", "r8") \
  TENON_SIGN("r1", "r10") TENON_REQUANTIZE("r1", "r9", "lr", "r11") \
  "ldmia r4!, {r6-r11}\n" TENON_SIGN("r2", "r7") TENON_REQUANTIZE("r2", "r6", "lr", "r8") \
  TENON_SIGN("r3", "r10") TENON_REQUANTIZE("r3", "r9", "lr", "r11") \
  "b 3b\n" \
  ".balign 4\n" \
  "8:\n" TENON_QUAD_FLOATS \
  "b 3b\n"
