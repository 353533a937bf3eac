// Pools one output position with channels in lanes. The last vector of channels overlaps the one
// before it, so that some channels are computed twice.
#pragma once

#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::TENON_Q8_ISA {

template <int kCount>
struct VectorOf {
  using Bytes [[gnu::vector_size(kCount)]] = int8_t;
  using Words [[gnu::vector_size(kCount * 2)]] = int16_t;
  using Integers [[gnu::vector_size(kCount * 4)]] = int32_t;
  using Sums [[gnu::vector_size(kCount * 4)]] = uint32_t;  // unsigned sums wrap
};

/// Calls `body(tap)` for every tap of the window, at `channel`.
template <typename Body>
[[gnu::always_inline]] static inline void ForEachTap(const PoolCall& call, int channel,
                                                     const Body& body) {
  const uint8_t* row = call.x + channel;
  for (int i = 0; i < call.rows; ++i, row += call.row_step) {
    const uint8_t* tap = row;
    for (int j = 0; j < call.columns; ++j, tap += call.column_step) body(tap);
  }
}

/// Calls `body(channel)` so that the runs of kCount channels from each `channel` on cover all of
/// them.
template <int kCount, typename Body>
[[gnu::always_inline]] static inline void ForEachRun(const PoolCall& call, const Body& body) {
  int channel = 0;
  for (; channel + kCount <= call.channels; channel += kCount) body(channel);
  if (channel < call.channels) body(call.channels - kCount);
}

template <int kCount>
static void LargestOf(const PoolCall& call) {
  using Bytes = typename VectorOf<kCount>::Bytes;
  const Bytes flip = Bytes{} + static_cast<int8_t>(call.flip);
  ForEachRun<kCount>(call, [&](int channel) {
    Bytes best = Bytes{} - static_cast<int8_t>(127) - static_cast<int8_t>(1);
    ForEachTap(call, channel, [&](const uint8_t* tap) {
      Bytes x;
      __builtin_memcpy(&x, tap, sizeof(x));
      x ^= flip;
      best = x > best ? x : best;
    });
    best ^= flip;
    __builtin_memcpy(call.y + channel, &best, sizeof(best));
  });
}

static void RunMaxPool(const PoolCall& call) {
  if (call.channels >= TENON_BYTES_WIDTH) return LargestOf<TENON_BYTES_WIDTH>(call);
  if (call.channels >= 32) return LargestOf<32>(call);
  if (call.channels >= 16) return LargestOf<16>(call);
  if (call.channels >= 8) return LargestOf<8>(call);
  for (int channel = 0; channel < call.channels; ++channel) {
    int32_t best = -128;
    ForEachTap(call, channel, [&](const uint8_t* tap) {
      const int32_t x = ValueOf(*tap, call.flip);
      best = x > best ? x : best;
    });
    call.y[channel] = static_cast<uint8_t>(static_cast<uint8_t>(best) ^ call.flip);
  }
}

/// Returns sum / divisor, with halves rounded away from zero.
[[gnu::always_inline]] static inline int32_t Quotient(int32_t sum, int64_t divisor) {
  const int64_t half = divisor / 2;
  const int64_t quotient = (sum >= 0 ? int64_t{sum} + half : int64_t{sum} - half) / divisor;
  return static_cast<int32_t>(quotient);
}

/// Stores the quotients of sums that floats hold, with half of the divisor: then the rounded
/// quotient of floats is on the true one's side of every whole number.
template <typename Sum>
[[gnu::always_inline]] static inline void StoreSmallQuotients(const SumEpilogue& epilogue,
                                                              int count, const Sum& sum_at,
                                                              uint8_t* y) {
  const ByteOutput output = epilogue.output;
  const auto divisor = static_cast<float>(epilogue.divisor);
  const auto half = static_cast<int32_t>(epilogue.divisor / 2);
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    const int32_t sum = sum_at(i);
    const int32_t size = (sum < 0 ? -sum : sum) + half;
    const auto quotient = static_cast<int32_t>(static_cast<float>(size) / divisor);
    y[i] = ToByte(output, sum < 0 ? -quotient : quotient);
  }
}

template <typename Sum>
[[gnu::always_inline]] static inline void StoreScaled(const SumEpilogue& epilogue, int count,
                                                      const Sum& sum_at, uint8_t* y) {
  const EvenOutput output = EvenOutputOf(epilogue.output);
  for (int i = 0; i < count; ++i) {
    y[i] = ToByteEven(output, static_cast<float>(sum_at(i)) * epilogue.factor);
  }
}

/// Requantizes `count` sums from which the zero points have not been subtracted.
static void RequantizeSums(const PoolCall& call, const int32_t* sums, int count, uint8_t* y) {
  constexpr int64_t kMostByte = 255;        // less its zero point
  constexpr int64_t kMostExact = 16777216;  // 2^24: floats hold all whole numbers up to it
  const SumEpilogue epilogue = call.epilogue;
  const uint32_t zeros = static_cast<uint32_t>(call.rows) * static_cast<uint32_t>(call.columns) *
                         static_cast<uint32_t>(call.zero_point);
  const auto sum_at = [&](int i) {
    return static_cast<int32_t>(static_cast<uint32_t>(sums[i]) - zeros);
  };
  switch (epilogue.kind) {
    case SumEpilogue::Kind::kFloat:
      return StoreScaled(epilogue, count, sum_at, y);
    case SumEpilogue::Kind::kDivide:
      if (int64_t{call.rows} * call.columns * kMostByte + epilogue.divisor <= kMostExact) {
        return StoreSmallQuotients(epilogue, count, sum_at, y);
      }
      for (int i = 0; i < count; ++i) {
        y[i] = ToByte(epilogue.output, Quotient(sum_at(i), epilogue.divisor));
      }
      return;
    case SumEpilogue::Kind::kFixedPoint:
      for (int i = 0; i < count; ++i)
        y[i] = ToByte(epilogue.output, Scaled(epilogue.fixed, sum_at(i)));
      return;
  }
}

static void RunSumPool(const PoolCall& call) {
  constexpr int kCount = 16;
  using Bytes = typename VectorOf<kCount>::Bytes;
  using Words = typename VectorOf<kCount>::Words;
  using Integers = typename VectorOf<kCount>::Integers;
  using Sums = typename VectorOf<kCount>::Sums;
  constexpr int kMostInWords = 255;  // bytes, whose sum is at least -32,640
  int32_t sums[kCount];
  if (call.channels < kCount) {
    for (int channel = 0; channel < call.channels; ++channel) {
      uint32_t sum = 0;
      ForEachTap(call, channel, [&](const uint8_t* tap) {
        sum += static_cast<uint32_t>(ValueOf(*tap, call.flip));
      });
      sums[channel] = static_cast<int32_t>(sum);
    }
    return RequantizeSums(call, sums, call.channels, call.y);
  }
  const Bytes flip = Bytes{} + static_cast<int8_t>(call.flip);
  ForEachRun<kCount>(call, [&](int channel) {
    Sums total = {};
    Words words = {};
    int in_words = 0;
    const auto flush = [&] {
      total += reinterpret_cast<Sums>(__builtin_convertvector(words, Integers));
      words = Words{};
      in_words = 0;
    };
    ForEachTap(call, channel, [&](const uint8_t* tap) {
      if (in_words == kMostInWords) flush();
      Bytes x;
      __builtin_memcpy(&x, tap, sizeof(x));
      x ^= flip;
      words += __builtin_convertvector(x, Words);
      ++in_words;
    });
    flush();
    __builtin_memcpy(sums, &total, sizeof(sums));
    RequantizeSums(call, sums, kCount, call.y + channel);
  });
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
