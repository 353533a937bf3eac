#include <cstddef>

#include "backends/cpu/caps/portable_supports.hpp"
#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/pool_blocks.hpp"

namespace tenon::cpu::portable {
namespace {

/// Taps of one axis that count: those in [low, high). Windows and padding have up to 2^28.
int TapsInside(int first, int dilation, int kernel, int low, int high) {
  const int begin = FirstTapInside(first - low, dilation);
  const int end = FirstTapInside(first - high, dilation);
  return (end < kernel ? end : kernel) - begin;
}

/// What the sum of a window is divided by.
float Divisor(const PoolAttributes& attributes, const TensorView& x, const PoolBlock& block) {
  const int first[2] = {block.row, block.column};
  float count = 1.0F;
  for (int i = 0; i < 2; ++i) {
    // Positions past the padding, which ceil_mode may reach, never count.
    const bool padded = attributes.count_include_pad != 0;
    const int low = padded ? -attributes.pads[i] : 0;
    const int high = x.dims[2 + i] + (padded ? attributes.pads[2 + i] : 0);
    count *= static_cast<float>(
        TapsInside(first[i], attributes.dilations[i], attributes.kernel[i], low, high));
  }
  return count;
}

}  // namespace

Status AveragePoolCheck(const KernelSetup& setup) {
  return CheckResult(AveragePoolSupports(setup.op));
}

Status AveragePoolRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<PoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  const ptrdiff_t x_stride = x.strides[1];
  ForEachPoolBlock(call, [&](const PoolBlock& block) {
    const float* data = x.As<const float>() + block.x;
    float sums[kPoolLanes] = {};
    if (x_stride == 1 && block.lanes == kPoolLanes) {
      ForEachTap(attributes, x, block, [&](ptrdiff_t offset) {
        for (int i = 0; i < kPoolLanes; ++i) sums[i] += data[offset + i];
      });
    } else {
      ForEachTap(attributes, x, block, [&](ptrdiff_t offset) {
        for (int i = 0; i < block.lanes; ++i) sums[i] += data[offset + i * x_stride];
      });
    }
    const float divisor = Divisor(attributes, x, block);
    float* out = y.As<float>() + block.y;
    for (int i = 0; i < block.lanes; ++i) {
      out[i * static_cast<ptrdiff_t>(y.strides[1])] = sums[i] / divisor;
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
