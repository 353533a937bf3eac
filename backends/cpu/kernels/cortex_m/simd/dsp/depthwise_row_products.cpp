#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_row_products.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/requantize_code.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {
namespace {

#if !TENON_DSP_INSTRUCTIONS || !(defined(__ARM_FP) && (__ARM_FP & 4))

/// Where a channel's word is in a column, and where its half of row 2.
constexpr int kPlaceOf[kRowChannels] = {3, 0, 2, 1};
constexpr int kLastOf[kRowChannels] = {4, 5, 4, 5};

void PackColumn(const uint32_t* even, const uint32_t* odd, uint32_t* to) {
  to[0] = LowHalves(odd[0], odd[1]);
  to[1] = HighHalves(odd[0], odd[1]);
  to[2] = HighHalves(even[0], even[1]);
  to[3] = LowHalves(even[0], even[1]);
  to[4] = even[2];
  to[5] = odd[2];
}

/// Prepares the weights and factors of four channels.
void Prepare(RowGemm& gemm, bool is_float) {
  for (int i = 0; i < kRowChannels; ++i) {
    gemm.sums[i] = static_cast<uint32_t>(gemm.bias[i]) << (is_float ? 0 : 1);
    const auto factor = static_cast<int32_t>(LoadWord(gemm.factors + 4 * i));
    const int32_t right = is_float ? 0 : -gemm.shifts[i];
    const int32_t offset = gemm.zero_point * (is_float ? 1 : 1 << (right - 1));
    gemm.requantizer[i] = {factor, offset, right};
  }
  for (int i = 0; i < kColumnTaps; ++i) {
    uint32_t even[kColumnTaps];
    uint32_t odd[kColumnTaps];
    for (int row = 0; row < kColumnTaps; ++row) {
      const uint32_t word = LoadWord(gemm.w + row * gemm.w_row + i * gemm.w_column);
      even[row] = AddEvenBytes(0, word);
      odd[row] = AddOddBytes(0, word);
      if (is_float) continue;
      even[row] = DoubledHalves(even[row]);
      odd[row] = DoubledHalves(odd[row]);
    }
    PackColumn(even, odd, gemm.weights[i]);
  }
}

void LoadColumns(const RowGemm& gemm) {
  for (int32_t i = 0; i < gemm.columns; ++i) {
    uint32_t even[kColumnTaps];
    uint32_t odd[kColumnTaps];
    for (int row = 0; row < kColumnTaps; ++row) {
      const uint32_t word = LoadWord(gemm.rows[row] + i * gemm.steps[row]);
      even[row] = AddEvenBytes(gemm.less, word);
      odd[row] = AddOddBytes(gemm.less, word);
    }
    PackColumn(even, odd, gemm.inside + ptrdiff_t{i} * kColumnWords);
  }
}

uint32_t SumOf(const RowGemm& gemm, const uint32_t* x, int channel) {
  uint32_t sum = gemm.sums[channel];
  const int place = kPlaceOf[channel];
  for (int i = 0; i < kColumnTaps; ++i, x += kColumnWords) {
    sum = AddProducts(x[place], gemm.weights[i][place], sum);
    const uint32_t last = x[kLastOf[channel]];
    const uint32_t w = gemm.weights[i][kLastOf[channel]];
    sum += static_cast<uint32_t>(channel < 2 ? LowHalf(last) * LowHalf(w)
                                             : HighHalf(last) * HighHalf(w));
  }
  return sum;
}

void MultiplyInPlain(RowGemm& gemm, bool is_float) {
  const auto kind = is_float ? RequantizeKind::kFloat : RequantizeKind::kDoubled;
  constexpr auto kWordBytes = static_cast<ptrdiff_t>(sizeof(uint32_t));
  const ptrdiff_t x_step = kColumnTaps * kColumnWords + gemm.x_back / kWordBytes;
  for (; gemm.quads > 0; --gemm.quads) {
    Prepare(gemm, is_float);
    LoadColumns(gemm);
    for (int32_t j = 0; j < gemm.outputs; ++j) {
      for (int i = 0; i < kRowChannels; ++i) {
        gemm.first_y[j * gemm.y_step + i] =
            ByteOf(gemm.requantizer[i], kind, SumOf(gemm, gemm.x + j * x_step, i));
      }
    }
    gemm.first_y += kRowChannels;
    for (int row = 0; row < kColumnTaps; ++row) gemm.rows[row] += gemm.next_rows[row];
    gemm.w += kRowChannels;
    gemm.bias += kRowChannels;
    gemm.factors += kRowChannels * kWordBytes;
    if (!is_float) gemm.shifts += kRowChannels;
  }
}

#endif

#if TENON_DSP_INSTRUCTIONS

static_assert(sizeof(Requantizer) == 12 && offsetof(RowGemm, weights) == 16 &&
              offsetof(RowGemm, requantizer) == 88 && offsetof(RowGemm, y) == 136 &&
              offsetof(RowGemm, y_step) == 140 && offsetof(RowGemm, left) == 144 &&
              offsetof(RowGemm, x_back) == 148 && offsetof(RowGemm, outputs) == 152 &&
              offsetof(RowGemm, first_y) == 156 && offsetof(RowGemm, rows) == 160 &&
              offsetof(RowGemm, steps) == 172 && offsetof(RowGemm, less) == 184 &&
              offsetof(RowGemm, columns) == 188 && offsetof(RowGemm, inside) == 192 &&
              offsetof(RowGemm, x) == 196 && offsetof(RowGemm, next_rows) == 200 &&
              offsetof(RowGemm, w) == 212 && offsetof(RowGemm, w_row) == 216 &&
              offsetof(RowGemm, w_column) == 220 && offsetof(RowGemm, bias) == 224 &&
              offsetof(RowGemm, factors) == 228 && offsetof(RowGemm, shifts) == 232 &&
              offsetof(RowGemm, quads) == 236 && offsetof(RowGemm, zero_point) == 240);

// Two widened rows, whose even bytes are in `even` 0 and 1 and odd ones in `odd` 0 and 1, to the
// first words of a column, r10, r11, r12 and lr. `even1` is not r10 nor r11, `odd` none of these.
#define TENON_PACK(even0, even1, odd0, odd1) \
  "pkhbt lr, " even0 ", " even1              \
  ", lsl #16\n"                              \
  "pkhtb r12, " even1 ", " even0             \
  ", asr #16\n"                              \
  "pkhbt r10, " odd0 ", " odd1               \
  ", lsl #16\n"                              \
  "pkhtb r11, " odd1 ", " odd0 ", asr #16\n"

#define TENON_DOUBLE_HALVES(word) "sadd16 " word ", " word ", " word "\n"

// A factor in `factor` and a shift, a byte of r10, to a requantizer at r1; the zero point is in r5.
#define TENON_PREPARE(factor, shift)          \
  "sxtb r12, r10" shift                       \
  "\n"                                        \
  "mvn r11, r12\n" /* to the right, less 1 */ \
  "lsl r11, r5, r11\n"                        \
  "rsb r12, #0\n"                             \
  "stmia r1!, {" factor ", r11, r12}\n"

// The weights of a column, from r2 on, to r0. r3 is their distance from row to row, r4 from column
// to column.
#define TENON_WEIGHTS(doubled_words, doubled_last)                            \
  "ldr r6, [r2]\n"                                                            \
  "ldr r7, [r2, r3]\n"                                                        \
  "ldr r8, [r2, r3, lsl #1]\n"                                                \
  "add r2, r4\n"                                                              \
  "sxtb16 r9, r6\n"                                                           \
  "sxtb16 r12, r7\n"                                                          \
  "sxtb16 r6, r6, ror #8\n"                                                   \
  "sxtb16 r7, r7, ror #8\n" TENON_PACK("r9", "r12", "r6", "r7") doubled_words \
      "stmia r0!, {r10, r11, r12, lr}\n"                                      \
      "sxtb16 r9, r8\n"                                                       \
      "sxtb16 r10, r8, ror #8\n" doubled_last "stmia r0!, {r9, r10}\n"

// Products of a column: r0-r3 are sums, r4 the next word of x, r5 the next of RowGemm.
#define TENON_COLUMN                 \
  "ldmia r4!, {r6-r9}\n"             \
  "ldmia r5!, {r10, r11, r12, lr}\n" \
  "smlad r1, r6, r10, r1\n"          \
  "smlad r3, r7, r11, r3\n"          \
  "smlad r2, r8, r12, r2\n"          \
  "smlad r0, r9, lr, r0\n"           \
  "ldmia r4!, {r6, r7}\n"            \
  "ldmia r5!, {r10, r11}\n"          \
  "smlabb r0, r6, r10, r0\n"         \
  "smlatt r2, r6, r10, r2\n"         \
  "smlabb r1, r7, r11, r1\n"         \
  "smlatt r3, r7, r11, r3\n"

// The address of RowGemm is on the stack. `factors`: from biases in r6-r9 and what is at r3 and r4
// to initial sums at r0 and requantizers at r1.
#define TENON_ROW(factors, weights, bytes) \
  "push {r0, r4-r11, lr}\n"                \
  "10:\n"                                  \
  "add r12, r0, #224\n"                    \
  "ldm r12, {r2-r4}\n"                     \
  "ldr r5, [r0, #240]\n"                   \
  "add r1, r0, #88\n"                      \
  "ldmia r2!, {r6-r9}\n"                   \
  factors                                  \
  "ldr r5, [sp]\n"                         \
  "add r12, r5, #224\n"                    \
  "stm r12, {r2-r4}\n"                     \
  "ldr r2, [r5, #212]\n"                   \
  "ldrd r3, r4, [r5, #216]\n"              \
  "add r6, r2, #4\n"                       \
  "str r6, [r5, #212]\n"                   \
  weights weights weights                  \
  /* Four channels of the columns of x: rows r0-r2, steps r3-r5, less r6, columns r7, to r8. */ \
  "ldr r12, [sp]\n"                        \
  "add r12, #160\n"                        \
  "ldm r12, {r0-r8}\n"                     \
  "ldrd r9, r10, [r12, #40]\n"             \
  "ldr r11, [r12, #48]\n"                  \
  "add r9, r0\n"                           \
  "add r10, r1\n"                          \
  "add r11, r2\n"                          \
  "stm r12, {r9-r11}\n"                    \
  "cmp r7, #0\n"                           \
  "ble 3f\n"                               \
  "2:\n"                                   \
  "ldr r9, [r0]\n"                         \
  "ldr r11, [r1]\n"                        \
  "add r0, r3\n"                           \
  "add r1, r4\n"                           \
  "sxtab16 r10, r6, r9\n"                  \
  "sxtab16 r12, r6, r11\n"                 \
  "sxtab16 r9, r6, r9, ror #8\n"           \
  "sxtab16 r11, r6, r11, ror #8\n"         \
  TENON_PACK("r10", "r12", "r9", "r11")    \
  "stmia r8!, {r10, r11, r12, lr}\n"       \
  "ldr r9, [r2]\n"                         \
  "add r2, r5\n"                           \
  "sxtab16 r10, r6, r9\n"                  \
  "sxtab16 r11, r6, r9, ror #8\n"          \
  "stmia r8!, {r10, r11}\n"                \
  "subs r7, #1\n"                          \
  "bne 2b\n"                               \
  "3:\n"                                   \
  "ldr r5, [sp]\n"                         \
  "ldrd r6, r7, [r5, #152]\n"              \
  "ldr r4, [r5, #196]\n"                   \
  "add r8, r7, #4\n"                       \
  "str r7, [r5, #136]\n"                   \
  "str r6, [r5, #144]\n"                   \
  "str r8, [r5, #156]\n"                   \
  /* An output. */                         \
  "1:\n"                                   \
  "ldmia r5!, {r0-r3}\n" TENON_COLUMN TENON_COLUMN TENON_COLUMN \
  "ldmia r5!, {r6-r11}\n" bytes            \
  "ldm r5, {r6-r9}\n"                      \
  "bfi r0, r1, #8, #8\n"                   \
  "bfi r2, r3, #8, #8\n"                   \
  "pkhbt r0, r0, r2, lsl #16\n"            \
  "str r0, [r6]\n"                         \
  "add r6, r7\n"                           \
  "add r4, r9\n"                           \
  "str r6, [r5]\n"                         \
  "subs r8, #1\n"                          \
  "str r8, [r5, #8]\n"                     \
  "sub r5, #136\n"                         \
  "bne 1b\n"                               \
  "ldr r6, [r5, #236]\n"                   \
  "mov r0, r5\n"                           \
  "subs r6, #1\n"                          \
  "str r6, [r5, #236]\n"                   \
  "bne.w 10b\n"                            \
  "pop {r0, r4-r11, pc}\n"

/// Reads and writes what it is called with, which no compiler sees.
#define TENON_NAKED __attribute__((naked, noipa))

TENON_NAKED void MultiplyDoubled(RowGemm&) {
  __asm__ volatile(TENON_ROW(
      "lsl r6, #1\n"
      "lsl r7, #1\n"
      "lsl r8, #1\n"
      "lsl r9, #1\n"
      "stmia r0!, {r6-r9}\n"
      "ldmia r3!, {r6-r9}\n"
      "ldr r10, [r4], #4\n" TENON_PREPARE("r6", "") TENON_PREPARE("r7", ", ror #8")
          TENON_PREPARE("r8", ", ror #16") TENON_PREPARE("r9", ", ror #24"),
      TENON_WEIGHTS(TENON_DOUBLE_HALVES("r10") TENON_DOUBLE_HALVES("r11") TENON_DOUBLE_HALVES("r12")
                        TENON_DOUBLE_HALVES("lr"),
                    TENON_DOUBLE_HALVES("r9") TENON_DOUBLE_HALVES("r10")),
      TENON_SIGN("r0", "r7") TENON_REQUANTIZE("r0", "r6", "lr", "r8") TENON_SIGN("r1", "r10")
          TENON_REQUANTIZE("r1", "r9", "lr", "r11") "ldmia r5!, {r6-r11}\n" TENON_SIGN("r2", "r7")
              TENON_REQUANTIZE("r2", "r6", "lr", "r8") TENON_SIGN("r3", "r10")
                  TENON_REQUANTIZE("r3", "r9", "lr", "r11")));
}

#if defined(__ARM_FP) && (__ARM_FP & 4)
TENON_NAKED void MultiplyFloat(RowGemm&) {
  __asm__ volatile(TENON_ROW(
      "stmia r0!, {r6-r9}\n"
      "ldmia r3!, {r6-r9}\n"
      "mov r11, r5\n"
      "stmia r1!, {r6, r11, r12}\n"
      "stmia r1!, {r7, r11, r12}\n"
      "stmia r1!, {r8, r11, r12}\n"
      "stmia r1!, {r9, r11, r12}\n",
      TENON_WEIGHTS("", ""),
      "vmov s4, s5, r6, r9\n"
      "ldmia r5!, {r6-r11}\n"
      "vmov s6, s7, r6, r9\n"
      "vmov s0, s1, r0, r1\n"
      "vmov s2, s3, r2, r3\n" TENON_FLOAT("s0") TENON_FLOAT("s1") TENON_FLOAT("s2")
          TENON_FLOAT("s3") TENON_ROUND("s0", "s4") TENON_ROUND("s1", "s5") TENON_ROUND("s2", "s6")
              TENON_ROUND("s3", "s7") "vmov r0, r1, s0, s1\n"
                                      "vmov r2, r3, s2, s3\n" TENON_BYTE("r0", "r7")
                                          TENON_BYTE("r1", "r7") TENON_BYTE("r2", "r7")
                                              TENON_BYTE("r3", "r7")));
}
#endif

#undef TENON_NAKED
#undef TENON_ROW
#undef TENON_COLUMN
#undef TENON_WEIGHTS
#undef TENON_PREPARE
#undef TENON_DOUBLE_HALVES
#undef TENON_PACK

#endif

}  // namespace

void MultiplyRow(RowGemm& gemm, bool is_float) {
#if !TENON_DSP_INSTRUCTIONS
  MultiplyInPlain(gemm, is_float);
#elif !(defined(__ARM_FP) && (__ARM_FP & 4))
  is_float ? MultiplyInPlain(gemm, is_float) : MultiplyDoubled(gemm);
#else
  is_float ? MultiplyFloat(gemm) : MultiplyDoubled(gemm);
#endif
}

}  // namespace tenon::cpu::dsp
