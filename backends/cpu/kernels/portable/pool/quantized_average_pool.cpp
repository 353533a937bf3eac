#include <cstddef>
#include <cstdint>

#include "backends/cpu/kernels/portable/kernels.hpp"
#include "backends/cpu/kernels/portable/pool/pool_blocks.hpp"
#include "backends/cpu/kernels/portable/quantized_values.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::portable {
namespace {

using In = QuantizedAveragePoolInput;

/// Sums of a block's elements less the zero point. They wrap.
void SumBlock(const QuantizedAveragePoolAttributes& attributes, const TensorView& x,
              const PoolBlock& block, int32_t* sums) {
  const uint8_t* data = x.As<const uint8_t>() + block.x;
  const ptrdiff_t stride = x.strides[1];
  const int32_t flip = SignFlip(x.dtype);
  uint32_t totals[kPoolLanes] = {};
  uint32_t taps = 0;
  ForEachTap(attributes.pool, x, block, [&](ptrdiff_t offset) {
    const uint8_t* from = data + offset;
    ++taps;
    if (stride == 1 && block.lanes == kPoolLanes) {
      for (int i = 0; i < kPoolLanes; ++i) totals[i] += from[i] ^ static_cast<uint32_t>(flip);
    } else {
      for (int i = 0; i < block.lanes; ++i) {
        totals[i] += from[i * stride] ^ static_cast<uint32_t>(flip);
      }
    }
  });
  const uint32_t zero = static_cast<uint32_t>(flip + attributes.x_zero_point) * taps;
  for (int i = 0; i < kPoolLanes; ++i) sums[i] = static_cast<int32_t>(totals[i] - zero);
}

/// Adds the sums so far, which may lie where the output does. They wrap.
void AddSums(const TensorView& before, const PoolBlock& block, int32_t* sums) {
  int32_t more[kPoolLanes];
  LoadSums(before, block, more);
  for (int i = 0; i < block.lanes; ++i) {
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + static_cast<uint32_t>(more[i]));
  }
}

int32_t Average(const QuantizedAveragePoolAttributes& attributes, int32_t sum, int64_t count) {
  if (attributes.output.rounding == Rounding::kHalfAway) return DivideHalfAway(sum, count);
  return RoundHalfEven(static_cast<float>(sum) *
                       (attributes.scale.scale / static_cast<float>(count)));
}

}  // namespace

Status QuantizedAveragePoolRun(const KernelCall& call) {
  const auto& attributes = call.op.AttributesAs<QuantizedAveragePoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& y = call.op.Output();
  ForEachPoolBlock(call, [&](const PoolBlock& block) {
    int32_t sums[kPoolLanes];
    SumBlock(attributes, x, block, sums);
    if (call.op.HasInput(In::kSums)) AddSums(call.op.Input(In::kSums), block, sums);
    if (GivesSums(y)) return StoreSums(sums, block, y);
    const int64_t count = CountedTaps(attributes.pool, x, block);
    uint8_t* out = y.As<uint8_t>() + block.y;
    for (int i = 0; i < block.lanes; ++i) {
      out[i * static_cast<ptrdiff_t>(y.strides[1])] =
          OutputByte(attributes.output, Average(attributes, sums[i], count));
    }
  });
  return OkStatus();
}

}  // namespace tenon::cpu::portable
