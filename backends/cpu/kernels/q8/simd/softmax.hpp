// The softmax of rows of bytes: the portable kernel's operations in its order, in vectors but for
// the sum.
#pragma once

#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::TENON_Q8_ISA {

constexpr int kByteValues = 256;

static int32_t LargestOf(const uint8_t* x, int count, uint8_t flip) {
  int8_t largest = INT8_MIN;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    const auto value = static_cast<int8_t>(x[i] ^ flip);
    largest = value > largest ? value : largest;
  }
  return largest;
}

/// Writes exp of the difference to the largest value, for `count` bytes of `x`. Bytes above it are
/// in no row.
[[gnu::always_inline]] static inline void Exponentials(const SoftmaxCall& call, const uint8_t* x,
                                                       int count, int32_t most, float* to) {
  const float scale = call.scale;
  const int32_t less = call.offset;
  const uint8_t flip = call.flip;
  const float largest = static_cast<float>(most + less) * scale;
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    const int32_t value = ValueOf(x[i], flip);
    const int32_t below = value > most ? most : value;
    to[i] = portable::math::Exp(static_cast<float>(below + less) * scale - largest);
  }
}

/// Writes the outputs of `count` exponentials.
[[gnu::always_inline]] static inline void StoreShares(const SoftmaxCall& call, const float* from,
                                                      int count, float factor, uint8_t* y) {
  const float output_scale = call.output_scale;
  const EvenOutput output = EvenOutputOf(call.output);
  TENON_BYTES_LOOP
  for (int i = 0; i < count; ++i) {
    y[i] = ToByteEven(output, from[i] * factor / output_scale);
  }
}

/// Computes kRows rows of at most kByteValues bytes, whose sums are made at the same time: each
/// addition waits for the one before it.
template <int kRows>
static void RunRows(const SoftmaxCall& call) {
  float exponentials[kRows][kByteValues];
  float sums[kRows] = {};
  const int count = call.count;
  for (int row = 0; row < kRows; ++row) {
    const uint8_t* x = call.x + int64_t{row} * count;
    Exponentials(call, x, count, LargestOf(x, count, call.flip), exponentials[row]);
  }
  for (int i = 0; i < count; ++i) {
    for (int row = 0; row < kRows; ++row) sums[row] += exponentials[row][i];
  }
  for (int row = 0; row < kRows; ++row) {
    StoreShares(call, exponentials[row], count, 1.0F / sums[row], call.y + int64_t{row} * count);
  }
}

/// Computes a longer row, which has the same values again and again.
static void RunLongRow(const SoftmaxCall& call) {
  float exponentials[kByteValues];
  uint8_t bytes[kByteValues];
  for (int i = 0; i < kByteValues; ++i) bytes[i] = static_cast<uint8_t>(i);
  const int32_t most = LargestOf(call.x, call.count, call.flip);
  Exponentials(call, bytes, kByteValues, most, exponentials);
  float sum = 0.0F;
  for (int i = 0; i < call.count; ++i) sum += exponentials[call.x[i]];
  StoreShares(call, exponentials, kByteValues, 1.0F / sum, bytes);
  for (int i = 0; i < call.count; ++i) call.y[i] = bytes[call.x[i]];
}

static void RunSoftmax(const SoftmaxCall& whole) {
  constexpr int kTogether = 4;
  SoftmaxCall call = whole;
  for (int row = 0; row < whole.rows;) {
    const bool is_long = whole.count > kByteValues;
    const int rows = !is_long && whole.rows - row >= kTogether ? kTogether : 1;
    if (is_long) {
      RunLongRow(call);
    } else {
      rows == kTogether ? RunRows<kTogether>(call) : RunRows<1>(call);
    }
    row += rows;
    call.x += int64_t{rows} * whole.count;
    call.y += int64_t{rows} * whole.count;
  }
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
