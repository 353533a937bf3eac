// Pooling of i8, channels-last: blocks of channels of one window at a time.

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/cortex_m/product.hpp"
#include "backends/cpu/kernels/portable/pool_blocks.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::cortex_m {
namespace {

static_assert(portable::kPoolLanes <= kBlockChannels, "a block of channels is one of a window");

Window WindowOf(const PoolAttributes& attributes, const TensorView& x,
                const portable::PoolBlock& block) {
  const int starts[2] = {block.row, block.column};
  int first[2];
  int taps[2];
  for (int i = 0; i < 2; ++i) {
    const int dilation = attributes.dilations[i];
    first[i] = portable::FirstTapInside(starts[i], dilation);
    taps[i] = portable::TapsInside(starts[i], dilation, attributes.kernel[i], 0, x.dims[2 + i]);
  }
  Window window;
  // Steps that are never taken may be any number.
  window.row_step = taps[0] > 1 ? ptrdiff_t{x.strides[2]} * attributes.dilations[0] : 0;
  window.column_step = taps[1] > 1 ? ptrdiff_t{x.strides[3]} * attributes.dilations[1] : 0;
  window.rows = taps[0];
  window.columns = taps[1];
  window.channels = block.lanes;
  const ptrdiff_t row = starts[0] + first[0] * attributes.dilations[0];
  const ptrdiff_t column = starts[1] + first[1] * attributes.dilations[1];
  window.x = x.As<const int8_t>() + block.x + row * x.strides[2] + column * x.strides[3];
  return window;
}

int32_t Average(const QuantizedAveragePoolAttributes& attributes, int32_t sum, int64_t count) {
  if (attributes.output.rounding == Rounding::kHalfAway) {
    constexpr int32_t kMost = 1 << 30;
    if (sum <= -kMost || sum >= kMost || count >= kMost) return DivideHalfAway(sum, count);
    // Small numbers need no division of 64 bits.
    const auto divisor = static_cast<int32_t>(count);
    return (sum >= 0 ? sum + divisor / 2 : sum - divisor / 2) / divisor;
  }
  return RoundHalfEven(static_cast<float>(sum) *
                       (attributes.scale.scale / static_cast<float>(count)));
}

/// What a block's sums begin with: the sums of the parts before, if there are any, less what x's
/// zero point adds to `taps` taps. They wrap; those before may lie where `sums` do, which are
/// kBlockChannels.
void BeginSums(const OpCall& op, int32_t zero_point, uint32_t taps,
               const portable::PoolBlock& block, int32_t* sums) {
  const auto start = 0 - taps * static_cast<uint32_t>(zero_point);
  for (int i = block.lanes; i < kBlockChannels; ++i) sums[i] = 0;
  if (!op.HasInput(1)) {
    for (int i = 0; i < block.lanes; ++i) sums[i] = static_cast<int32_t>(start);
    return;
  }
  const TensorView& before = op.Input(1);
  const auto* from = before.As<int32_t>();
  for (int i = 0; i < 4; ++i) from += ptrdiff_t{block.place[i]} * before.strides[i];
  const ptrdiff_t step = before.strides[1];
  for (int i = 0; i < block.lanes; ++i) {
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(from[i * step]) + start);
  }
}

Status CheckPool(const KernelSetup& setup) {
  const OpCall& op = setup.op;
  if (const Reason reason = PoolSupports(op)) return Status(StatusCode::kUnsupported, reason);
  TENON_ENSURE(HasStride(op.Input(0), 1, 1) && HasStride(op.Output(), 1, 1), kUnsupported,
               "the Cortex-M pooling takes channels that are neighbours");
  return OkStatus();
}

}  // namespace

Status AveragePoolCheck(const KernelSetup& setup) { return CheckPool(setup); }
Status MaxPoolCheck(const KernelSetup& setup) { return CheckPool(setup); }

void RunAveragePool(const KernelCall& call, const PoolRoutines& routines) {
  const auto& attributes = call.op.AttributesAs<QuantizedAveragePoolAttributes>();
  const TensorView& x = call.op.Input(0);
  const TensorView& output = call.op.Output();
  const bool gives_sums = output.dtype == DType::kI32;
  portable::ForEachPoolBlock(call, [&](const portable::PoolBlock& block) {
    int32_t own[kBlockChannels];
    // Routines may write those of all channels of a block.
    int32_t* const place = gives_sums ? output.As<int32_t>() + block.y : nullptr;
    int32_t* const sums = gives_sums && block.lanes == kBlockChannels ? place : own;
    const Window window = WindowOf(attributes.pool, x, block);
    // A part may have no tap of a window.
    const bool has_taps = window.rows > 0 && window.columns > 0;
    const uint32_t taps =
        has_taps ? static_cast<uint32_t>(window.rows) * static_cast<uint32_t>(window.columns) : 0;
    BeginSums(call.op, attributes.x_zero_point, taps, block, sums);
    if (has_taps) routines.add(window, sums);
    if (gives_sums) {
      for (int i = 0; sums != place && i < block.lanes; ++i) place[i] = sums[i];
      return;
    }
    const int64_t count = portable::CountedTaps(attributes.pool, x, block);
    auto* y = output.As<int8_t>() + block.y;
    for (int i = 0; i < block.lanes; ++i) {
      y[i] = static_cast<int8_t>(Saturate(attributes.output, Average(attributes, sums[i], count)));
    }
  });
}

void RunMaxPool(const KernelCall& call, const PoolRoutines& routines) {
  const auto& attributes = call.op.AttributesAs<PoolAttributes>();
  portable::ForEachPoolBlock(call, [&](const portable::PoolBlock& block) {
    routines.largest(WindowOf(attributes, call.op.Input(0), block),
                     call.op.Output().As<int8_t>() + block.y);
  });
}

}  // namespace tenon::cpu::cortex_m
