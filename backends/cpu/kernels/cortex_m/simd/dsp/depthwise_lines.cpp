#include "backends/cpu/kernels/cortex_m/simd/dsp/depthwise_lines.hpp"

#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {
namespace {

#if TENON_DSP_INSTRUCTIONS

static_assert(sizeof(Lines) == 64 && offsetof(Lines, bias) == 0 && offsetof(Lines, weights) == 8 &&
              offsetof(Lines, requantizer) == 32 && offsetof(Lines, y_row) == 44 &&
              offsetof(Lines, y_step) == 48 && offsetof(Lines, columns) == 52 &&
              offsetof(Lines, x) == 56 && offsetof(Lines, y) == 60);

// r0, r1 sums, r2-r7 weights and then factors, r8, r9 inputs, r10 x, r11 y, r12 the middle of the
// channel, lr columns left. On the stack, where the channels end.

// Adds both rows' products with a column whose words are at `place`; steps of 1.
#define TENON_COLUMN(place, a, b) \
  "ldrd r8, r9, [r10" place       \
  "\n"                            \
  "smlad r0, r8, " a              \
  ", r0\n"                        \
  "smlatb r1, r8, " a             \
  ", r1\n"                        \
  "smlabt r0, r9, " b             \
  ", r0\n"                        \
  "smlad r1, r9, " b ", r1\n"

// Steps of 2; the third word is at `last`.
#define TENON_COLUMN_APART(place, last, a, b) \
  "ldrd r8, r9, [r10" place                   \
  "\n"                                        \
  "smlad r0, r8, " a                          \
  ", r0\n"                                    \
  "ldr r8, [r10" last                         \
  "\n"                                        \
  "smlabt r0, r9, " b                         \
  ", r0\n"                                    \
  "smlad r1, r9, " a                          \
  ", r1\n"                                    \
  "smlabt r1, r8, " b ", r1\n"

#define TENON_COLUMNS                \
  TENON_COLUMN("], #32", "r2", "r3") \
  TENON_COLUMN("]", "r4", "r5") TENON_COLUMN(", #32]", "r6", "r7")
// The next window begins two columns of 48 bytes further.
#define TENON_COLUMNS_APART                            \
  TENON_COLUMN_APART("], #96", ", #-88]", "r2", "r3")  \
  TENON_COLUMN_APART(", #-48]", ", #-40]", "r4", "r5") \
  TENON_COLUMN_APART("]", ", #8]", "r6", "r7")

// The first row's byte takes the second one's place where there is no second.
#define TENON_LINES(columns, first_offset, second_offset)                        \
  "add r12, r0, #32\n"                                                           \
  "adds r1, #32\n"                                                               \
  "push {r1, r4-r11, lr}\n"                                                      \
  "1:\n"                                                                         \
  "ldrd lr, r10, [r12, #20]\n"                                                   \
  "ldr r11, [r12, #28]\n"                                                        \
  "2:\n"                                                                         \
  "ldmdb r12, {r0-r7}\n" columns "ldm r12, {r2-r6}\n" first_offset second_offset \
  "asrs r0, r4\n"                                                                \
  "asrs r1, r4\n"                                                                \
  "ssat r0, #8, r0\n"                                                            \
  "ssat r1, #8, r1\n"                                                            \
  "strb r1, [r11, r5]\n"                                                         \
  "strb r0, [r11]\n"                                                             \
  "add r11, r6\n"                                                                \
  "subs lr, #1\n"                                                                \
  "bne 2b\n"                                                                     \
  "add r12, #64\n"                                                               \
  "ldr r0, [sp]\n"                                                               \
  "cmp r12, r0\n"                                                                \
  "bne 1b\n"                                                                     \
  "pop {r1, r4-r11, pc}\n"

#define TENON_DOUBLED(columns)            \
  TENON_LINES(columns,                    \
              "add r7, r3, r0, asr #31\n" \
              "smmlar r0, r0, r2, r7\n",  \
              "add r7, r3, r1, asr #31\n" \
              "smmlar r1, r1, r2, r7\n")
#define TENON_RELU(columns) \
  TENON_LINES(columns, "smmlar r0, r0, r2, r3\n", "smmlar r1, r1, r2, r3\n")

// The compiler must not conclude from what it sees that nobody reads the channels.
#define TENON_NAKED __attribute__((naked, noipa))

/// Channels [lines, end).
TENON_NAKED void RunDoubled(const Lines*, const Lines*) {
  __asm__ volatile(TENON_DOUBLED(TENON_COLUMNS));
}
TENON_NAKED void RunRelu(const Lines*, const Lines*) {
  __asm__ volatile(TENON_RELU(TENON_COLUMNS));
}
TENON_NAKED void RunDoubledApart(const Lines*, const Lines*) {
  __asm__ volatile(TENON_DOUBLED(TENON_COLUMNS_APART));
}
TENON_NAKED void RunReluApart(const Lines*, const Lines*) {
  __asm__ volatile(TENON_RELU(TENON_COLUMNS_APART));
}

#undef TENON_NAKED
#undef TENON_RELU
#undef TENON_DOUBLED
#undef TENON_LINES
#undef TENON_COLUMNS_APART
#undef TENON_COLUMNS
#undef TENON_COLUMN_APART
#undef TENON_COLUMN

#else

uint32_t AddLowByHigh(uint32_t x, uint32_t weights, uint32_t sum) {
  return sum + static_cast<uint32_t>(LowHalf(x) * HighHalf(weights));
}

template <int kStride>
void RunInPlain(const Lines* lines, const Lines* end) {
  constexpr int kColumnWords = kLineChannels * LineWords(kStride);
  for (; lines != end; ++lines) {
    const uint32_t* x = lines->x;
    uint8_t* y = lines->y;
    for (ptrdiff_t i = 0; i < lines->columns; ++i, y += lines->y_step) {
      uint32_t sums[2] = {lines->bias[0], lines->bias[1]};
      for (int j = 0; j < kLineTaps; ++j) {
        const uint32_t* const words = x + j * kColumnWords;
        const uint32_t* const w = lines->weights + 2 * j;
        sums[0] = AddLowByHigh(words[1], w[1], AddProducts(words[0], w[0], sums[0]));
        if (kStride == 1) {
          sums[1] = AddProducts(words[1], w[1], sums[1]) +
                    static_cast<uint32_t>(HighHalf(words[0]) * LowHalf(w[0]));
        } else {
          sums[1] = AddLowByHigh(words[2], w[1], AddProducts(words[1], w[0], sums[1]));
        }
      }
      for (int j = 1; j >= 0; --j) {
        const auto sum = static_cast<int32_t>(sums[j]);
        y[j * lines->y_row] =
            static_cast<uint8_t>(SaturateToByte(RequantizeDoubled(lines->requantizer, sum)));
      }
      x += kStride * kColumnWords;
    }
  }
}

void RunDoubled(const Lines* lines, const Lines* end) { RunInPlain<1>(lines, end); }
void RunRelu(const Lines* lines, const Lines* end) { RunInPlain<1>(lines, end); }
void RunDoubledApart(const Lines* lines, const Lines* end) { RunInPlain<2>(lines, end); }
void RunReluApart(const Lines* lines, const Lines* end) { RunInPlain<2>(lines, end); }

#endif

}  // namespace

RunLines* LinesRoutine(RequantizeKind kind, int stride) {
  const bool is_relu = kind == RequantizeKind::kRelu;
  if (stride == 1) return is_relu ? RunRelu : RunDoubled;
  return is_relu ? RunReluApart : RunDoubledApart;
}

}  // namespace tenon::cpu::dsp
