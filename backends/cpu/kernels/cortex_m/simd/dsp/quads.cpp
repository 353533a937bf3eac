#include "backends/cpu/kernels/cortex_m/simd/dsp/quads.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/quads_code.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

static_assert(sizeof(Requantizer) == 12 && offsetof(QuadGemm, bias) == 0 &&
              offsetof(QuadGemm, w) == 16 && offsetof(QuadGemm, less) == 20 &&
              offsetof(QuadGemm, rounds) == 24 && offsetof(QuadGemm, code) == 28 &&
              offsetof(QuadGemm, requantizer) == 32 && offsetof(QuadGemm, y) == 80 &&
              offsetof(QuadGemm, y_step) == 84 && offsetof(QuadGemm, x_gap) == 88 &&
              offsetof(QuadGemm, count) == 92 && offsetof(QuadGemm, x) == 96 &&
              offsetof(QuadGemm, steps) == 100 && offsetof(QuadGemm, kind) == 104 &&
              offsetof(QuadGemm, requantize_code) == 108);

// r12 is the rounds left. A round is four steps; the first one is entered in its middle, where the
// number of steps is no multiple of four. The address of the GEMM's parameters is on the stack.
__attribute__((naked)) void MultiplyQuads(QuadGemm&) {
  __asm__ volatile(
      "push {r0, r4-r11, lr}\n"
      "mov r12, r0\n"
      "ldr r1, [r0, #28]\n"
      "ldr r5, [r0, #96]\n"
      "cbnz r1, 6f\n"
      "ldrd r1, r2, [r0, #100]\n"  // steps, kind
      "add r3, r1, #3\n"
      "lsr r3, #2\n"
      "rsb r1, r1, #0\n"
      "and r1, #3\n"  // steps left out of the first round
      "mov r4, #52\n"
      "adr r6, 2f\n"
      "mla r1, r1, r4, r6\n"
      "orr r1, #1\n"  // an address of Thumb code
      "strd r3, r1, [r0, #24]\n"
      "adr r6, 5f\n"
      "cmp r2, #1\n"
      "beq 1f\n"
      "adr.w r6, 4f\n"
      "blt 1f\n"
      "adr.w r6, 8f\n"
      "1:\n"
      "orr r6, #1\n"
      "str r6, [r0, #108]\n"
      "6:\n"
      "ldm r12, {r0-r4, r6, r12, pc}\n"

      ".balign 4\n"
      "2:\n" TENON_QUAD_STEP TENON_QUAD_STEP TENON_QUAD_STEP TENON_QUAD_STEP
      "subs r12, #1\n"
      "bne.w 2b\n"
      "ldr r12, [sp]\n"
      "add r4, r12, #32\n"
      "ldmia r4!, {r6-r11}\n"
      "ldr pc, [r12, #108]\n"
      ".balign 4\n" TENON_QUAD_BYTES
      "it ne\n"
      "ldmne r12, {r0-r4, r6, r12, pc}\n"
      "pop {r0, r4-r11, pc}\n"

      TENON_QUAD_BYTES_APART);
}

__attribute__((naked)) void WidenQuads(const uint8_t*, ptrdiff_t, int, int16_t*) {
  __asm__ volatile(
      "cmp r2, #0\n"
      "it eq\n"
      "bxeq lr\n"
      "push {r4-r11, lr}\n"
      "add r4, r0, r1\n"
      "add r5, r4, r1\n"
      "add r12, r5, r1\n"
      "1:\n"
      "ldr r1, [r0], #4\n"
      "ldr r10, [r4], #4\n"
      "ldr r11, [r5], #4\n"
      "ldr lr, [r12], #4\n"
      "sxtb16 r6, r1\n"
      "sxtb16 r7, r10\n"
      "sxtb16 r8, r11\n"
      "sxtb16 r9, lr\n"
      "stmia r3!, {r6-r9}\n"
      "sxtb16 r1, r1, ror #8\n"
      "sxtb16 r10, r10, ror #8\n"
      "sxtb16 r11, r11, ror #8\n"
      "sxtb16 lr, lr, ror #8\n"
      "stmia r3!, {r1, r10, r11, lr}\n"
      "subs r2, #1\n"
      "bne 1b\n"
      "pop {r4-r11, pc}\n");
}

#else

namespace {

/// Returns the sum of one output of one pixel.
uint32_t Sum(const QuadGemm& gemm, const uint8_t* x, int output) {
  uint32_t sum = gemm.bias[output];
  const int16_t* w = gemm.w + 2 * output;
  constexpr int kHalves = 2 * kQuadOutputs;
  for (int step = 0; step < gemm.steps; ++step, x += 4, w += 2 * kHalves) {
    const uint32_t word = LoadWord(x);
    sum = AddProducts(AddEvenBytes(gemm.less, word), LoadWord(w), sum);
    sum = AddProducts(AddOddBytes(gemm.less, word), LoadWord(w + kHalves), sum);
  }
  return sum;
}

}  // namespace

void MultiplyQuads(QuadGemm& gemm) {
  const uint8_t* x = gemm.x;
  for (; gemm.count > 0; --gemm.count) {
    for (int output = 0; output < kQuadOutputs; ++output) {
      const uint32_t sum = Sum(gemm, x, output);
      gemm.y[output] =
          ByteOf(gemm.requantizer[output], gemm.kind, IsDoubled(gemm.kind) ? 2 * sum : sum);
    }
    gemm.y += gemm.y_step;
    x += gemm.steps * 4 + gemm.x_gap;
  }
}

void WidenQuads(const uint8_t* from, ptrdiff_t row_bytes, int words, int16_t* to) {
  for (; words > 0; --words, from += 4) {
    for (int output = 0; output < kQuadOutputs; ++output, to += 2) {
      const uint32_t word = LoadWord(from + output * row_bytes);
      StoreWord(to, AddEvenBytes(0, word));
      StoreWord(to + 2 * kQuadOutputs, AddOddBytes(0, word));
    }
    to += 2 * kQuadOutputs;
  }
}

#endif

}  // namespace tenon::cpu::dsp
