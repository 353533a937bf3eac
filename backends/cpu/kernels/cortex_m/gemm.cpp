#include "backends/cpu/kernels/cortex_m/gemm.hpp"

#include "backends/cpu/caps/cortex_m_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::cortex_m {

using In = QuantizedProductInput;

Rescale RescaleOf(const OpCall& op, const QuantizedOutput& output) {
  Rescale rescale;
  rescale.output = output;
  const TensorView& factor = op.Input(In::kMultiplier);
  rescale.step = factor.dims[0] == 1 ? 0 : 1;
  if (output.rounding == Rounding::kHalfEven) {
    rescale.scale = factor.As<const float>();
  } else {
    rescale.multiplier = factor.As<const int32_t>();
    rescale.shift = op.Input(In::kShift).As<const int8_t>();
  }
  return rescale;
}

const int32_t* FinalBiasOf(const OpCall& op) {
  if (op.HasInput(In::kFoldedBias)) return op.Input(In::kFoldedBias).As<const int32_t>();
  return HasFinalBias(op) ? op.Input(In::kBias).As<const int32_t>() : nullptr;
}

void SetRescale(const OpCall& op, const QuantizedOutput& output, int32_t* room, Gemm& gemm) {
  const GemmRoutines& routines = *gemm.routines;
  Rescale& rescale = gemm.rescale;
  rescale = RescaleOf(op, output);
  rescale.is_plain = routines.is_plain != nullptr && routines.is_plain(rescale, gemm.outputs);
  rescale.bias = FinalBiasOf(op);
  if (rescale.bias != nullptr) return;
  const auto* bias = op.HasInput(In::kBias) ? op.Input(In::kBias).As<const int32_t>() : nullptr;
  routines.sum(gemm.w, gemm.depth, gemm.outputs, room);
  routines.subtract_scaled(bias, room, ZeroPointOf(op), gemm.outputs, room);
  rescale.bias = room;
}

void RunGemm(const Gemm& gemm, const Positions& positions) {
  const GemmRoutines& routines = *gemm.routines;
  int32_t sums[kBlockPixels * kBlockOutputs];
  GemmBlock block;
  block.x_pixel = positions.x_pixel;
  block.x_run = positions.x_run;
  block.runs = positions.runs;
  block.run_bytes = positions.run_bytes;
  SumBlock results;
  results.sums = sums;
  results.sum_pixel = kBlockOutputs;
  results.y_pixel = positions.y_pixel;
  for (int done = 0; done < positions.count; done += kBlockPixels) {
    const int left = positions.count - done;
    block.pixels = results.pixels = left < kBlockPixels ? left : kBlockPixels;
    block.x = positions.x + done * positions.x_pixel;
    int8_t* y = positions.y + done * positions.y_pixel;
    int output = 0;
    if (routines.run != nullptr && positions.runs == 1) {
      block.w = gemm.w;
      results.y = y;
      output = routines.run(gemm.rescale, block, gemm.outputs, results);
    }
    for (; output < gemm.outputs; output += kBlockOutputs) {
      const int rest = gemm.outputs - output;
      block.outputs = results.outputs = rest < kBlockOutputs ? rest : kBlockOutputs;
      block.w = gemm.w + output * gemm.depth;
      results.first = output;
      results.y = y + output;
      routines.multiply(block, sums);
      routines.requantize(gemm.rescale, results);
    }
  }
}

}  // namespace tenon::cpu::cortex_m
