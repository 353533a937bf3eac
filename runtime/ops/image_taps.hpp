// What one place between the pixels of an axis is made of.
#pragma once

#include <cstddef>

namespace tenon {

/// The pixels that count, times their step, and their weights.
template <int kTaps>
struct ImageTaps {
  ptrdiff_t offset[kTaps];
  float weight[kTaps];
};

/// Cubic convolution (Keys, 1981) with the parameter `a`: the weights of the two pixels before a
/// place and of the two behind it, which is t behind the second.
inline void FindCubicWeights(float a, float t, float (&weight)[4]) {
  const float s = 1.0F - t;
  weight[0] = ((a * (t + 1.0F) - 5.0F * a) * (t + 1.0F) + 8.0F * a) * (t + 1.0F) - 4.0F * a;
  weight[1] = ((a + 2.0F) * t - (a + 3.0F)) * t * t + 1.0F;
  weight[2] = ((a + 2.0F) * s - (a + 3.0F)) * s * s + 1.0F;
  weight[3] = ((a * (s + 1.0F) - 5.0F * a) * (s + 1.0F) + 8.0F * a) * (s + 1.0F) - 4.0F * a;
}

}  // namespace tenon
