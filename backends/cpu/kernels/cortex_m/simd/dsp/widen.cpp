#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kWordBytes = 4;

/// Four bytes, in the order of unpacking.
template <bool kDoubled>
void WidenWord(const Widening& widening, const uint8_t* from, uint32_t& even, uint32_t& odd) {
  const uint32_t word = LoadWord(from) ^ widening.flip;
  even = AddEvenBytes(widening.less, word);
  odd = AddOddBytes(widening.less, word);
  if (!kDoubled) return;
  even = DoubledHalves(even);
  odd = DoubledHalves(odd);
}

template <bool kDoubled, int kStep>
void WidenWords(const Widening& widening, const uint8_t* from, const uint8_t* end, int16_t* to) {
#pragma GCC unroll 2
  for (; from != end; from += kWordBytes, to += kStep) {
    uint32_t even;
    uint32_t odd;
    WidenWord<kDoubled>(widening, from, even, odd);
    StoreTwoWords(to, even, odd);
  }
}

template <bool kDoubled>
void WidenInOrder(const Widening& widening, const uint8_t* from, const uint8_t* end, int16_t* to,
                  int step) {
  for (; from != end; from += kWordBytes, to += step) {
    uint32_t even;
    uint32_t odd;
    WidenWord<kDoubled>(widening, from, even, odd);
    StoreWord(to, LowHalves(even, odd));
    StoreWord(to + 2, HighHalves(even, odd));
  }
}

}  // namespace

void Widen(const Widening& widening, const uint8_t* from, int count, int16_t* to, int step) {
  const int words = count / kWordBytes;
  const uint8_t* const end = from + words * kWordBytes;
  const bool is_wide = step == 8;
  if (widening.in_order) {
    (widening.doubled ? WidenInOrder<true> : WidenInOrder<false>)(widening, from, end, to, step);
  } else if (widening.doubled) {
    (is_wide ? WidenWords<true, 8> : WidenWords<true, 4>)(widening, from, end, to);
  } else {
    (is_wide ? WidenWords<false, 8> : WidenWords<false, 4>)(widening, from, end, to);
  }
  to += words * step;
  for (int i = 0; i < count % kWordBytes; ++i) to[i] = Widened(widening, end[i]);
}

}  // namespace tenon::cpu::dsp
