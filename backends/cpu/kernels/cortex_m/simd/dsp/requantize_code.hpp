// Makes bytes of sums in assembler code of Armv7E-M: instructions as strings, for loops whose sums
// are already in registers.
#pragma once

// A sum to a byte, as RequantizeDoubled does. TENON_SIGN: the offset of this sum, to lr.
#define TENON_SIGN(sum, offset) "add lr, " offset ", " sum ", asr #31\n"
#define TENON_REQUANTIZE(sum, multiplier, offset, right) \
  "smmlar " sum ", " sum ", " multiplier ", " offset     \
  "\n"                                                   \
  "asr " sum ", " sum ", " right                         \
  "\n"                                                   \
  "ssat " sum ", #8, " sum "\n"

// Four sums (r0-r3: [pixel][output]) to bytes, as RequantizeFloat does. At r4 stand two
// Requantizers and two words, which it loads to r10 and r11.
#if defined(__ARM_FP) && (__ARM_FP & 4)
#define TENON_FLOAT(sum) "vcvt.f32.s32 " sum ", " sum "\n"
#define TENON_ROUND(sum, scale)       \
  "vmul.f32 " sum ", " sum ", " scale \
  "\n"                                \
  "vcvtr.s32.f32 " sum ", " sum "\n"
#define TENON_BYTE(sum, offset)    \
  "qadd " sum ", " sum ", " offset \
  "\n"                             \
  "ssat " sum ", #8, " sum "\n"
#define TENON_FLOATS \
  "ldm r4, {r4-r11}\n"                                                   \
  "vmov s4, s5, r4, r7\n"                                                \
  "vmov s0, s1, r0, r1\n"                                                \
  "vmov s2, s3, r2, r3\n"                                                \
  TENON_FLOAT("s0") TENON_FLOAT("s1") TENON_FLOAT("s2") TENON_FLOAT("s3") \
  TENON_ROUND("s0", "s4") TENON_ROUND("s1", "s5")                        \
  TENON_ROUND("s2", "s4") TENON_ROUND("s3", "s5")                        \
  "vmov r0, r1, s0, s1\n"                                                \
  "vmov r2, r3, s2, s3\n"                                                \
  TENON_BYTE("r0", "r5") TENON_BYTE("r1", "r5")                          \
  TENON_BYTE("r2", "r5") TENON_BYTE("r3", "r5")
#else
#define TENON_FLOATS
#endif
