// Pools i8 tensors, channels-last: it computes a block of channels of one window at a time.
#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "backends/cpu/kernels/cortex_m/gemm.hpp"
#include "backends/cpu/kernels/cortex_m/kernels.hpp"
#include "backends/cpu/kernels/portable/pool/pool_blocks.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/requantize.hpp"

namespace tenon::cpu::cortex_m {
namespace {

using In = QuantizedAveragePoolInput;

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

/// `count`: at least 1, since each window sees an element of the input, and below kMostPoolTaps.
int32_t Average(const QuantizedAveragePoolAttributes& attributes, int32_t sum, int32_t count) {
  if (attributes.output.rounding == Rounding::kHalfAway) {
    constexpr int32_t kMost = 1 << 30;
    if (sum <= -kMost || sum >= kMost) return DivideHalfAway(sum, count);
    // Small numbers need no division of 64 bits. NOLINTNEXTLINE(clang-analyzer-core.DivideZero)
    return (sum >= 0 ? sum + count / 2 : sum - count / 2) / count;
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
  if (!op.HasInput(In::kSums)) {
    for (int i = 0; i < block.lanes; ++i) sums[i] = static_cast<int32_t>(start);
    return;
  }
  portable::LoadSums(op.Input(In::kSums), block, sums);
  for (int i = 0; i < block.lanes; ++i) {
    sums[i] = static_cast<int32_t>(static_cast<uint32_t>(sums[i]) + start);
  }
}

/// Returns the number of pixels of the window inside x.
uint32_t TapsOf(const Window& window) {
  const bool has_taps = window.rows > 0 && window.columns > 0;  // a part may have none
  return has_taps ? static_cast<uint32_t>(window.rows) * static_cast<uint32_t>(window.columns) : 0;
}

/// Returns true if outputs, and inputs if any, are sums of 16 bits, of contiguous channels.
bool Has16BitSums(const OpCall& op) {
  if (op.Output().dtype != DType::kI16) return false;
  if (!op.HasInput(In::kSums)) return true;
  return op.Input(In::kSums).dtype == DType::kI16 && HasStride(op.Input(In::kSums), 1, 1);
}

void RunSums16(const KernelCall& call, const PoolRoutines& routines) {
  const auto& attributes = call.op.AttributesAs<QuantizedAveragePoolAttributes>();
  const TensorView& x = call.op.Input(0);
  auto* const y = call.op.Output().As<int16_t>();
  portable::ForEachPoolBlock(call, [&](const portable::PoolBlock& block) {
    const Window window = WindowOf(attributes.pool, x, block);
    const uint32_t start = 0 - TapsOf(window) * static_cast<uint32_t>(attributes.x_zero_point);
    const int16_t* before = nullptr;
    if (call.op.HasInput(In::kSums)) {
      const TensorView& sums = call.op.Input(In::kSums);
      before = sums.As<const int16_t>();
      for (int i = 0; i < 4; ++i) before += ptrdiff_t{block.place[i]} * sums.strides[i];
    }
    routines.add16(window, static_cast<int16_t>(start), before, y + block.y);
  });
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
  if (routines.add16 != nullptr && Has16BitSums(call.op)) return RunSums16(call, routines);
  const bool in_place = output.dtype == DType::kI32;
  portable::ForEachPoolBlock(call, [&](const portable::PoolBlock& block) {
    int32_t own[kBlockChannels];
    // Routines may write those of all channels of a block.
    const bool is_whole = in_place && block.lanes == kBlockChannels;
    int32_t* const sums = is_whole ? output.As<int32_t>() + block.y : own;
    const Window window = WindowOf(attributes.pool, x, block);
    BeginSums(call.op, attributes.x_zero_point, TapsOf(window), block, sums);
    routines.add(window, sums);
    if (is_whole) return;
    if (portable::GivesSums(output)) return portable::StoreSums(sums, block, output);
    const auto count = static_cast<int32_t>(portable::CountedTaps(attributes.pool, x, block));
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
