#include <cstddef>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/pool/pool_blocks.hpp"

namespace tenon::cpu::portable {

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
    const auto divisor = static_cast<float>(CountedTaps(attributes, x, block));
    float* out = y.As<float>() + block.y;
    for (int i = 0; i < block.lanes; ++i) {
      out[i * static_cast<ptrdiff_t>(y.strides[1])] = sums[i] / divisor;
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
