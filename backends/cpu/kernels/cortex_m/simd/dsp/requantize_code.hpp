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
