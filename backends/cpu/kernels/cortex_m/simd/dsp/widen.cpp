#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"

#include "backends/cpu/kernels/cortex_m/operands.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kWordBytes = 4;

template <bool kDoubled, int kStep>
void WidenWords(const Widening& widening, const uint8_t* from, const uint8_t* end, int16_t* to) {
#pragma GCC unroll 2
  for (; from != end; from += kWordBytes, to += kStep) {
    const uint32_t word = LoadWord(from) ^ widening.flip;
    const uint32_t even = AddEvenBytes(widening.less, word);
    const uint32_t odd = AddOddBytes(widening.less, word);
    if (kDoubled) {
      StoreTwoWords(to, DoubledHalves(even), DoubledHalves(odd));
    } else {
      StoreTwoWords(to, even, odd);
    }
  }
}

/// Halves of bytes 0 and 2, and of 1 and 3.
struct Halved {
  uint32_t even;
  uint32_t odd;
};

Halved Unpack(const Widening& widening, const uint8_t* from) {
  const uint32_t word = LoadWord(from) ^ widening.flip;
  const uint32_t even = AddEvenBytes(widening.less, word);
  const uint32_t odd = AddOddBytes(widening.less, word);
  if (!widening.doubled) return {even, odd};
  return {DoubledHalves(even), DoubledHalves(odd)};
}

#if TENON_DSP_INSTRUCTIONS
// `pairs` pairs of rows, `gap` bytes from the end of a row to the one after the next, by hand,
// since the compiler does not store four words at once.
void WidenByHand(const Widening& widening, const uint8_t* a, const uint8_t* b, ptrdiff_t gap,
                 int pairs, int words, int16_t* to) {
  if (words == 0) return;
#define TENON_UNPACK_TWO              \
  "ldr r5, [%[a]], #4\n"              \
  "ldr r9, [%[b]], #4\n"              \
  "sxtab16 r4, %[less], r5\n"         \
  "sxtab16 r5, %[less], r5, ror #8\n" \
  "sxtab16 r8, %[less], r9\n"         \
  "sxtab16 r9, %[less], r9, ror #8\n"
#define TENON_NEXT_PAIR \
  "add %[a], %[gap]\n"  \
  "add %[b], %[gap]\n"  \
  "subs %[pairs], #1\n"
  if (widening.doubled) {
    __asm__ volatile(
        "1:\n"
        "mov r10, %[words]\n"
        "2:\n" TENON_UNPACK_TWO
        "subs r10, #1\n"
        "sadd16 r4, r4, r4\n"
        "sadd16 r5, r5, r5\n"
        "sadd16 r8, r8, r8\n"
        "sadd16 r9, r9, r9\n"
        "stmia %[to]!, {r4, r5, r8, r9}\n"
        "bne 2b\n" TENON_NEXT_PAIR "bne 1b\n"
        : [a] "+r"(a), [b] "+r"(b), [pairs] "+r"(pairs), [to] "+r"(to)
        : [less] "r"(widening.less), [words] "r"(words), [gap] "r"(gap)
        : "r4", "r5", "r8", "r9", "r10", "cc", "memory");
  } else if (words % 2 == 0) {
    __asm__ volatile(
        "1:\n"
        "mov r10, %[words]\n"
        "2:\n" TENON_UNPACK_TWO "stmia %[to]!, {r4, r5, r8, r9}\n" TENON_UNPACK_TWO
        "subs r10, #2\n"
        "stmia %[to]!, {r4, r5, r8, r9}\n"
        "bne 2b\n" TENON_NEXT_PAIR "bne 1b\n"
        : [a] "+r"(a), [b] "+r"(b), [pairs] "+r"(pairs), [to] "+r"(to)
        : [less] "r"(widening.less), [words] "r"(words), [gap] "r"(gap)
        : "r4", "r5", "r8", "r9", "r10", "cc", "memory");
  } else {
    __asm__ volatile(
        "1:\n"
        "mov r10, %[words]\n"
        "2:\n" TENON_UNPACK_TWO
        "subs r10, #1\n"
        "stmia %[to]!, {r4, r5, r8, r9}\n"
        "bne 2b\n" TENON_NEXT_PAIR "bne 1b\n"
        : [a] "+r"(a), [b] "+r"(b), [pairs] "+r"(pairs), [to] "+r"(to)
        : [less] "r"(widening.less), [words] "r"(words), [gap] "r"(gap)
        : "r4", "r5", "r8", "r9", "r10", "cc", "memory");
  }
#undef TENON_UNPACK_TWO
#undef TENON_NEXT_PAIR
}

// Pairs of pixels of WidenPlanes.
void WidenPlanesByHand(const Widening& widening, const uint8_t* from, ptrdiff_t step, int pairs,
                       int16_t* to, ptrdiff_t plane) {
  int16_t* third = to + 2 * plane;
  uint32_t even;
  uint32_t odd;
  uint32_t next_even;
  uint32_t next_odd;
  uint32_t both;
  __asm__ volatile(
      "1:\n"
      "ldr %[odd], [%[from]]\n"
      "ldr %[next_odd], [%[from], %[step]]\n"
      "add %[from], %[from], %[step], lsl #1\n"
      "sxtab16 %[even], %[less], %[odd]\n"
      "sxtab16 %[odd], %[less], %[odd], ror #8\n"
      "sxtab16 %[next_even], %[less], %[next_odd]\n"
      "sxtab16 %[next_odd], %[less], %[next_odd], ror #8\n"
      "pkhbt %[both], %[odd], %[next_odd], lsl #16\n"
      "str %[both], [%[to], %[plane]]\n"
      "pkhbt %[both], %[even], %[next_even], lsl #16\n"
      "str %[both], [%[to]], #4\n"
      "pkhtb %[next_odd], %[next_odd], %[odd], asr #16\n"
      "str %[next_odd], [%[third], %[plane]]\n"
      "pkhtb %[next_even], %[next_even], %[even], asr #16\n"
      "str %[next_even], [%[third]], #4\n"
      "subs %[pairs], #1\n"
      "bne 1b\n"
      : [from] "+r"(from), [to] "+r"(to), [third] "+r"(third), [pairs] "+r"(pairs),
        [even] "=&r"(even), [odd] "=&r"(odd), [next_even] "=&r"(next_even),
        [next_odd] "=&r"(next_odd), [both] "=&r"(both)
      : [less] "r"(widening.less), [step] "r"(step),
        [plane] "r"(plane * static_cast<ptrdiff_t>(sizeof(int16_t)))
      : "cc", "memory");
}
#endif

}  // namespace

void Widen(const Widening& widening, const uint8_t* from, int words, int16_t* to, int step) {
  const uint8_t* const end = from + words * kWordBytes;
  const bool is_wide = step == 2 * kWordBytes;
  if (widening.doubled) {
    (is_wide ? WidenWords<true, 8> : WidenWords<true, 4>)(widening, from, end, to);
  } else {
    (is_wide ? WidenWords<false, 8> : WidenWords<false, 4>)(widening, from, end, to);
  }
}

void WidenTwo(const Widening& widening, const uint8_t* a, const uint8_t* b, int words,
              int16_t* to) {
#if TENON_DSP_INSTRUCTIONS
  if (widening.flip == 0) return WidenByHand(widening, a, b, 0, 1, words, to);
#endif
  Widen(widening, a, words, to, 2 * kWordBytes);
  Widen(widening, b, words, to + kWordBytes, 2 * kWordBytes);
}

void WidenPairs(const Widening& widening, const uint8_t* from, ptrdiff_t step, int rows, int words,
                int16_t* to) {
  const ptrdiff_t pair_halves = ptrdiff_t{words} * 2 * kWordBytes;
#if TENON_DSP_INSTRUCTIONS
  if (widening.flip == 0 && rows > 1) {
    const int pairs = rows / 2;
    WidenByHand(widening, from, from + step, 2 * step - ptrdiff_t{words} * kWordBytes, pairs, words,
                to);
    from += 2 * step * pairs;
    to += pair_halves * pairs;
    rows %= 2;
  }
#endif
  for (; rows > 0; rows -= 2, from += 2 * step, to += pair_halves) {
    WidenTwo(widening, from, rows > 1 ? from + step : from, words, to);
  }
}

void WidenPlanes(const Widening& widening, const uint8_t* from, ptrdiff_t step, int count,
                 int16_t* to, ptrdiff_t plane) {
#if TENON_DSP_INSTRUCTIONS
  if (widening.flip == 0 && !widening.doubled && count > 1) {
    WidenPlanesByHand(widening, from, step, count / 2, to, plane);
    from += step * (count / 2 * 2);
    to += count / 2 * 2;
    count %= 2;
  }
#endif
  int16_t* second = to + plane;
  int16_t* third = second + plane;
  int16_t* fourth = third + plane;
  for (; count > 1; count -= 2, from += 2 * step) {
    const Halved pixel = Unpack(widening, from);
    const Halved next = Unpack(widening, from + step);
    StoreWord(to, LowHalves(pixel.even, next.even));
    StoreWord(second, LowHalves(pixel.odd, next.odd));
    StoreWord(third, HighHalves(pixel.even, next.even));
    StoreWord(fourth, HighHalves(pixel.odd, next.odd));
    to += 2;
    second += 2;
    third += 2;
    fourth += 2;
  }
  if (count == 0) return;
  const Halved pixel = Unpack(widening, from);
  *to = static_cast<int16_t>(LowHalf(pixel.even));
  *second = static_cast<int16_t>(LowHalf(pixel.odd));
  *third = static_cast<int16_t>(HighHalf(pixel.even));
  *fourth = static_cast<int16_t>(HighHalf(pixel.odd));
}

Widening WideningOfX(const OpCall& op, bool doubled) {
  return WideningOf(op.Input(0).dtype == DType::kI8,
                    static_cast<uint8_t>(cortex_m::ZeroPointOf(op)), doubled);
}

}  // namespace tenon::cpu::dsp
