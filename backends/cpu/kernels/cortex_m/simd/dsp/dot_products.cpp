#include "backends/cpu/kernels/cortex_m/simd/dsp/dot_products.hpp"

#include <cstddef>

#include "backends/cpu/kernels/cortex_m/simd/dsp/dot_products_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize_code.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

// All 14 registers are in use, which no compiler was found to manage. r0-r3 are sums and r4 is the
// next weight. A round is four steps; the first one of a run is entered in its middle, where the
// number of steps is no multiple of four.
//
// The stack: what PairGemm begins with, up to `gaps`:
//   0 bias, 16 w, 20 where a pair begins, 24 requantizer, 48 output, 52 next y, 60 w_end,
//   64 sums, 68 next x_runs, 72 gaps; then
//   76 next gap, 80 rounds of a run, 84 where a run begins, 88 where a pair is finished, 92 what
//   follows a round of paired inputs.

// 11 instructions for inputs in runs (at r5 and r6); rounds left in r12.
#define TENON_RUN_STEP             \
  "ldmia r4!, {r7, r8, r9, r10}\n" \
  "ldrd r11, lr, [r5], #8\n"       \
  "smlad r0, r11, r7, r0\n"        \
  "smlad r1, r11, r9, r1\n"        \
  "smlad r0, lr, r8, r0\n"         \
  "smlad r1, lr, r10, r1\n"        \
  "ldrd r11, lr, [r6], #8\n"       \
  "smlad r2, r11, r7, r2\n"        \
  "smlad r3, r11, r9, r3\n"        \
  "smlad r2, lr, r8, r2\n"         \
  "smlad r3, lr, r10, r3\n"

// Four bytes (r10 output, r11 next y), and on to the next pair.
#define TENON_STORE            \
  "ldmia r11!, {r4, r5, r6}\n" \
  "bfi r2, r3, #8, #8\n"       \
  "bfi r0, r1, #8, #8\n"       \
  "str r11, [sp, #52]\n"       \
  "strh r2, [r5, r10]\n"       \
  "strh r0, [r4, r10]\n"       \
  "cbz r6, 15f\n"              \
  "ldm sp, {r0-r4, pc}\n"      \
  "15:\n"                      \
  "add sp, #96\n"              \
  "pop {r3-r11, pc}\n"

static_assert(sizeof(Requantizer) == 12 && offsetof(PairGemm, bias) == 0 &&
              offsetof(PairGemm, w) == 16 && offsetof(PairGemm, code) == 20 &&
              offsetof(PairGemm, requantizer) == 24 && offsetof(PairGemm, output) == 48 &&
              offsetof(PairGemm, y) == 52 && offsetof(PairGemm, w_end) == 60 &&
              offsetof(PairGemm, sums) == 64 && offsetof(PairGemm, x_runs) == 68 &&
              offsetof(PairGemm, gaps) == 72 && offsetof(PairGemm, x_paired) == 76 &&
              offsetof(PairGemm, steps) == 80 && offsetof(PairGemm, kind) == 84 &&
              offsetof(PairPlaces, more) == 8);

__attribute__((naked)) void MultiplyPairs(const PairGemm&) {
  __asm__ volatile(
      "push {r3-r11, lr}\n"
      "sub sp, #96\n"
      "mov r12, sp\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldmia r0, {r1-r5, r7}\n"  // sums, x_runs, gaps, x_paired, steps, kind
      "stmia r12, {r1-r3}\n"
      "adr r6, 7f\n"
      "cbnz r1, 1f\n"
      "adr r6, 6f\n"
      "cbz r7, 1f\n"
      "adr r6, 10f\n"
      "cmp r7, #1\n"
      "beq 1f\n"
      "adr r6, 14f\n"
      "1:\n"
      "orr r6, #1\n"  // an address of Thumb code
      "str r6, [sp, #88]\n"
      "mov r12, r4\n"
      "cbz r2, 2f\n"
      "add r6, r5, #3\n"
      "lsr r6, #2\n"
      "rsb r5, r5, #0\n"
      "and r5, #3\n"  // steps left out of the first round
      "adr r8, 5f\n"
      "mov r7, #44\n"
      "mla r5, r5, r7, r8\n"
      "orr r5, #1\n"
      "strd r6, r5, [sp, #80]\n"
      "adr r5, 4f\n"
      "b 3f\n"
      "2:\n"
      "ldr r7, [sp, #88]\n"
      "cmp r5, #8\n"
      "ble 11f\n"
      "adr r7, 12f\n"
      "orr r7, #1\n"
      "11:\n"
      "str r7, [sp, #92]\n"
      "rsb r5, r5, #0\n"
      "and r5, #7\n"
      "adr r8, 8f\n"
      "mov r7, #40\n"
      "mla r5, r5, r7, r8\n"
      "3:\n"
      "orr r5, #1\n"
      "str r5, [sp, #20]\n"
      "ldm sp, {r0-r4, pc}\n"

      // A pair of paired inputs.
      ".balign 4\n"
      "8:\n" TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP
          TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP
      "ldr pc, [sp, #92]\n"
      ".balign 4\n"
      "12:\n"
      "ldr r5, [sp, #60]\n"
      "cmp r4, r5\n"
      "bne.w 8b\n"
      "ldr pc, [sp, #88]\n"

      // A pair of inputs in runs.
      ".balign 4\n"
      "4:\n"
      "ldrd r11, r12, [sp, #68]\n"
      "ldmia r11!, {r5, r6}\n"
      "str r11, [sp, #68]\n"
      "9:\n"
      "ldr r11, [r12], #4\n"
      "str r12, [sp, #76]\n"
      "add r5, r11\n"
      "add r6, r11\n"
      "ldrd r12, lr, [sp, #80]\n"
      "bx lr\n"
      ".balign 4\n"
      "5:\n" TENON_RUN_STEP TENON_RUN_STEP TENON_RUN_STEP TENON_RUN_STEP
      "subs r12, #1\n"
      "bne.w 5b\n"
      "ldr r11, [sp, #60]\n"
      "cmp r4, r11\n"
      "ldr r12, [sp, #76]\n"
      "bne 9b\n"
      "ldr pc, [sp, #88]\n"

      // Bytes.
      ".balign 4\n"
      "6:\n"
      "add r4, sp, #24\n"
      "ldm r4, {r4-r11}\n" TENON_SIGN("r0", "r5") TENON_REQUANTIZE("r0", "r4", "lr", "r6")
          TENON_SIGN("r1", "r8") TENON_REQUANTIZE("r1", "r7", "lr", "r9") TENON_SIGN("r2", "r5")
              TENON_REQUANTIZE("r2", "r4", "lr", "r6") TENON_SIGN("r3", "r8")
                  TENON_REQUANTIZE("r3", "r7", "lr", "r9") TENON_STORE
      ".balign 4\n"
      "10:\n"
      "add r4, sp, #24\n"
      "ldm r4, {r4-r11}\n" TENON_REQUANTIZE("r0", "r4", "r5", "r6")
          TENON_REQUANTIZE("r1", "r7", "r8", "r9") TENON_REQUANTIZE("r2", "r4", "r5", "r6")
              TENON_REQUANTIZE("r3", "r7", "r8", "r9") TENON_STORE

      // Bytes of floats.
      ".balign 4\n"
      "14:\n"
      "add r4, sp, #24\n" TENON_FLOATS TENON_STORE

      // Sums.
      ".balign 4\n"
      "7:\n"
      "ldr r11, [sp, #64]\n"
      "stmia r11!, {r0-r3}\n"
      "str r11, [sp, #64]\n"
      "ldr r5, [sp, #52]\n"
      "ldr r6, [r5, #8]\n"
      "add r5, #12\n"
      "str r5, [sp, #52]\n"
      "cbz r6, 15f\n"
      "ldm sp, {r0-r4, pc}\n"
      "15:\n"
      "add sp, #96\n"
      "pop {r3-r11, pc}\n");
}

#undef TENON_STORE
#undef TENON_RUN_STEP

#else

namespace {

/// Adds `steps` steps to the sum of one output.
void AddSteps(const int16_t* x, int x_step, const int16_t* w, int steps, uint32_t& sum) {
  for (; steps > 0; --steps, x += x_step, w += 2 * kStepInputs) {
    for (int i = 0; i < kStepInputs; ++i) sum += static_cast<uint32_t>(x[i] * w[i]);
  }
}

uint32_t Sum(const PairGemm& gemm, ptrdiff_t pair, int pixel, int output) {
  uint32_t sum = gemm.bias[output];
  const int16_t* w = gemm.w + output * kStepInputs;
  constexpr int kPairStep = 2 * kStepInputs;
  if (gemm.x_runs == nullptr) {
    const int16_t* x = gemm.x_paired + pair * gemm.steps * kPairStep + pixel * kStepInputs;
    AddSteps(x, kPairStep, w, gemm.steps, sum);
    return sum;
  }
  const int16_t* x = gemm.x_runs[pair * 2 + pixel];
  for (const int32_t* gap = gemm.gaps; w < gemm.w_end; ++gap) {
    x += *gap / static_cast<int32_t>(sizeof(int16_t));
    AddSteps(x, kStepInputs, w, gemm.steps, sum);
    x += gemm.steps * kStepInputs;
    w += gemm.steps * kPairStep;
  }
  return sum;
}

}  // namespace

void MultiplyPairs(const PairGemm& gemm) {
  ptrdiff_t pair = -1;
  do {
    ++pair;
    for (int pixel = 1; pixel >= 0; --pixel) {
      for (int output = 0; output < 2; ++output) {
        const uint32_t sum = Sum(gemm, pair, pixel, output);
        if (gemm.sums != nullptr) {
          gemm.sums[pair * 4 + pixel * 2 + output] = sum;
        } else {
          gemm.output[gemm.y[pair].y[pixel] + output] =
              ByteOf(gemm.requantizer[output], gemm.kind, sum);
        }
      }
    }
  } while (gemm.y[pair].more != 0);
}

#endif

}  // namespace tenon::cpu::dsp
