// Computes a few adjacent pixels of one output row of a depthwise convolution, with channels in
// lanes.
#pragma once

#include "backends/cpu/kernels/f32/simd/vectors.hpp"

namespace tenon::cpu::f32::TENON_F32_ISA {

/// Computes a square kernel without dilation: every input column is loaded once for all its pixels.
template <int kKernel, int kStride, int kPixels, int kCount, typename LanesT>
[[gnu::always_inline]] static inline void SumCompact(const DepthwiseCall& call, int channel,
                                                     const float* weights, LanesT lanes,
                                                     Vector<kCount>* sums) {
  constexpr int kColumns = (kPixels - 1) * kStride + kKernel;
  TENON_UNROLL
  for (int h = 0; h < kKernel; ++h) {
    Vector<kCount> w[kKernel];
    TENON_UNROLL
    for (int k = 0; k < kKernel; ++k) {
      w[k] = Load<kCount>(weights + (h * kKernel + k) * call.tap_step);
    }
    TENON_UNROLL
    for (int column = 0; column < kColumns; ++column) {
      Vector<kCount> x = lanes.Get(call.rows[h * kColumns + column] + channel);
      KeepInRegister(x);
      TENON_UNROLL
      for (int i = 0; i < kPixels; ++i) {
        const int k = column - i * kStride;
        if (k >= 0 && k < kKernel) sums[i] += x * w[k];
      }
    }
  }
}

template <int kPixels, int kCount, typename LanesT>
[[gnu::always_inline]] static inline void SumTaps(const DepthwiseCall& call, int channel,
                                                  const float* weights, LanesT lanes,
                                                  Vector<kCount>* sums) {
  for (int tap = 0; tap < call.taps; ++tap) {
    const Vector<kCount> w = Load<kCount>(weights + tap * call.tap_step);
    TENON_UNROLL
    for (int i = 0; i < kPixels; ++i) {
      sums[i] += lanes.Get(call.rows[tap * kPixels + i] + channel) * w;
    }
  }
}

/// Computes one vector of channels. kKernel 0 means any kernel, tap by tap.
template <int kKernel, int kStride, int kPixels, int kCount, bool kPartial>
[[gnu::always_inline]] static inline void DepthwiseLanes(const DepthwiseCall& call, int channel,
                                                         int count) {
  const Lanes<kCount, kPartial> lanes = {count};
  const int in_block = channel % kChannelBlock;
  const float* weights = call.weights + channel / kChannelBlock * call.block_step + in_block;
  Vector<kCount> sums[kPixels];
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) sums[i] = Load<kCount>(call.bias + channel);
  if constexpr (kKernel == 0) {
    SumTaps<kPixels, kCount>(call, channel, weights, lanes, sums);
  } else {
    SumCompact<kKernel, kStride, kPixels, kCount>(call, channel, weights, lanes, sums);
  }
  const Bounds<kCount> bounds(call.low, call.high);
  TENON_UNROLL
  for (int i = 0; i < kPixels; ++i) {
    if (call.residual != nullptr) {
      sums[i] += lanes.Get(call.residual + i * call.residual_step + channel);
    }
    lanes.Put(call.y + i * call.y_step + channel, bounds.Clamp(sums[i]));
  }
}

template <int kKernel, int kStride, int kPixels>
static void Depthwise(const DepthwiseCall& call) {
  constexpr int kHalfLanes = kLanes > 8 ? 8 : 4;
  int channel = 0;
  for (; channel + kLanes <= call.channels; channel += kLanes) {
    DepthwiseLanes<kKernel, kStride, kPixels, kLanes, false>(call, channel, kLanes);
  }
  if constexpr (kLanes > kHalfLanes) {
    if (channel + kHalfLanes <= call.channels) {
      DepthwiseLanes<kKernel, kStride, kPixels, kHalfLanes, false>(call, channel, kHalfLanes);
      channel += kHalfLanes;
    }
  }
  for (; channel < call.channels; channel += 4) {
    const int left = call.channels - channel;
    DepthwiseLanes<kKernel, kStride, kPixels, 4, true>(call, channel, left < 4 ? left : 4);
  }
}

template <int kKernel, int kStride>
static void DepthwiseOfPixels(const DepthwiseCall& call) {
  switch (call.pixels) {
    case 1:
      return Depthwise<kKernel, kStride, 1>(call);
    case 2:
      return Depthwise<kKernel, kStride, 2>(call);
    case 3:
      return Depthwise<kKernel, kStride, 3>(call);
    default:
      return Depthwise<kKernel, kStride, 4>(call);
  }
}

static void RunDepthwise(const DepthwiseCall& call) {
  if (call.compact_kernel == 3) {
    if (call.compact_stride == 1) return DepthwiseOfPixels<3, 1>(call);
    return DepthwiseOfPixels<3, 2>(call);
  }
  if (call.compact_kernel == 5) {
    if (call.compact_stride == 1) return DepthwiseOfPixels<5, 1>(call);
    return DepthwiseOfPixels<5, 2>(call);
  }
  DepthwiseOfPixels<0, 1>(call);
}

}  // namespace tenon::cpu::f32::TENON_F32_ISA
