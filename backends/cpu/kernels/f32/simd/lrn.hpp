// Computes local response normalisation over the channels of pixels, with channels in lanes.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

[[gnu::always_inline]] static inline Vector<kLanes> SquareRoot(Vector<kLanes> values) {
  float lanes[kLanes];
  Store<kLanes>(lanes, values);
  for (float& lane : lanes) lane = __builtin_sqrtf(lane);
  return Load<kLanes>(lanes);
}

[[gnu::always_inline]] static inline Vector<kLanes> LrnPower(Vector<kLanes> base, float exponent) {
  // This is the exponent of nearly every model; two square roots cost a fraction of a power.
  if (exponent == 0.75F) {
    const Vector<kLanes> root = SquareRoot(base);
    return root * SquareRoot(root);
  }
  float lanes[kLanes];
  Store<kLanes>(lanes, base);
  for (float& lane : lanes) lane = __builtin_powf(lane, exponent);
  return Load<kLanes>(lanes);
}

static void Squares(const float* x, int channels, float* squares) {
  int c = 0;
  for (; c + kLanes <= channels; c += kLanes) {
    const Vector<kLanes> values = Load<kLanes>(x + c);
    Store<kLanes>(squares + c, values * values);
  }
  for (; c < channels; ++c) squares[c] = x[c] * x[c];
}

/// `squares` begins with that of channel -before, and is 0 where no such channel exists. kSize 0
/// means any size.
template <int kSize>
static void LrnPixel(const LrnCall& call, const float* squares, const float* x, float* y) {
  const int size = kSize != 0 ? kSize : call.size;
  for (int c = 0; c < call.channels; c += kLanes) {
    // The sum is computed anew every time: a sliding sum would keep the rounding errors of the
    // elements that left it.
    Vector<kLanes> sum = {};
    for (int k = 0; k < size; ++k) sum += Load<kLanes>(squares + c + k);
    const Vector<kLanes> power = LrnPower(sum * call.scale + call.bias, call.beta);
    const int left = call.channels - c;
    if (left >= kLanes) {
      Store<kLanes>(y + c, Load<kLanes>(x + c) / power);
    } else {
      StoreFirst<kLanes>(y + c, LoadFirst<kLanes>(x + c, left) / power, left);
    }
  }
}

template <int kSize>
static void LrnPixels(const LrnCall& call) {
  // A pixel's squares are stored while the one before is computed: loads that straddle two stores
  // would have to wait for them.
  alignas(64) float squares[2][kMostLrnDepth + kMostLrnWindow + kLanes];
  const int used = call.channels + call.size + kLanes;
  for (auto& row : squares) {
    for (int i = 0; i < used; ++i) row[i] = 0.0F;
  }
  const float* x = call.x;
  float* y = call.y;
  Squares(x, call.channels, squares[0] + call.before);
  for (int pixel = 0; pixel < call.pixels; ++pixel) {
    if (pixel + 1 < call.pixels) {
      Squares(x + call.x_step, call.channels, squares[(pixel + 1) % 2] + call.before);
    }
    LrnPixel<kSize>(call, squares[pixel % 2], x, y);
    x += call.x_step;
    y += call.y_step;
  }
}

static void RunLrn(const LrnCall& call) {
  if (call.size == 3) return LrnPixels<3>(call);
  if (call.size == 5) return LrnPixels<5>(call);
  LrnPixels<0>(call);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
