// Computes sums and largest bytes of windows, four channels in a word.
#include "backends/cpu/kernels/cortex_m/simd/dsp/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/words.hpp"

namespace tenon::cpu::dsp {
namespace {

constexpr int kWordBytes = 4;
constexpr int kBlockWords = cortex_m::kBlockChannels / kWordBytes;
constexpr int kMostAdded = 255;  // bytes whose sum fits 16 bits

/// Returns the larger one of each byte, signed (SSUB8, SEL).
uint32_t LargerBytes(uint32_t a, uint32_t b) {
#if TENON_DSP_INSTRUCTIONS
  uint32_t unused;
  __asm__("ssub8 %1, %2, %0\n sel %0, %2, %0" : "+r"(a), "=&r"(unused) : "r"(b) : "cc");
  return a;
#else
  uint32_t larger = 0;
  for (int shift = 0; shift < 32; shift += 8) {
    const auto left = static_cast<int8_t>(a >> shift);
    const auto right = static_cast<int8_t>(b >> shift);
    larger |= static_cast<uint32_t>(static_cast<uint8_t>(left > right ? left : right)) << shift;
  }
  return larger;
#endif
}

/// Sums of 16 bits of `words` words of channels: of bytes 0 and 2, and 1 and 3.
struct HalfSums {
  uint32_t even[kBlockWords] = {};
  uint32_t odd[kBlockWords] = {};

  void AddTo(int words, int32_t* sums) {
    for (int i = 0; i < words; ++i, sums += kWordBytes) {
      Add(LowHalf(even[i]), sums[0]);
      Add(LowHalf(odd[i]), sums[1]);
      Add(HighHalf(even[i]), sums[2]);
      Add(HighHalf(odd[i]), sums[3]);
      even[i] = odd[i] = 0;
    }
  }
  static void Add(int32_t half, int32_t& sum) {
    sum = static_cast<int32_t>(static_cast<uint32_t>(sum) + static_cast<uint32_t>(half));
  }
};

template <int kWords>
void AddPixels(const int8_t* x, ptrdiff_t step, int count, HalfSums& sums) {
  HalfSums own = sums;
  for (; count > 0; --count, x += step) {
#pragma GCC unroll 4
    for (int i = 0; i < kWords; ++i) {
      const uint32_t word = LoadWord(x + i * kWordBytes);
      own.even[i] = AddEvenBytes(own.even[i], word);
      own.odd[i] = AddOddBytes(own.odd[i], word);
    }
  }
  sums = own;
}

template <int kWords>
void AddWords(const cortex_m::Window& window, int first, int32_t* totals) {
  const int8_t* row = window.x + first;
  HalfSums sums;
  int left = kMostAdded;
  for (int i = window.rows; i > 0; --i, row += window.row_step) {
    const int8_t* x = row;
    for (int j = window.columns; j > 0;) {
      const int now = j < left ? j : left;
      AddPixels<kWords>(x, window.column_step, now, sums);
      x += now * window.column_step;
      j -= now;
      left -= now;
      if (left > 0) continue;
      sums.AddTo(kWords, totals + first);
      left = kMostAdded;
    }
  }
  sums.AddTo(kWords, totals + first);
}

template <int kWords>
void LargestWords(const cortex_m::Window& window, int first, int8_t* y) {
  const int8_t* row = window.x + first;
  uint32_t largest[kWords];
  for (uint32_t& word : largest) word = 0x80808080U;
  for (int i = window.rows; i > 0; --i, row += window.row_step) {
    const int8_t* x = row;
    for (int j = window.columns; j > 0; --j, x += window.column_step) {
#pragma GCC unroll 4
      for (int k = 0; k < kWords; ++k) {
        largest[k] = LargerBytes(largest[k], LoadWord(x + k * kWordBytes));
      }
    }
  }
  for (int k = 0; k < kWords; ++k) StoreWord(y + first + k * kWordBytes, largest[k]);
}

/// Each tap of one channel.
template <typename Use>
void ForEachTap(const cortex_m::Window& window, int channel, const Use& use) {
  const int8_t* row = window.x + channel;
  for (int i = window.rows; i > 0; --i, row += window.row_step) {
    const int8_t* x = row;
    for (int j = window.columns; j > 0; --j, x += window.column_step) use(*x);
  }
}

void Add(const cortex_m::Window& window, int32_t* sums) {
  int channel = 0;
  if (window.channels == cortex_m::kBlockChannels) return AddWords<kBlockWords>(window, 0, sums);
  for (; channel + kWordBytes <= window.channels; channel += kWordBytes) {
    AddWords<1>(window, channel, sums);
  }
  for (; channel < window.channels; ++channel) {
    ForEachTap(window, channel, [&](int8_t byte) { HalfSums::Add(byte, sums[channel]); });
  }
}

void Largest(const cortex_m::Window& window, int8_t* y) {
  int channel = 0;
  if (window.channels == cortex_m::kBlockChannels) return LargestWords<kBlockWords>(window, 0, y);
  for (; channel + kWordBytes <= window.channels; channel += kWordBytes) {
    LargestWords<1>(window, channel, y);
  }
  for (; channel < window.channels; ++channel) {
    int8_t largest = INT8_MIN;
    ForEachTap(window, channel, [&](int8_t byte) { largest = byte > largest ? byte : largest; });
    y[channel] = largest;
  }
}

constexpr cortex_m::PoolRoutines kPool = {Add, Largest, nullptr};

}  // namespace

const cortex_m::PoolRoutines& Pool() { return kPool; }

}  // namespace tenon::cpu::dsp
