// Normalises rows of bytes: exact sums, then the portable kernel's operations in its order.
#pragma once

#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::TENON_Q8_ISA {

/// So many squares of bytes have a sum of 32 bits.
constexpr int kSumPiece = 1 << 15;

/// Rounds the values of a row, which value(i) gives, halves to even: the sum of a value between the
/// bounds and 1.5 * 2^23 has no fractional bits, and its last byte is the result.
template <typename Value>
[[gnu::always_inline]] static inline void StoreRow(const LayerNormCall& call, const Value& value) {
  uint8_t* y = call.y;
  const float least = call.least;
  const float most = call.most;
  const int count = call.count;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    const float number = value(i);
    const float above = number > least ? number : least;
    const float shifted = (above < most ? above : most) + 12582912.0F;
    uint32_t bits = 0;
    __builtin_memcpy(&bits, &shifted, sizeof(bits));
    y[i] = static_cast<uint8_t>(bits);
  }
}

static void RunLayerNorm(const LayerNormCall& call) {
  const uint8_t* x = call.x;
  const uint8_t flip = call.flip;
  int64_t sum = 0;
  int64_t squares = 0;
  for (int first = 0; first < call.count; first += kSumPiece) {
    const int end = call.count - first < kSumPiece ? call.count : first + kSumPiece;
    int32_t piece = 0;
    int32_t piece_squares = 0;
    TENON_BYTES_LOOP
    for (int i = first; i < end; ++i) {
      const auto value = static_cast<int16_t>(ValueOf(x[i], flip));  // products of pairs
      piece += value;
      piece_squares += value * value;
    }
    sum += piece;
    squares += piece_squares;
  }
  if (call.rms) sum = 0;
  const auto elements = static_cast<float>(call.count);
  const auto spread = static_cast<float>(call.count * squares - sum * sum);
  const float mean = static_cast<float>(sum) / elements;
  const float factor = 1.0F / __builtin_sqrtf(spread / (elements * elements) + call.epsilon);
  const float* scale = call.scale;
  const float* bias = call.bias;
  const auto normal = [=](int i) {
    return (static_cast<float>(ValueOf(x[i], flip)) - mean) * factor * scale[i];
  };
  if (bias == nullptr) {
    StoreRow(call, normal);
  } else {
    StoreRow(call, [=](int i) { return normal(i) + bias[i]; });
  }
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
