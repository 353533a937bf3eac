// Local response normalisation over the channels of pixels, channels in lanes.
#pragma once

#include "backends/cpu/kernels/vector/simd/vectors.hpp"

namespace tenon::cpu::vector::TENON_VECTOR_ISA {

/// Channels that go through the buffers at once: a multiple of every number of lanes.
constexpr int kLrnChannels = 256;

/// base[c] = bias + scale * (sum of the squares of channel first + c and its neighbours), for
/// `count` channels, and for what fills the last vector.
static void LrnBases(const LrnCall& call, const float* x, int first, int count, float* bases) {
  // Zeros stand for the neighbours that do not exist, and behind for the last vector's lanes.
  float squares[kLrnChannels + kMostLrnSize + kLanes];
  const int begin = first - call.before;
  const int total = (count + kLanes - 1) / kLanes * kLanes + call.size;
  const int low = begin < 0 ? -begin : 0;
  const int present = call.channels - begin;
  const int high = present < total ? present : total;
  for (int i = 0; i < low; ++i) squares[i] = 0.0F;
  for (int i = low; i < high; ++i) squares[i] = x[begin + i] * x[begin + i];
  for (int i = high; i < total; ++i) squares[i] = 0.0F;
  for (int c = 0; c < count; c += kLanes) {
    // Summed anew every time: a sliding sum would keep the rounding errors of what left it.
    Vector<kLanes> sum = {};
    for (int k = 0; k < call.size; ++k) sum += Load<kLanes>(squares + c + k);
    Store<kLanes>(bases + c, sum * call.scale + call.bias);
  }
}

static void LrnPixel(const LrnCall& call, const float* x, float* y) {
  float bases[kLrnChannels];
  for (int first = 0; first < call.channels; first += kLrnChannels) {
    const int left = call.channels - first;
    const int count = left < kLrnChannels ? left : kLrnChannels;
    LrnBases(call, x, first, count, bases);
    const float* from = x + first;
    float* to = y + first;
    if (call.beta == 0.75F) {
      // The exponent of nearly every model; two square roots cost a fraction of a power.
      for (int c = 0; c < count; ++c) {
        const float root = __builtin_sqrtf(bases[c]);
        bases[c] = root * __builtin_sqrtf(root);
      }
    } else {
      for (int c = 0; c < count; ++c) bases[c] = __builtin_powf(bases[c], call.beta);
    }
    for (int c = 0; c < count; ++c) to[c] = from[c] / bases[c];
  }
}

static void RunLrn(const LrnCall& call) {
  for (int pixel = 0; pixel < call.pixels; ++pixel) {
    LrnPixel(call, call.x + pixel * call.x_step, call.y + pixel * call.y_step);
  }
}

}  // namespace tenon::cpu::vector::TENON_VECTOR_ISA
