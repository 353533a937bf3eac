#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_rows.hpp"

#include <cstddef>

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

// r0, r1 sums, r2-r7 weights, r8-r10 rows, r11, r12 inputs, lr rounds left. The stack: the first 52
// bytes of ThreeRows (32 requantizer, 44 y, 48 y_step), 52 next sums, 56 "there is one more", 60
// where two sums become bytes or are stored, 64 lines left, 68 x_gap, 72 y_gap, 76 rounds of a
// line, 80 where one sum becomes a byte.

// Adds the products of a row with two neighbouring windows: `a` is weights 0 and 1, `b` 1 and 2.
#define TENON_TWO_WINDOWS(row, a, b) \
  "ldrd r11, r12, [" row             \
  "], #4\n"                          \
  "smlad r0, r11, " a                \
  ", r0\n"                           \
  "smlatb r1, r11, " a               \
  ", r1\n"                           \
  "smlabt r0, r12, " b               \
  ", r0\n"                           \
  "smlad r1, r12, " b ", r1\n"

// With one, the next being two halves further.
#define TENON_ONE_WINDOW(row, a, b) \
  "ldrd r11, r12, [" row            \
  "], #4\n"                         \
  "smlad r0, r11, " a               \
  ", r0\n"                          \
  "smlabt r0, r12, " b ", r0\n"

#define TENON_BEGIN                \
  "push {r3-r11, lr}\n"            \
  "sub sp, #88\n"                  \
  "mov r12, sp\n"                  \
  "ldmia r0!, {r1-r8}\n"           \
  "stmia r12!, {r1-r8}\n"          \
  "ldmia r0!, {r1-r5}\n"           \
  "stmia r12!, {r1-r5}\n"          \
  "ldmia r0, {r8-r11, lr}\n"       \
  "str lr, [r12]\n"                \
  "ldr r3, [r0, #20]\n" /* kind */ \
  "mov r2, lr\n"

// The code for this kind of sums.
#define TENON_CHOOSE(slot, store, floats, relu, bytes) \
  "adr r1, " store                                     \
  "\n"                                                 \
  "cbnz r2, 1f\n"                                      \
  "adr r1, " floats                                    \
  "\n"                                                 \
  "cmp r3, #2\n"                                       \
  "beq 1f\n"                                           \
  "adr r1, " relu                                      \
  "\n"                                                 \
  "cmp r3, #1\n"                                       \
  "beq 1f\n"                                           \
  "adr r1, " bytes                                     \
  "\n"                                                 \
  "1:\n"                                               \
  "orr r1, #1\n" /* Thumb code */                      \
  "str r1, [sp, #" slot "]\n"

#define TENON_LOAD_REQUANTIZER \
  "add r2, sp, #32\n"          \
  "ldm r2, {r2-r6}\n"

#define TENON_ROUND(sum, offset)         \
  "smmlar " sum ", " sum ", r2, " offset \
  "\n"                                   \
  "asr " sum ", " sum                    \
  ", r4\n"                               \
  "ssat " sum ", #8, " sum "\n"
#define TENON_REQUANTIZE(sum) "add r7, r3, " sum ", asr #31\n" TENON_ROUND(sum, "r7")
// Of what is negative, the least byte becomes anyway: see RequantizeKind.
#define TENON_RELU(sum) TENON_ROUND(sum, "r3")

#if defined(__ARM_FP) && (__ARM_FP & 4)
#define TENON_TO_FLOAT(sum)    \
  "vcvt.f32.s32 " sum ", " sum \
  "\n"                         \
  "vmul.f32 " sum ", " sum     \
  ", s2\n"                     \
  "vcvtr.s32.f32 " sum ", " sum "\n"
#define TENON_FLOATS     \
  TENON_LOAD_REQUANTIZER \
  "vmov s2, r2\n"                    \
  "vmov s0, s1, r0, r1\n"            \
  TENON_TO_FLOAT("s0")               \
  TENON_TO_FLOAT("s1")               \
  "vmov r0, r1, s0, s1\n"            \
  "qadd r0, r0, r3\n"                \
  "qadd r1, r1, r3\n"                \
  "ssat r0, #8, r0\n"                \
  "ssat r1, #8, r1\n"
#else
#define TENON_FLOATS
#endif

// Of a last single output the step is 0: the other one's byte is overwritten.
#define TENON_STORE_TWO      \
  "strb r1, [r5, r6]\n"      \
  "strb r0, [r5]\n"          \
  "add r5, r5, r6, lsl #1\n" \
  "str r5, [sp, #44]\n"      \
  "subs lr, #1\n"            \
  "bne 2b\n"

#define TENON_STORE_ONE \
  "strb r0, [r5]\n"     \
  "add r5, r6\n"        \
  "str r5, [sp, #44]\n"

#define TENON_NEXT \
  "subs lr, #1\n"  \
  "bne 2b\n"

#define TENON_END \
  "add sp, #88\n" \
  "pop {r3-r11, pc}\n"

static_assert(sizeof(Requantizer) == 12 && offsetof(ThreeRows, bias) == 0 &&
              offsetof(ThreeRows, weights) == 8 && offsetof(ThreeRows, requantizer) == 32 &&
              offsetof(ThreeRows, y) == 44 && offsetof(ThreeRows, y_step) == 48 &&
              offsetof(ThreeRows, rows) == 52 && offsetof(ThreeRows, outputs) == 64 &&
              offsetof(ThreeRows, sums) == 68 && offsetof(ThreeRows, kind) == 72 &&
              offsetof(ThreeRows, lines) == 76 && offsetof(ThreeRows, x_gap) == 80 &&
              offsetof(ThreeRows, y_gap) == 84);

__attribute__((naked)) void RunThreeRows(const ThreeRows&) {
  __asm__ volatile(
      TENON_BEGIN
      TENON_CHOOSE("60", "7f", "5f", "4f", "6f")
      TENON_CHOOSE("80", "17f", "15f", "14f", "16f")
      "add r4, r0, #24\n"
      "ldm r4, {r2-r4}\n"
      "add r5, sp, #64\n"
      "stm r5, {r2-r4}\n"
      "and r1, r11, #1\n"
      "str r1, [sp, #56]\n"
      "lsrs lr, r11, #1\n"
      "str lr, [sp, #76]\n"
      "beq.w 8f\n"
      "2:\n"
      "ldm sp, {r0-r7}\n"
      TENON_TWO_WINDOWS("r8", "r2", "r3")
      TENON_TWO_WINDOWS("r9", "r4", "r5")
      TENON_TWO_WINDOWS("r10", "r6", "r7")
      "ldr pc, [sp, #60]\n"
      ".balign 4\n"
      "4:\n" TENON_LOAD_REQUANTIZER TENON_RELU("r0") TENON_RELU("r1") TENON_STORE_TWO
      "b 8f\n"
      ".balign 4\n"
      "6:\n" TENON_LOAD_REQUANTIZER TENON_REQUANTIZE("r0") TENON_REQUANTIZE("r1") TENON_STORE_TWO
      "b 8f\n"
      ".balign 4\n"
      "5:\n" TENON_FLOATS TENON_STORE_TWO
      "b 8f\n"
      ".balign 4\n"
      "7:\n"
      "ldr r2, [sp, #52]\n"
      "stmia r2!, {r0, r1}\n"
      "str r2, [sp, #52]\n" TENON_NEXT
      "8:\n"
      "ldr r0, [sp, #56]\n"
      "cmp r0, #0\n"
      "beq.w 9f\n"
      "ldm sp, {r0-r7}\n"
      TENON_ONE_WINDOW("r8", "r2", "r3")
      TENON_ONE_WINDOW("r9", "r4", "r5")
      TENON_ONE_WINDOW("r10", "r6", "r7")
      "ldr pc, [sp, #80]\n"
      ".balign 4\n"
      "14:\n" TENON_LOAD_REQUANTIZER TENON_RELU("r0") TENON_STORE_ONE
      "b 9f\n"
      ".balign 4\n"
      "16:\n" TENON_LOAD_REQUANTIZER TENON_REQUANTIZE("r0") TENON_STORE_ONE
      "b 9f\n"
      ".balign 4\n"
      "15:\n" TENON_FLOATS TENON_STORE_ONE
      "b 9f\n"
      ".balign 4\n"
      "17:\n"
      "ldr r2, [sp, #52]\n"
      "str r0, [r2], #4\n"
      "str r2, [sp, #52]\n"
      "9:\n"
      "ldrd r0, r1, [sp, #64]\n"
      "subs r0, #1\n"
      "beq 10f\n"
      "str r0, [sp, #64]\n"
      "add r8, r1\n"
      "add r9, r1\n"
      "add r10, r1\n"
      "ldr r2, [sp, #72]\n"
      "ldr r5, [sp, #44]\n"
      "add r5, r2\n"
      "str r5, [sp, #44]\n"
      "ldr lr, [sp, #76]\n"
      "cmp lr, #0\n"
      "bne.w 2b\n"
      "b.w 8b\n"
      "10:\n" TENON_END);
}

__attribute__((naked)) void RunThreeRowsApart(const ThreeRows&) {
  __asm__ volatile(TENON_BEGIN TENON_CHOOSE(
      "60", "7f", "5f", "4f",
      "6f") "mov lr, r11\n"
            "2:\n"
            "ldm sp, {r0-r7}\n" TENON_ONE_WINDOW("r8", "r2", "r3") TENON_ONE_WINDOW("r9", "r4", "r5") TENON_ONE_WINDOW(
                "r10", "r6",
                "r7") "ldr pc, [sp, #60]\n"
                      ".balign 4\n"
                      "4:\n" TENON_LOAD_REQUANTIZER TENON_RELU("r0") TENON_STORE_ONE TENON_NEXT
                   "b 9f\n"
                   ".balign 4\n"
                   "6:\n" TENON_LOAD_REQUANTIZER TENON_REQUANTIZE("r0") TENON_STORE_ONE TENON_NEXT
                   "b 9f\n"
                   ".balign 4\n"
                   "5:\n" TENON_FLOATS TENON_STORE_ONE TENON_NEXT
                   "b 9f\n"
                   ".balign 4\n"
                   "7:\n"
                   "ldr r2, [sp, #52]\n"
                   "str r0, [r2], #4\n"
                   "str r2, [sp, #52]\n" TENON_NEXT "9:\n" TENON_END);
}

#undef TENON_TWO_WINDOWS
#undef TENON_ONE_WINDOW
#undef TENON_BEGIN
#undef TENON_CHOOSE
#undef TENON_ROUND
#undef TENON_RELU
#undef TENON_NEXT
#undef TENON_LOAD_REQUANTIZER
#undef TENON_REQUANTIZE
#undef TENON_END
#undef TENON_TO_FLOAT
#undef TENON_FLOATS
#undef TENON_STORE_TWO
#undef TENON_STORE_ONE

#else

namespace {

void RunLine(const ThreeRows& row, const int16_t* const* rows, int step, uint8_t* y,
             uint32_t* sums) {
  for (int32_t i = 0; i < row.outputs; ++i, y += row.y_step) {
    uint32_t sum = row.bias[0];
    for (int r = 0; r < 3; ++r) {
      const int16_t* x = rows[r] + i * step;
      const uint32_t first = row.weights[2 * r];
      sum += static_cast<uint32_t>(x[0] * LowHalf(first) + x[1] * HighHalf(first) +
                                   x[2] * HighHalf(row.weights[2 * r + 1]));
    }
    if (sums != nullptr) {
      sums[i] = sum;
    } else {
      const auto signed_sum = static_cast<int32_t>(sum);
      *y = static_cast<uint8_t>(
          row.kind == RequantizeKind::kFloat
              ? RequantizeFloat(row.requantizer, signed_sum)
              : SaturateToByte(RequantizeDoubled(row.requantizer, signed_sum)));
    }
  }
}

void RunWindows(const ThreeRows& row, int step) {
  const ptrdiff_t pairs = (row.outputs + 1) / 2;
  const ptrdiff_t x_line = pairs * 2 + row.x_gap / static_cast<ptrdiff_t>(sizeof(int16_t));
  const ptrdiff_t y_line = ptrdiff_t{row.outputs} * row.y_step + row.y_gap;
  for (ptrdiff_t i = 0; i < row.lines; ++i) {
    const int16_t* const rows[3] = {row.rows[0] + i * x_line, row.rows[1] + i * x_line,
                                    row.rows[2] + i * x_line};
    RunLine(row, rows, step, row.y + i * y_line,
            row.sums == nullptr ? nullptr : row.sums + i * row.outputs);
  }
}

}  // namespace

void RunThreeRows(const ThreeRows& row) { RunWindows(row, 1); }
void RunThreeRowsApart(const ThreeRows& row) { RunWindows(row, 2); }

#endif

}  // namespace tenon::cpu::dsp
