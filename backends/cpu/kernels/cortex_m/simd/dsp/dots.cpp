#include "backends/cpu/kernels/cortex_m/simd/dsp/dots.hpp"

#include <cstddef>

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

// 11 instructions for 16 products. All 14 registers are in use, which no compiler was found to
// manage: r0-r3 sums, r4, r5 pixels, r6 weights, r7 rounds left, r8-r11 weights of a step, r12, lr
// inputs of a step. A round is four steps; the first is entered in its middle.
#define TENON_STEP                  \
  "ldmia r6!, {r8, r9, r10, r11}\n" \
  "ldrd r12, lr, [r4], #8\n"        \
  "smlad r0, r12, r8, r0\n"         \
  "smlad r1, r12, r10, r1\n"        \
  "smlad r0, lr, r9, r0\n"          \
  "smlad r1, lr, r11, r1\n"         \
  "ldrd r12, lr, [r5], #8\n"        \
  "smlad r2, r12, r8, r2\n"         \
  "smlad r3, r12, r10, r3\n"        \
  "smlad r2, lr, r9, r2\n"          \
  "smlad r3, lr, r11, r3\n"

__attribute__((naked)) void AddPairDots(PairDots*) {
  __asm__ volatile(
      "push {r0, r4-r11, lr}\n"
      "sub sp, #24\n"
      "ldmia r0, {r0-r9}\n"
      // On the stack: the pixels, the next run and the end of the runs, rounds, first step.
      "add r9, #3\n"
      "lsr r11, r9, #2\n"
      "add r12, r7, r8, lsl #2\n"
      "and r9, #3\n"
      "rsb r9, #3\n"  // steps left out of the first round
      "adr lr, 2f\n"
      "mov r10, #44\n"  // bytes of a step
      "mla lr, r9, r10, lr\n"
      "orr lr, #1\n"
      "stm sp, {r4, r5, r7, r12}\n"
      "strd r11, lr, [sp, #16]\n"
      "1:\n"
      "ldm sp, {r8-r12, lr}\n"
      "ldr r7, [r10], #4\n"
      "str r10, [sp, #8]\n"
      "add r4, r8, r7\n"
      "add r5, r9, r7\n"
      "mov r7, r12\n"
      "bx lr\n"
      ".balign 4\n"
      "2:\n" TENON_STEP TENON_STEP TENON_STEP TENON_STEP
      "subs r7, #1\n"
      "bne.w 2b\n"
      "ldrd r10, r11, [sp, #8]\n"
      "cmp r10, r11\n"
      "bne 1b\n"
      "add sp, #24\n"
      "pop {r12}\n"
      "stm r12, {r0-r3}\n"
      "pop {r4-r11, pc}\n");
}

#undef TENON_STEP

#else

void AddPairDots(PairDots* call) {
  const int16_t* w = call->w;
  for (int32_t run = 0; run < call->run_count; ++run) {
    for (int32_t step = 0; step < call->steps; ++step, w += 2 * kStepInputs) {
      for (int pixel = 0; pixel < 2; ++pixel) {
        const int16_t* x =
            call->x[pixel] + call->runs[run] / ptrdiff_t{sizeof(int16_t)} + step * kStepInputs;
        for (int output = 0; output < 2; ++output) {
          for (int i = 0; i < kStepInputs; ++i) {
            call->sums[pixel * 2 + output] +=
                static_cast<uint32_t>(x[i] * w[output * kStepInputs + i]);
          }
        }
      }
    }
  }
}

#endif

}  // namespace tenon::cpu::dsp
