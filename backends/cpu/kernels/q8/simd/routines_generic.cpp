// These routines are plain C++ for every processor. They also run ops whose constants have any
// value, where the other routines need factors whose products stay in range.
#define TENON_Q8_ISA generic
#define TENON_BYTES_WIDTH 16

#include "backends/cpu/kernels/q8/byte_routines.hpp"
#include "backends/cpu/kernels/q8/simd/dynamic.hpp"
#include "backends/cpu/kernels/q8/simd/elementwise.hpp"
#include "backends/cpu/kernels/q8/simd/layer_norm.hpp"
#include "backends/cpu/kernels/q8/simd/pool.hpp"
#include "backends/cpu/kernels/q8/simd/softmax.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int kBlock = 16;

int32_t RoundedSum(const DepthwiseCall& call, int32_t sum, int i) {
  if (!call.fixed_point) {
    return RoundHalfEven(static_cast<float>(sum) * static_cast<const float*>(call.multiplier)[i]);
  }
  const auto shifted = static_cast<int32_t>(static_cast<uint32_t>(sum) << (call.doubling[i] - 1));
  const int32_t multiplier = static_cast<const int32_t*>(call.multiplier)[i];
  return RoundingShiftRight(RoundingDoublingHighMultiply(shifted, multiplier), call.right[i]);
}

uint8_t ToByte(const ByteOutput& output, int32_t rounded) {
  int64_t y = int64_t{rounded} + output.zero_point;
  if (y < output.min) y = output.min;
  if (y > output.max) y = output.max;
  return static_cast<uint8_t>(static_cast<uint8_t>(y) ^ output.flip);
}

void AddTap(const DepthwiseCall& call, const uint8_t* x, const int16_t* weights, uint32_t* sums) {
  if (call.channels == kBlock) {
    for (int i = 0; i < kBlock; ++i) {
      sums[i] += static_cast<uint32_t>((x[i] ^ call.x_flip) * weights[i]);
    }
    return;
  }
  for (int i = 0; i < call.channels; ++i) {
    sums[i] += static_cast<uint32_t>((x[i] ^ call.x_flip) * weights[i]);
  }
}

void RunDepthwise(const DepthwiseCall& call) {
  for (int pixel = 0; pixel < call.pixels; ++pixel) {
    uint32_t sums[kBlock];
    for (int i = 0; i < kBlock; ++i) sums[i] = static_cast<uint32_t>(call.bias[i]);
    const auto* weights = static_cast<const int16_t*>(call.weights);
    for (int group = 0; group < call.groups; ++group, weights += kBlock) {
      const DepthwiseTap& tap = call.taps[group];
      const int64_t column = call.first + pixel * call.stride + tap.column;
      const bool inside = column >= 0 && column < call.columns;
      AddTap(call, inside ? tap.row + column * tap.step : call.padding, weights, sums);
    }
    uint8_t* y = call.y + pixel * call.y_step;
    for (int i = 0; i < call.channels; ++i) {
      y[i] = ToByte(call.output, RoundedSum(call, static_cast<int32_t>(sums[i]), i));
    }
  }
}

}  // namespace

const ByteRoutines kGenericByteRoutines = {
    "generic",
    {/*vectors=*/1, /*group=*/1, /*is_byte=*/false, /*is_column=*/false, /*widest=*/16,
     /*pairs_rows=*/false,
     /*overlaps=*/false},
    RunDepthwise,
    /*depthwise_window=*/nullptr,
    generic::RunLookup,
    generic::RunBinary,
    generic::RunQuantize,
    generic::RunDequantize,
    generic::RunQuantizeWords,
    generic::RunDequantizeWords,
    generic::RunLayerNorm,
    generic::RunSoftmax,
    generic::RunMaxPool,
    generic::RunSumPool,
    generic::RunInterleave3,
    generic::RunRange,
    generic::RunScaleSums,
};

}  // namespace tenon::cpu::q8
