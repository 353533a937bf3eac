// Assembler code of Armv7E-M for two pixels of paired inputs times two outputs: instructions as
// strings.
#pragma once

// 10 instructions for 16 products. r0-r3 are sums ([pixel][output]), r4 is the next weight, r12 the
// next inputs.
#define TENON_PAIRED_STEP            \
  "ldmia r4!, {r5, r6, r7, r8}\n"    \
  "ldmia r12!, {r9, r10, r11, lr}\n" \
  "smlad r0, r9, r5, r0\n"           \
  "smlad r1, r9, r7, r1\n"           \
  "smlad r0, r10, r6, r0\n"          \
  "smlad r1, r10, r8, r1\n"          \
  "smlad r2, r11, r5, r2\n"          \
  "smlad r3, r11, r7, r3\n"          \
  "smlad r2, lr, r6, r2\n"           \
  "smlad r3, lr, r8, r3\n"
