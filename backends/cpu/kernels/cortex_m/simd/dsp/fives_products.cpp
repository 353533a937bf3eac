#include "backends/cpu/kernels/cortex_m/simd/dsp/fives_products.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {
namespace {

#if !TENON_DSP_INSTRUCTIONS || !(defined(__ARM_FP) && (__ARM_FP & 4))

constexpr int kWordHalves = 2;
constexpr int kFiveHalves = kWordHalves * kFivePixels;

uint32_t SumOf(const FiveGemm& gemm, const uint8_t* w, int pixel, int32_t bias) {
  uint32_t sum = static_cast<uint32_t>(bias) << gemm.doubling;
  const int16_t* x = gemm.x + kWordHalves * pixel;
  for (int32_t i = 0; i < gemm.steps; ++i, w += 4, x += 2 * kFiveHalves) {
    const uint32_t word = LoadWord(w);
    sum = AddProducts(LoadWord(x), AddEvenBytes(0, word), sum);
    sum = AddProducts(LoadWord(x + kFiveHalves), AddOddBytes(0, word), sum);
  }
  return sum;
}

Requantizer RequantizerOf(const FiveGemm& gemm, int32_t output) {
  const auto factor = static_cast<int32_t>(LoadWord(gemm.factors + ptrdiff_t{4} * output));
  if (gemm.kind == RequantizeKind::kFloat) return {factor, gemm.zero_point, 0};
  const int32_t right = -gemm.shifts[output];
  return {factor, gemm.zero_point * (1 << (right - 1)), right};
}

void MultiplyInPlain(const FiveGemm& gemm) {
  const uint8_t* w = gemm.w;
  for (int32_t i = 0; i < gemm.outputs; ++i, w += ptrdiff_t{gemm.steps} * 4) {
    const Requantizer requantizer = RequantizerOf(gemm, i);
    for (int pixel = 0; pixel < kFivePixels; ++pixel) {
      gemm.y[pixel * gemm.y_step + i] =
          ByteOf(requantizer, gemm.kind, SumOf(gemm, w, pixel, gemm.bias[i]));
    }
  }
}

#endif

#if TENON_DSP_INSTRUCTIONS

// 15 instructions for 20 products. r0-r4 are sums, r5 is the next weight, r6 the next input.
#define TENON_FIVE_STEP       \
  "ldr r8, [r5], #4\n"        \
  "sxtb16 r7, r8\n"           \
  "sxtb16 r8, r8, ror #8\n"   \
  "ldmia r6!, {r9-r12, lr}\n" \
  "smlad r0, r7, r9, r0\n"    \
  "smlad r1, r7, r10, r1\n"   \
  "smlad r2, r7, r11, r2\n"   \
  "smlad r3, r7, r12, r3\n"   \
  "smlad r4, r7, lr, r4\n"    \
  "ldmia r6!, {r9-r12, lr}\n" \
  "smlad r0, r8, r9, r0\n"    \
  "smlad r1, r8, r10, r1\n"   \
  "smlad r2, r8, r11, r2\n"   \
  "smlad r3, r8, r12, r3\n"   \
  "smlad r4, r8, lr, r4\n"

// A sum to a byte by the factor in r6, the offset in r7 and the shift in r8.
#define TENON_DOUBLED(sum) TENON_SIGN(sum, "r7") TENON_REQUANTIZE(sum, "r6", "lr", "r8")
// Of what is negative, the least byte becomes anyway: see RequantizeKind.
#define TENON_RELU(sum) TENON_REQUANTIZE(sum, "r6", "r7", "r8")

// An output's factor, offset and shift, to these registers.
#define TENON_LOAD_FACTORS                            \
  "ldrd r10, r11, [sp, #12]\n"                        \
  "ldr r12, [sp, #32]\n"                              \
  "ldr r6, [r10], #4\n"                               \
  "ldrsb r8, [r11], #1\n"                             \
  "strd r10, r11, [sp, #12]\n"                        \
  "mvn r7, r8\n" /* the shift to the right, less 1 */ \
  "lsl r7, r12, r7\n"                                 \
  "rsb r8, #0\n"

#if defined(__ARM_FP) && (__ARM_FP & 4)
#define TENON_FIVE_FLOATS \
  "ldr r10, [sp, #12]\n"                                               \
  "ldr r12, [sp, #32]\n"                                               \
  "vldmia r10!, {s5}\n"                                                \
  "str r10, [sp, #12]\n"                                               \
  "vmov s0, s1, r0, r1\n"                                              \
  "vmov s2, s3, r2, r3\n"                                              \
  "vmov s4, r4\n"                                                      \
  TENON_FLOAT("s0") TENON_FLOAT("s1") TENON_FLOAT("s2")                \
  TENON_FLOAT("s3") TENON_FLOAT("s4")                                  \
  TENON_ROUND("s0", "s5") TENON_ROUND("s1", "s5")                      \
  TENON_ROUND("s2", "s5") TENON_ROUND("s3", "s5")                      \
  TENON_ROUND("s4", "s5")                                              \
  "vmov r0, r1, s0, s1\n"                                              \
  "vmov r2, r3, s2, s3\n"                                              \
  "vmov r4, s4\n"                                                      \
  TENON_BYTE("r0", "r12") TENON_BYTE("r1", "r12")                      \
  TENON_BYTE("r2", "r12") TENON_BYTE("r3", "r12")                      \
  TENON_BYTE("r4", "r12")
#else
#define TENON_FIVE_FLOATS
#endif

static_assert(offsetof(FiveGemm, x) == 0 && offsetof(FiveGemm, bias) == 4 &&
              offsetof(FiveGemm, x_end) == 8 && offsetof(FiveGemm, factors) == 12 &&
              offsetof(FiveGemm, shifts) == 16 && offsetof(FiveGemm, y) == 20 &&
              offsetof(FiveGemm, y_step) == 24 && offsetof(FiveGemm, outputs) == 28 &&
              offsetof(FiveGemm, zero_point) == 32 && offsetof(FiveGemm, doubling) == 36 &&
              offsetof(FiveGemm, w) == 40 && offsetof(FiveGemm, steps) == 44 &&
              offsetof(FiveGemm, kind) == 48);

// The stack: FiveGemm up to `doubling`, 40 where an output's products begin, 44 what makes bytes. A
// round is eight steps; the first one is entered in its middle, where the number of steps is no
// multiple of eight.
__attribute__((naked, noipa)) void MultiplyAll(const FiveGemm&) {
  __asm__ volatile(
      "push {r4-r11, lr}\n"
      "sub sp, #52\n"
      "mov r12, sp\n"
      "ldmia r0!, {r1-r8}\n"
      "stmia r12!, {r1-r8}\n"
      "ldmia r0, {r1, r2, r5, r6, r7}\n"
      "stmia r12!, {r1, r2}\n"
      "adr.w r3, 4f\n"
      "cmp r7, #1\n"
      "beq 1f\n"
      "adr.w r3, 8f\n"
      "blt 1f\n"
      "adr.w r3, 5f\n"
      "1:\n"
      "orr r3, #1\n"  // addresses of Thumb code
      "rsb r6, #0\n"
      "and r6, #7\n"  // steps left out of the first round
      "mov r2, #60\n"
      "adr.w r1, 3f\n"
      "mla r2, r6, r2, r1\n"
      "orr r2, #1\n"
      "stm r12, {r2, r3}\n"

      // An output.
      "6:\n"
      "ldrd r6, r7, [sp]\n"
      "ldr r8, [sp, #36]\n"
      "ldr r0, [r7], #4\n"
      "str r7, [sp, #4]\n"
      "lsl r0, r8\n"
      "mov r1, r0\n"
      "mov r2, r0\n"
      "mov r3, r0\n"
      "mov r4, r0\n"
      "ldr pc, [sp, #40]\n"

      ".balign 4\n"
      "3:\n" TENON_FIVE_STEP TENON_FIVE_STEP TENON_FIVE_STEP TENON_FIVE_STEP TENON_FIVE_STEP
          TENON_FIVE_STEP TENON_FIVE_STEP TENON_FIVE_STEP
      "ldr r7, [sp, #8]\n"
      "cmp r6, r7\n"
      "bne.w 3b\n"
      "ldr pc, [sp, #44]\n"

      ".balign 4\n"
      "8:\n" TENON_LOAD_FACTORS TENON_DOUBLED("r0") TENON_DOUBLED("r1") TENON_DOUBLED("r2")
          TENON_DOUBLED("r3") TENON_DOUBLED("r4")
      "b 7f\n"
      ".balign 4\n"
      "4:\n" TENON_LOAD_FACTORS TENON_RELU("r0") TENON_RELU("r1") TENON_RELU("r2")
          TENON_RELU("r3") TENON_RELU("r4")
      "7:\n"
      "ldrd r9, r10, [sp, #20]\n"
      "ldr r11, [sp, #28]\n"
      "strb r0, [r9]\n"
      "strb r1, [r9, r10]\n"
      "strb r2, [r9, r10, lsl #1]\n"
      "strb r4, [r9, r10, lsl #2]\n"
      "add r12, r9, r10\n"
      "strb r3, [r12, r10, lsl #1]\n"
      "add r9, #1\n"
      "str r9, [sp, #20]\n"
      "subs r11, #1\n"
      "str r11, [sp, #28]\n"
      "bne.w 6b\n"
      "add sp, #52\n"
      "pop {r4-r11, pc}\n"

      ".balign 4\n"
      "5:\n" TENON_FIVE_FLOATS
      "b 7b\n");
}

#undef TENON_FIVE_STEP
#undef TENON_DOUBLED
#undef TENON_RELU
#undef TENON_LOAD_FACTORS
#undef TENON_FIVE_FLOATS

#endif

}  // namespace

void MultiplyFives(const FiveGemm& gemm) {
#if !TENON_DSP_INSTRUCTIONS
  MultiplyInPlain(gemm);
#elif !(defined(__ARM_FP) && (__ARM_FP & 4))
  gemm.kind == RequantizeKind::kFloat ? MultiplyInPlain(gemm) : MultiplyAll(gemm);
#else
  MultiplyAll(gemm);
#endif
}

#if TENON_DSP_INSTRUCTIONS

namespace {

#define TENON_WIDEN(doubled)              \
  "push {r4, r5, lr}\n"                   \
  "1:\n"                                  \
  "ldr r12, [r1], #4\n"                   \
  "sxtab16 r4, r0, r12\n"                 \
  "sxtab16 r5, r0, r12, ror #8\n" doubled \
  "str r4, [r3], #20\n"                   \
  "str r5, [r3], #20\n"                   \
  "subs r2, #1\n"                         \
  "bne 1b\n"                              \
  "pop {r4, r5, pc}\n"

__attribute__((naked, noipa)) void WidenOnce(uint32_t, const uint8_t*, int32_t, int16_t*) {
  __asm__ volatile(TENON_WIDEN(""));
}
__attribute__((naked, noipa)) void WidenDoubled(uint32_t, const uint8_t*, int32_t, int16_t*) {
  __asm__ volatile(
      TENON_WIDEN("sadd16 r4, r4, r4\n"
                  "sadd16 r5, r5, r5\n"));
}

#undef TENON_WIDEN

}  // namespace

void WidenFifth(uint32_t less, bool doubled, const uint8_t* from, int32_t steps, int16_t* to) {
  (doubled ? WidenDoubled : WidenOnce)(less, from, steps, to);
}

#else

void WidenFifth(uint32_t less, bool doubled, const uint8_t* from, int32_t steps, int16_t* to) {
  for (; steps > 0; --steps, from += 4, to += 2 * kFiveHalves) {
    const uint32_t even = AddEvenBytes(less, LoadWord(from));
    const uint32_t odd = AddOddBytes(less, LoadWord(from));
    StoreWord(to, doubled ? DoubledHalves(even) : even);
    StoreWord(to + kFiveHalves, doubled ? DoubledHalves(odd) : odd);
  }
}

#endif

}  // namespace tenon::cpu::dsp
