// The softmax of a row of bytes: the portable kernel's operations in its order, in vectors but for
// the sum.
#pragma once

#include "backends/cpu/kernels/portable/math.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"

namespace tenon::cpu::q8::TENON_Q8_ISA {

constexpr int kByteValues = 256;

static int32_t LargestOf(const SoftmaxCall& call) {
  const uint8_t* x = call.x;
  const uint8_t flip = call.flip;
  int8_t largest = INT8_MIN;
  const int count = call.count;
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

static void RunSoftmax(const SoftmaxCall& call) {
  float exponentials[kByteValues];
  const int32_t most = LargestOf(call);
  float sum = 0.0F;
  if (call.count <= kByteValues) {
    Exponentials(call, call.x, call.count, most, exponentials);
    for (int i = 0; i < call.count; ++i) sum += exponentials[i];
    return StoreShares(call, exponentials, call.count, 1.0F / sum, call.y);
  }
  // A longer row has the same values again and again.
  uint8_t bytes[kByteValues];
  for (int i = 0; i < kByteValues; ++i) bytes[i] = static_cast<uint8_t>(i);
  Exponentials(call, bytes, kByteValues, most, exponentials);
  for (int i = 0; i < call.count; ++i) sum += exponentials[call.x[i]];
  StoreShares(call, exponentials, kByteValues, 1.0F / sum, bytes);
  for (int i = 0; i < call.count; ++i) call.y[i] = bytes[call.x[i]];
}

}  // namespace tenon::cpu::q8::TENON_Q8_ISA
