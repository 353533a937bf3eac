#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kWordBytes = 4;

template <bool kInOrder>
void WidenWords(const Widening& widening, const uint8_t* from, int words, int16_t* to, int step) {
  for (; words > 0; --words, from += kWordBytes, to += step) {
    const uint32_t word = LoadWord(from) ^ widening.flip;
    const uint32_t even = SubtractHalves(EvenBytes(word), widening.zeros);
    const uint32_t odd = SubtractHalves(OddBytes(word), widening.zeros);
    StoreWord(to, kInOrder ? LowHalves(even, odd) : even);
    StoreWord(to + 2, kInOrder ? HighHalves(even, odd) : odd);
  }
}

}  // namespace

void Widen(const Widening& widening, const uint8_t* from, int count, int16_t* to, int step) {
  const int words = count / kWordBytes;
  if (widening.in_order) {
    WidenWords<true>(widening, from, words, to, step);
  } else {
    WidenWords<false>(widening, from, words, to, step);
  }
  from += words * kWordBytes;
  to += words * step;
  for (int i = 0; i < count % kWordBytes; ++i) to[i] = Widened(widening, from[i]);
}

}  // namespace tenon::cpu::dsp
