#include <cstddef>

#include "backends/cpu/kernels/cortex_m/simd/dsp/dot_products_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/winograd.hpp"

namespace tenon::cpu::dsp {

#if TENON_DSP_INSTRUCTIONS

// r0-r3 are sums ([pixel][output]), r4 is the next weight and r12 the next inputs. A round is
// twelve steps; the first one of a sum of rows is entered in its middle, where the number of steps
// is no multiple of twelve.
//
// The stack is a copy of WinogradGemm: 0 bias, 16 w, 20 where a sum of rows begins, 24 sums of the
// lower row, 40 weights of the last sum of rows, 44 where it begins, 48 requantizer, 72 output, 76
// pairs, 80 x_gap, 84 y_row, 88 end of the weights of this sum of rows and what follows it, 96 the
// same of each sum of rows, 128 what makes bytes, 132 w_bytes, 136 bytes of code of the steps that
// the first round leaves out, 140 kind.

// On to the sum of rows whose end stands at `place`.
#define TENON_NEXT_SUM(place) \
  "ldrd r5, r6, [sp, #" place \
  "]\n"                       \
  "ldr r7, [sp, #80]\n"       \
  "strd r5, r6, [sp, #88]\n"  \
  "add r12, r7\n"

// The sum of rows that ends at r6 and is followed by the code at `label`.
#define TENON_SET_SUM(label, place) \
  "adr r7, " label                  \
  "\n"                              \
  "orr r7, #1\n"                    \
  "add r6, r2\n"                    \
  "strd r6, r7, [sp, #" place "]\n"

static_assert(sizeof(Requantizer) == 12 && offsetof(WinogradGemm, w) == 16 &&
              offsetof(WinogradGemm, begin) == 20 && offsetof(WinogradGemm, lower) == 24 &&
              offsetof(WinogradGemm, last_w) == 40 && offsetof(WinogradGemm, begin_last) == 44 &&
              offsetof(WinogradGemm, requantizer) == 48 && offsetof(WinogradGemm, output) == 72 &&
              offsetof(WinogradGemm, pairs) == 76 && offsetof(WinogradGemm, x_gap) == 80 &&
              offsetof(WinogradGemm, y_row) == 84 && offsetof(WinogradGemm, at) == 88 &&
              offsetof(WinogradGemm, code) == 128 && offsetof(WinogradGemm, w_bytes) == 132 &&
              offsetof(WinogradGemm, steps) == 136 && offsetof(WinogradGemm, kind) == 140 &&
              sizeof(WinogradGemm) == 144 && offsetof(WinogradPair, y) == 4 &&
              offsetof(WinogradPair, more) == 12 && sizeof(WinogradPair) == 16);

__attribute__((naked)) static void Multiply(const WinogradGemm&, uint32_t) {
  __asm__ volatile(
      "push {r3-r11, lr}\n"
      "sub sp, #144\n"
      "mov r12, sp\n"
      "mov r9, r1\n"  // bytes of code of the steps that are left out
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "add r0, #32\n"
      "ldm r0, {r1-r4}\n"  // code, w_bytes, steps, kind
      "adr r5, 1f\n"
      "add r9, r5\n"
      "orr r9, #1\n"  // an address of Thumb code
      "str r9, [sp, #20]\n"
      "str r9, [sp, #44]\n"
      "adr r5, 7f\n"
      "cbz r4, 2f\n"
      "adr r5, 8f\n"
      "cmp r4, #1\n"
      "beq 2f\n"
      "adr r5, 9f\n"
      "2:\n"
      "orr r5, #1\n"
      "str r5, [sp, #128]\n"
      "ldr r6, [sp, #16]\n" TENON_SET_SUM("3f", "96")
      "strd r6, r7, [sp, #88]\n" TENON_SET_SUM("4f", "104") TENON_SET_SUM("5f", "112")
      "str r6, [sp, #40]\n" TENON_SET_SUM("6f", "120")
      "ldr r11, [sp, #76]\n"
      "ldr r12, [r11]\n"
      "ldm sp, {r0-r4, pc}\n"

      ".balign 4\n"
      "1:\n" TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP
          TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP TENON_PAIRED_STEP
      "ldrd r5, r6, [sp, #88]\n"
      "cmp r4, r5\n"
      "bne.w 1b\n"
      "bx r6\n"

      // m0.
      ".balign 4\n"
      "3:\n" TENON_NEXT_SUM("104")
      "strd r0, r1, [sp, #24]\n"
      "strd r2, r3, [sp, #32]\n"
      "movs r0, #0\n"
      "movs r1, #0\n"
      "movs r2, #0\n"
      "movs r3, #0\n"
      "ldr pc, [sp, #20]\n"

      // m1: m0 + m1 goes on to the upper row, m0 - m1 is kept for the lower one.
      ".balign 4\n"
      "4:\n" TENON_NEXT_SUM("112")
      "ldrd r5, r6, [sp, #24]\n"
      "ldrd r7, r8, [sp, #32]\n"
      "sub r9, r5, r0\n"
      "sub r10, r6, r1\n"
      "strd r9, r10, [sp, #24]\n"
      "sub r9, r7, r2\n"
      "sub r10, r8, r3\n"
      "strd r9, r10, [sp, #32]\n"
      "add r0, r5\n"
      "add r1, r6\n"
      "add r2, r7\n"
      "add r3, r8\n"
      "ldr pc, [sp, #20]\n"

      // The upper row; flags say that it is. (They are those of the comparison of weights.)
      ".balign 4\n"
      "5:\n"
      "ldr pc, [sp, #128]\n"
      // The lower row.
      ".balign 4\n"
      "6:\n"
      "cmp r4, #0\n"
      "ldr pc, [sp, #128]\n"

      // Bytes.
      ".balign 4\n"
      "7:\n"
      "add r4, sp, #48\n"
      "ldm r4, {r4-r11}\n" TENON_SIGN("r0", "r5") TENON_REQUANTIZE("r0", "r4", "lr", "r6")
          TENON_SIGN("r1", "r8") TENON_REQUANTIZE("r1", "r7", "lr", "r9") TENON_SIGN("r2", "r5")
              TENON_REQUANTIZE("r2", "r4", "lr", "r6") TENON_SIGN("r3", "r8")
                  TENON_REQUANTIZE("r3", "r7", "lr", "r9")
      "b 10f\n"
      ".balign 4\n"
      "9:\n"
      "add r4, sp, #48\n" TENON_FLOATS
      "b 10f\n"
      ".balign 4\n"
      "8:\n"
      "add r4, sp, #48\n"
      "ldm r4, {r4-r11}\n" TENON_REQUANTIZE("r0", "r4", "r5", "r6")
          TENON_REQUANTIZE("r1", "r7", "r8", "r9") TENON_REQUANTIZE("r2", "r4", "r5", "r6")
              TENON_REQUANTIZE("r3", "r7", "r8", "r9")
      "10:\n"
      "ldrd r5, r6, [r11, #4]\n"
      "bfi r2, r3, #8, #8\n"
      "bfi r0, r1, #8, #8\n"
      "strh r2, [r6, r10]\n"
      "strh r0, [r5, r10]\n"
      "ldr r8, [sp, #84]\n"
      "bne 11f\n"
      "add r10, r8\n"
      "str r10, [sp, #72]\n" TENON_NEXT_SUM("120")
      "add r5, sp, #24\n"
      "ldm r5, {r0-r4, pc}\n"
      "11:\n"
      "ldr r6, [r11, #12]\n"
      "sub r10, r8\n"
      "cbz r6, 12f\n"
      "add r11, #16\n"
      "strd r10, r11, [sp, #72]\n"
      "ldrd r5, r6, [sp, #96]\n"
      "ldr r12, [r11]\n"
      "strd r5, r6, [sp, #88]\n"
      "ldm sp, {r0-r4, pc}\n"
      "12:\n"
      "add sp, #144\n"
      "pop {r3-r11, pc}\n");
}

void MultiplyWinograd(const WinogradGemm& gemm) {
  constexpr uint32_t kRound = 12;
  constexpr uint32_t kStepBytes = 40;
  const uint32_t odd = static_cast<uint32_t>(gemm.steps) % kRound;
  Multiply(gemm, odd == 0 ? 0 : (kRound - odd) * kStepBytes);
}

__attribute__((naked)) void SumWinogradWeights(const uint8_t*, int, int16_t*) {
  __asm__ volatile(
      "push {r4-r11, lr}\n"
      "lsl r1, #2\n"  // bytes of a row
      "add r4, r0, r1\n"
      "push {r4}\n"
      "add r3, r2, r1, lsl #2\n"
      "add r12, r2, r1, lsl #3\n"
      "add lr, r3, r1, lsl #3\n"
      "1:\n"
      "ldr r5, [r0, r1]\n"
      "ldr r6, [r0, r1, lsl #1]\n"
      "ldr r4, [r0], #4\n"
      "sxtb16 r7, r4\n"
      "sxtb16 r8, r5\n"
      "sxtb16 r9, r6\n"
      "sxtb16 r4, r4, ror #8\n"
      "sxtb16 r5, r5, ror #8\n"
      "sxtb16 r6, r6, ror #8\n"
      "sadd16 r10, r7, r9\n"
      "sadd16 r11, r4, r6\n"
      "sadd16 r7, r7, r7\n"
      "sadd16 r4, r4, r4\n"
      "strd r7, r4, [r12], #16\n"
      "sadd16 r9, r9, r9\n"
      "sadd16 r6, r6, r6\n"
      "strd r9, r6, [lr], #16\n"
      "sadd16 r7, r10, r8\n"
      "sadd16 r4, r11, r5\n"
      "strd r7, r4, [r2], #16\n"
      "ssub16 r10, r10, r8\n"
      "ssub16 r11, r11, r5\n"
      "strd r10, r11, [r3], #16\n"
      "ldr r4, [sp]\n"
      "cmp r0, r4\n"
      "bne 1b\n"
      "pop {r3-r11, pc}\n");
}

#undef TENON_NEXT_SUM
#undef TENON_SET_SUM

#else

namespace {

constexpr int kStep = 4;  // halves of a step

/// Returns the product of a sum of rows, of one output of one pixel.
uint32_t Product(const WinogradGemm& gemm, const WinogradPair& pair, int rows, int pixel,
                 int output) {
  const int16_t* x = pair.x + pixel * kStep;
  x += rows * (gemm.steps * 2 * kStep + gemm.x_gap / static_cast<int32_t>(sizeof(int16_t)));
  const int16_t* w = gemm.w + rows * gemm.steps * 2 * kStep + output * kStep;
  uint32_t sum = 0;
  for (int step = 0; step < gemm.steps; ++step, x += 2 * kStep, w += 2 * kStep) {
    for (int i = 0; i < kStep; ++i) sum += static_cast<uint32_t>(x[i] * w[i]);
  }
  return sum;
}

}  // namespace

void MultiplyWinograd(const WinogradGemm& gemm) {
  const WinogradPair* pair = gemm.pairs - 1;
  do {
    ++pair;
    for (int pixel = 1; pixel >= 0; --pixel) {
      for (int output = 0; output < 2; ++output) {
        uint32_t products[kWinogradSums];
        for (int i = 0; i < kWinogradSums; ++i) {
          products[i] = Product(gemm, *pair, i, pixel, output);
        }
        const uint32_t first = gemm.bias[pixel * 2 + output] + products[0];
        uint8_t* const y = gemm.output + pair->y[pixel] + output;
        y[0] = ByteOf(gemm.requantizer[output], gemm.kind, first + products[1] + products[2]);
        y[gemm.y_row] =
            ByteOf(gemm.requantizer[output], gemm.kind, first - products[1] + products[3]);
      }
    }
  } while (pair->more != 0);
}

void SumWinogradWeights(const uint8_t* row, int words, int16_t* to) {
  const ptrdiff_t bytes = ptrdiff_t{words} * kStep;
  const ptrdiff_t plane = 2 * bytes;
  for (const uint8_t* const end = row + bytes; row != end; row += kStep) {
    const uint32_t a = LoadWord(row);
    const uint32_t b = LoadWord(row + bytes);
    const uint32_t c = LoadWord(row + 2 * bytes);
    const uint32_t a_even = AddEvenBytes(0, a);
    const uint32_t a_odd = AddOddBytes(0, a);
    const uint32_t b_even = AddEvenBytes(0, b);
    const uint32_t b_odd = AddOddBytes(0, b);
    const uint32_t c_even = AddEvenBytes(0, c);
    const uint32_t c_odd = AddOddBytes(0, c);
    const uint32_t even = SumOfHalves(a_even, c_even);
    const uint32_t odd = SumOfHalves(a_odd, c_odd);
    StoreTwoWords(to, SumOfHalves(even, b_even), SumOfHalves(odd, b_odd));
    int16_t* place = to + plane;
    StoreTwoWords(place, DifferenceOfHalves(even, b_even), DifferenceOfHalves(odd, b_odd));
    place += plane;
    StoreTwoWords(place, DoubledHalves(a_even), DoubledHalves(a_odd));
    place += plane;
    StoreTwoWords(place, DoubledHalves(c_even), DoubledHalves(c_odd));
    to += 2 * kStep;
  }
}

#endif

}  // namespace tenon::cpu::dsp
