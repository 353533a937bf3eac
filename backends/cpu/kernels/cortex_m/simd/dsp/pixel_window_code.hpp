// Assembler code of Armv7E-M for one tap of a window, four channels: instructions as strings.
#pragma once

// r1-r4 are sums, r5 is x, r6 w, r7 the step of x, r8 `less`, r9 the step of w.
#define TENON_TAP                  \
  "ldr r10, [r5]\n"                \
  "ldr r11, [r6]\n"                \
  "add r5, r7\n"                   \
  "add r6, r9\n"                   \
  "sxtab16 r12, r8, r10\n"         \
  "sxtb16 lr, r11\n"               \
  "sxtab16 r10, r8, r10, ror #8\n" \
  "sxtb16 r11, r11, ror #8\n"      \
  "smlabb r1, r12, lr, r1\n"       \
  "smlatt r3, r12, lr, r3\n"       \
  "smlabb r2, r10, r11, r2\n"      \
  "smlatt r4, r10, r11, r4\n"
