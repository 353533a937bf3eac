#include "backends/cpu/kernels/cortex_m/simd/helium/dot_products.hpp"

#include <cstddef>

namespace tenon::cpu::cortex_m::helium {

static_assert(offsetof(DotProducts, w) == 12 && offsetof(DotProducts, run_bytes) == 28 &&
              offsetof(DotProducts, runs) == 32 && offsetof(DotProducts, x_step) == 36 &&
              offsetof(DotProducts, w_step) == 40 && offsetof(DotProducts, sums) == 44);

// Eleven instructions for 96 products: three windows share each vector of weights, two rows of
// weights each vector of x.
//
// r0, r2: sums of the first window with two rows of weights; r4, r6: second; r8, r10: third.
// r1, r3, r5: windows; r7, r9: weights; r11: operands; r12: runs left; lr: bytes left of the run.
#define TENON_DOT_THREE_PAIR(weights, sums) \
  "movs r0, #0\n"                           \
  "movs r2, #0\n"                           \
  "movs r4, #0\n"                           \
  "movs r6, #0\n"                           \
  "mov r8, r0\n"                            \
  "mov r10, r0\n"                           \
  "ldm r11, {r1, r3, r5}\n"                 \
  "ldrd r7, r9, [r11, #" weights            \
  "]\n"                                     \
  "ldrd lr, r12, [r11, #28]\n"              \
  "1:\n"                                    \
  "dlstp.8 lr, lr\n"                        \
  "2:\n"                                    \
  "vldrb.8 q0, [r7], #16\n"                 \
  "vldrb.8 q1, [r1], #16\n"                 \
  "vmladava.s8 r0, q0, q1\n"                \
  "vldrb.8 q2, [r3], #16\n"                 \
  "vmladava.s8 r4, q0, q2\n"                \
  "vldrb.8 q3, [r5], #16\n"                 \
  "vmladava.s8 r8, q0, q3\n"                \
  "vldrb.8 q0, [r9], #16\n"                 \
  "vmladava.s8 r2, q0, q1\n"                \
  "vmladava.s8 r6, q0, q2\n"                \
  "vmladava.s8 r10, q0, q3\n"               \
  "letp lr, 2b\n"                           \
  "subs r12, r12, #1\n"                     \
  "beq 3f\n"                                \
  "ldr lr, [r11, #36]\n"                    \
  "add r1, lr\n"                            \
  "add r3, lr\n"                            \
  "add r5, lr\n"                            \
  "ldr lr, [r11, #40]\n"                    \
  "add r7, lr\n"                            \
  "add r9, lr\n"                            \
  "ldr lr, [r11, #28]\n"                    \
  "b 1b\n"                                  \
  "3:\n"                                    \
  "ldr r12, [r11, #44]\n"                   \
  "strd r0, r2, [r12, #" sums               \
  "]\n"                                     \
  "strd r4, r6, [r12, #" sums               \
  " + 32]\n"                                \
  "strd r8, r10, [r12, #" sums " + 64]\n"

[[gnu::naked]] void DotThree(const DotProducts* /*dot_products*/) {
  asm volatile(
      "push {r4-r11, lr}\n"
      "mov r11, r0\n" TENON_DOT_THREE_PAIR("12", "0")
          TENON_DOT_THREE_PAIR("20", "8") "pop {r4-r11, pc}\n");
}

// r0, r2, r4, r6: sums with four rows of weights; r1, r3, r5, r7: weights; r9: the window; r8 and
// r10: steps; r11: operands; r12: runs left; lr: bytes left of the run.
[[gnu::naked]] void DotOne(const DotProducts* /*dot_products*/) {
  asm volatile(
      "push {r4-r11, lr}\n"
      "mov r11, r0\n"
      "movs r0, #0\n"
      "movs r2, #0\n"
      "movs r4, #0\n"
      "movs r6, #0\n"
      "ldr r9, [r11]\n"
      "ldrd r1, r3, [r11, #12]\n"
      "ldrd r5, r7, [r11, #20]\n"
      "ldrd lr, r12, [r11, #28]\n"
      "ldrd r8, r10, [r11, #36]\n"
      "1:\n"
      "dlstp.8 lr, lr\n"
      "2:\n"
      "vldrb.8 q0, [r9], #16\n"
      "vldrb.8 q1, [r1], #16\n"
      "vmladava.s8 r0, q0, q1\n"
      "vldrb.8 q2, [r3], #16\n"
      "vmladava.s8 r2, q0, q2\n"
      "vldrb.8 q3, [r5], #16\n"
      "vmladava.s8 r4, q0, q3\n"
      "vldrb.8 q1, [r7], #16\n"
      "vmladava.s8 r6, q0, q1\n"
      "letp lr, 2b\n"
      "subs r12, r12, #1\n"
      "beq 3f\n"
      "add r9, r8\n"
      "add r1, r10\n"
      "add r3, r10\n"
      "add r5, r10\n"
      "add r7, r10\n"
      "ldr lr, [r11, #28]\n"
      "b 1b\n"
      "3:\n"
      "ldr r12, [r11, #44]\n"
      "stm r12, {r0, r2, r4, r6}\n"
      "pop {r4-r11, pc}\n");
}

static_assert(offsetof(ShortDotProducts, x_step) == 4 && offsetof(ShortDotProducts, windows) == 8 &&
              offsetof(ShortDotProducts, w) == 12 && offsetof(ShortDotProducts, w_step) == 16 &&
              offsetof(ShortDotProducts, bytes) == 20 && offsetof(ShortDotProducts, sums) == 24);

// r1: x; r3: its step; lr: windows left; r5: weights; r7: their step; r8: bytes; r12: sums. Weights
// go to q4 to q7; vpr masks each run's last vector.
#define TENON_SHORT_BEGIN     \
  "push {r4-r8, lr}\n"        \
  "vpush {d8-d15}\n"          \
  "mov r12, r0\n"             \
  "ldrd r1, r3, [r12]\n"      \
  "ldrd lr, r5, [r12, #8]\n"  \
  "ldrd r7, r8, [r12, #16]\n" \
  "ldr r12, [r12, #24]\n"     \
  "vctp.8 r8\n"               \
  "dls lr, lr\n"

#define TENON_SHORT_END \
  "le lr, 1b\n"         \
  "vpop {d8-d15}\n"     \
  "pop {r4-r8, pc}\n"

[[gnu::naked]] void DotShort16(const ShortDotProducts* /*dot_products*/) {
  asm volatile(TENON_SHORT_BEGIN
               "vpst\n"
               "vldrbt.8 q4, [r5]\n"
               "add r5, r7\n"
               "vpst\n"
               "vldrbt.8 q5, [r5]\n"
               "add r5, r7\n"
               "vpst\n"
               "vldrbt.8 q6, [r5]\n"
               "add r5, r7\n"
               "vpst\n"
               "vldrbt.8 q7, [r5]\n"
               "1:\n"
               "vpst\n"
               "vldrbt.8 q0, [r1]\n"
               "add r1, r3\n"
               "vmladav.s8 r0, q0, q4\n"
               "vmladav.s8 r2, q0, q5\n"
               "vmladav.s8 r4, q0, q6\n"
               "vmladav.s8 r6, q0, q7\n"
               "stm r12, {r0, r2, r4, r6}\n"
               "add r12, #32\n" TENON_SHORT_END);
}

[[gnu::naked]] void DotShort32(const ShortDotProducts* /*dot_products*/) {
  asm volatile(TENON_SHORT_BEGIN
               "vldrb.8 q4, [r5]\n"
               "vpst\n"
               "vldrbt.8 q5, [r5, #16]\n"
               "add r5, r7\n"
               "vldrb.8 q6, [r5]\n"
               "vpst\n"
               "vldrbt.8 q7, [r5, #16]\n"
               "1:\n"
               "vldrb.8 q0, [r1], #16\n"
               "vmladav.s8 r0, q0, q4\n"
               "vmladav.s8 r2, q0, q6\n"
               "vpst\n"
               "vldrbt.8 q1, [r1]\n"
               "add r1, r3\n"
               "vmladava.s8 r0, q1, q5\n"
               "vmladava.s8 r2, q1, q7\n"
               "strd r0, r2, [r12], #32\n" TENON_SHORT_END);
}

// As above for kBlockOutputs rows of weights: r9: x; r10: windows; r11: sums of the row; r4: pairs
// of rows left.
#define TENON_ROWS_BEGIN     \
  "push {r4-r11, lr}\n"      \
  "vpush {d8-d15}\n"         \
  "ldrd r9, r3, [r0]\n"      \
  "ldrd r10, r5, [r0, #8]\n" \
  "ldrd r7, r8, [r0, #16]\n" \
  "ldr r11, [r0, #24]\n"     \
  "vctp.8 r8\n"              \
  "movs r4, #4\n"            \
  "0:\n"

#define TENON_ROWS_WINDOWS \
  "add r5, r7\n"           \
  "mov r1, r9\n"           \
  "mov r12, r11\n"         \
  "dls lr, r10\n"          \
  "1:\n"

// An even row's sums stand four words before the next one's.
#define TENON_ROWS(row)    \
  row "add r11, #16\n" row \
      "sub r11, #12\n"     \
      "subs r4, #1\n"      \
      "bne 0b\n"           \
      "vpop {d8-d15}\n"    \
      "pop {r4-r11, pc}\n"

#define TENON_ROW_48                            \
  "vldrb.8 q4, [r5]\n"                          \
  "vldrb.8 q5, [r5, #16]\n"                     \
  "vpst\n"                                      \
  "vldrbt.8 q6, [r5, #32]\n" TENON_ROWS_WINDOWS \
  "vldrb.8 q0, [r1], #16\n"                     \
  "vmladav.s8 r0, q0, q4\n"                     \
  "vldrb.8 q1, [r1], #16\n"                     \
  "vmladava.s8 r0, q1, q5\n"                    \
  "vpst\n"                                      \
  "vldrbt.8 q2, [r1]\n"                         \
  "add r1, r3\n"                                \
  "vmladava.s8 r0, q2, q6\n"                    \
  "str r0, [r12], #32\n"                        \
  "le lr, 1b\n"

[[gnu::naked]] void DotRows48(const ShortDotProducts* /*dot_products*/) {
  asm volatile(TENON_ROWS_BEGIN TENON_ROWS(TENON_ROW_48));
}

#define TENON_ROW_64                            \
  "vldrb.8 q4, [r5]\n"                          \
  "vldrb.8 q5, [r5, #16]\n"                     \
  "vldrb.8 q6, [r5, #32]\n"                     \
  "vpst\n"                                      \
  "vldrbt.8 q7, [r5, #48]\n" TENON_ROWS_WINDOWS \
  "vldrb.8 q0, [r1], #16\n"                     \
  "vmladav.s8 r0, q0, q4\n"                     \
  "vldrb.8 q1, [r1], #16\n"                     \
  "vmladava.s8 r0, q1, q5\n"                    \
  "vldrb.8 q2, [r1], #16\n"                     \
  "vmladava.s8 r0, q2, q6\n"                    \
  "vpst\n"                                      \
  "vldrbt.8 q3, [r1]\n"                         \
  "add r1, r3\n"                                \
  "vmladava.s8 r0, q3, q7\n"                    \
  "str r0, [r12], #32\n"                        \
  "le lr, 1b\n"

[[gnu::naked]] void DotRows64(const ShortDotProducts* /*dot_products*/) {
  asm volatile(TENON_ROWS_BEGIN TENON_ROWS(TENON_ROW_64));
}

static_assert(offsetof(FullDotProducts, windows) == 4 && offsetof(FullDotProducts, w) == 8 &&
              offsetof(FullDotProducts, sums) == 12);

// r1: x, again from r8 for each few rows of weights; lr: windows left of r9; r5: weights; r12:
// sums, from r10 on; r3: rounds left; r7: halves.
#define TENON_FULL_BEGIN(rounds) \
  "push {r4-r10, lr}\n"          \
  "vpush {d8-d15}\n"             \
  "ldrd r8, r9, [r0]\n"          \
  "ldrd r5, r10, [r0, #8]\n"     \
  "movs r3, #" rounds            \
  "\n"                           \
  "0:\n"

#define TENON_FULL_WINDOWS \
  "mov r1, r8\n"           \
  "mov r12, r10\n"         \
  "dls lr, r9\n"           \
  "1:\n"

#define TENON_FULL_END \
  "subs r3, #1\n"      \
  "bne 0b\n"           \
  "vpop {d8-d15}\n"    \
  "pop {r4-r10, pc}\n"

#define TENON_FULL_WINDOW_16    \
  "vldrb.8 q0, [r1], #16\n"     \
  "vmladav.s8 r0, q0, q4\n"     \
  "vmladav.s8 r2, q0, q5\n"     \
  "vmladav.s8 r4, q0, q6\n"     \
  "vmladav.s8 r6, q0, q7\n"     \
  "stm r12, {r0, r2, r4, r6}\n" \
  "add r12, #32\n"

// Rows 0, 2, 4, 6, then 1, 3, 5, 7. Two windows at a time, and one more where their number is odd.
[[gnu::naked]] void DotFull16(const FullDotProducts* /*dot_products*/) {
  asm volatile(TENON_FULL_BEGIN(
      "2") "vldrb.8 q4, [r5]\n"
           "vldrb.8 q5, [r5, #32]\n"
           "vldrb.8 q6, [r5, #64]\n"
           "vldrb.8 q7, [r5, #96]\n"
           "adds r5, #16\n"
           "mov r1, r8\n"
           "mov r12, r10\n"
           "lsrs r7, r9, #1\n"
           "wls lr, r7, 2f\n"
           "1:\n" TENON_FULL_WINDOW_16 TENON_FULL_WINDOW_16
           "le lr, 1b\n"
           "2:\n"
           "lsls r7, r9, #31\n"
           "beq 3f\n" TENON_FULL_WINDOW_16
           "3:\n"
           "add r10, #16\n" TENON_FULL_END);
}

#define TENON_FULL_ROWS_32                     \
  "vldrb.8 q4, [r5]\n"                         \
  "vldrb.8 q5, [r5, #16]\n"                    \
  "vldrb.8 q6, [r5, #64]\n"                    \
  "vldrb.8 q7, [r5, #80]\n" TENON_FULL_WINDOWS \
  "vldrb.8 q0, [r1], #16\n"                    \
  "vmladav.s8 r0, q0, q4\n"                    \
  "vmladav.s8 r2, q0, q6\n"                    \
  "vldrb.8 q1, [r1], #16\n"                    \
  "vmladava.s8 r0, q1, q5\n"                   \
  "vmladava.s8 r2, q1, q7\n"                   \
  "strd r0, r2, [r12], #32\n"                  \
  "le lr, 1b\n"                                \
  "add r10, #8\n"

// Rows 0 and 2, 4 and 6; then 1 and 3, 5 and 7.
[[gnu::naked]] void DotFull32(const FullDotProducts* /*dot_products*/) {
  asm volatile(TENON_FULL_BEGIN("2") TENON_FULL_ROWS_32 "add r5, #128\n" TENON_FULL_ROWS_32
                                                        "sub r5, #96\n" TENON_FULL_END);
}

#define TENON_FULL_ROW_64                      \
  "vldrb.8 q4, [r5], #16\n"                    \
  "vldrb.8 q5, [r5], #16\n"                    \
  "vldrb.8 q6, [r5], #16\n"                    \
  "vldrb.8 q7, [r5], #16\n" TENON_FULL_WINDOWS \
  "vldrb.8 q0, [r1], #16\n"                    \
  "vmladav.s8 r0, q0, q4\n"                    \
  "vldrb.8 q1, [r1], #16\n"                    \
  "vmladava.s8 r0, q1, q5\n"                   \
  "vldrb.8 q2, [r1], #16\n"                    \
  "vmladava.s8 r0, q2, q6\n"                   \
  "vldrb.8 q3, [r1], #16\n"                    \
  "vmladava.s8 r0, q3, q7\n"                   \
  "str r0, [r12], #32\n"                       \
  "le lr, 1b\n"

// Row by row: an even row's sums stand four words before the next one's.
[[gnu::naked]] void DotFull64(const FullDotProducts* /*dot_products*/) {
  asm volatile(TENON_FULL_BEGIN("4") TENON_FULL_ROW_64 "add r10, #16\n" TENON_FULL_ROW_64
                                                       "sub r10, #12\n" TENON_FULL_END);
}

// r0: weights; r1: bytes of a row; r2: rows left; r3: sums; r4: from the last vector of a row to
// the next one.
[[gnu::naked]] void SumRows(const int8_t* /*w*/, int32_t /*bytes*/, int32_t /*rows*/,
                            int32_t* /*sums*/) {
  asm volatile(
      "push {r4, lr}\n"
      "adds r4, r1, #15\n"
      "bic r4, #15\n"
      "subs r4, r1, r4\n"
      "1:\n"
      "mov r12, #0\n"
      "dlstp.8 lr, r1\n"
      "2:\n"
      "vldrb.8 q0, [r0], #16\n"
      "vaddva.s8 r12, q0\n"
      "letp lr, 2b\n"
      "str r12, [r3], #4\n"
      "add r0, r4\n"
      "subs r2, #1\n"
      "bne 1b\n"
      "pop {r4, pc}\n");
}

static_assert(offsetof(Runs, to_run) == 4 && offsetof(Runs, from) == 8 &&
              offsetof(Runs, from_run) == 12 && offsetof(Runs, runs) == 16);

// r0: runs; r1: to; r2: from one there to the next; r3: from; r4: from one there to the next.
[[gnu::naked]] void CopyVectors(const Runs& /*runs*/) {
  asm volatile(
      "push {r4, lr}\n"
      "ldrd r1, r2, [r0]\n"
      "ldrd r3, r4, [r0, #8]\n"
      "ldr lr, [r0, #16]\n"
      "dls lr, lr\n"
      "1:\n"
      "vldrb.8 q0, [r3]\n"
      "add r3, r4\n"
      "vstrb.8 q0, [r1]\n"
      "add r1, r2\n"
      "le lr, 1b\n"
      "pop {r4, pc}\n");
}

}  // namespace tenon::cpu::cortex_m::helium
