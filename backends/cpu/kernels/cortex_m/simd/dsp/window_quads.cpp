#include "backends/cpu/kernels/cortex_m/simd/dsp/window_quads.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/quads_code.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

static_assert(sizeof(Requantizer) == 12 && offsetof(WindowGemm, w) == 16 &&
              offsetof(WindowGemm, less) == 20 && offsetof(WindowGemm, rows) == 24 &&
              offsetof(WindowGemm, requantizer) == 32 && offsetof(WindowGemm, y) == 80 &&
              offsetof(WindowGemm, y_step) == 84 && offsetof(WindowGemm, x_gap) == 88 &&
              offsetof(WindowGemm, count) == 92 && offsetof(WindowGemm, x) == 96 &&
              offsetof(WindowGemm, words) == 100 && offsetof(WindowGemm, kind) == 104 &&
              offsetof(WindowGemm, back) == 108 && offsetof(WindowGemm, row_gap) == 112);

// r12 is the rows left. The words behind the first one are entered in the middle of seven. The
// stack: 0 back, 4 row_gap, 8 what follows a row's first word, 12 what makes bytes, 16 the
// parameters.
__attribute__((naked)) void MultiplyWindows(WindowGemm&) {
  __asm__ volatile(
      "push {r0, r4-r11, lr}\n"
      "sub sp, #16\n"
      "ldrd r1, r2, [r0, #100]\n"  // words, kind
      "ldrd r3, r4, [r0, #108]\n"
      "ldr r5, [r0, #96]\n"
      "strd r3, r4, [sp]\n"
      "rsb r1, #8\n"
      "mov r4, #52\n"
      "adr.w r6, 7f\n"
      "mla r1, r1, r4, r6\n"
      "adr.w r6, 5f\n"
      "cmp r2, #1\n"
      "beq 1f\n"
      "adr.w r6, 4f\n"
      "blt 1f\n"
      "adr.w r6, 8f\n"
      "1:\n"
      "orr r1, #1\n"  // addresses of Thumb code
      "orr r6, #1\n"
      "strd r1, r6, [sp, #8]\n"
      "6:\n"
      "ldr r12, [sp, #16]\n"
      "ldm r12, {r0-r4, r6, r12}\n"
      "2:\n" TENON_QUAD_STEP
      "ldr r7, [sp]\n"
      "add r5, r7\n"
      "ldr pc, [sp, #8]\n"
      ".balign 4\n"
      "7:\n" TENON_QUAD_STEP TENON_QUAD_STEP TENON_QUAD_STEP TENON_QUAD_STEP TENON_QUAD_STEP
          TENON_QUAD_STEP TENON_QUAD_STEP
      "ldr r7, [sp, #4]\n"
      "subs r12, #1\n"
      "add r5, r7\n"
      "bne.w 2b\n"
      "ldr r4, [sp, #16]\n"
      "adds r4, #32\n"
      "ldmia r4!, {r6-r11}\n"
      "ldr pc, [sp, #12]\n"
      ".balign 4\n" TENON_QUAD_BYTES
      "bne.w 6b\n"
      "add sp, #16\n"
      "pop {r0, r4-r11, pc}\n" TENON_QUAD_BYTES_APART);
}

#else

namespace {

/// Returns the sum of one output of one window.
uint32_t Sum(const WindowGemm& gemm, const uint8_t* x, int output) {
  uint32_t sum = gemm.bias[output];
  const int16_t* w = gemm.w + 2 * output;
  constexpr int kHalves = 2 * kQuadOutputs;
  for (int row = 0; row < gemm.rows; ++row, x += gemm.row_gap) {
    for (int word = 0; word < gemm.words; ++word, x += 4, w += 2 * kHalves) {
      if (word == 1) x += gemm.back;
      const uint32_t bytes = LoadWord(x);
      sum = AddProducts(AddEvenBytes(gemm.less, bytes), LoadWord(w), sum);
      sum = AddProducts(AddOddBytes(gemm.less, bytes), LoadWord(w + kHalves), sum);
    }
  }
  return sum;
}

}  // namespace

void MultiplyWindows(WindowGemm& gemm) {
  const uint8_t* x = gemm.x;
  const ptrdiff_t row = (gemm.words * 4) + (gemm.words > 1 ? gemm.back : 0) + gemm.row_gap;
  for (; gemm.count > 0; --gemm.count, x += gemm.rows * row + gemm.x_gap, gemm.y += gemm.y_step) {
    for (int output = 0; output < kQuadOutputs; ++output) {
      const uint32_t sum = Sum(gemm, x, output);
      gemm.y[output] =
          ByteOf(gemm.requantizer[output], gemm.kind, IsDoubled(gemm.kind) ? 2 * sum : sum);
    }
  }
}

#endif

}  // namespace tenon::cpu::dsp
