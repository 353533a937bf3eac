#include "backends/cpu/kernels/cortex_m/simd/dsp/outputs.hpp"

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/kernels/cortex_m/simd/dsp/widen.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

/// A row of weights, of which whole words are read. What follows the row is multiplied by 0 only;
/// but of the last rows, behind which nothing may follow, there is a copy in `bytes`.
__attribute__((noinline)) const uint8_t* RowOf(const Outputs& outputs, int output, int words,
                                               uint8_t* bytes) {
  const uint8_t* const row = outputs.w + ptrdiff_t{output} * outputs.depth;
  const ptrdiff_t left = ptrdiff_t{outputs.count - output} * outputs.depth;
  if (left >= ptrdiff_t{words} * kStepInputs) return row;
  for (int i = 0; i < outputs.depth; ++i) bytes[i] = row[i];
  return bytes;
}

void WidenWeights(const Outputs& outputs, int output, bool doubled, int words, uint8_t* bytes,
                  int16_t* to) {
  const uint8_t zero_point = outputs.zero_points == nullptr
                                 ? uint8_t{0}
                                 : outputs.zero_points[output * outputs.zero_point_step];
  Widen(WideningOf(outputs.is_signed, zero_point, doubled), RowOf(outputs, output, words, bytes),
        words, to, 2 * kStepInputs);
}

/// All pairs of outputs whose bytes the assembler code gives, and whose weights are i8 without zero
/// points; gives the number of outputs. What is the same for all of them is read once.
int RunSimplePairs(const Outputs& outputs, int16_t* w, uint8_t* bytes, PairGemm& gemm) {
  const int words = static_cast<int>(gemm.w_end - w) / (2 * kStepInputs);
  const Widening widening = {0, 0, outputs.doubles_weights};
  const int doubling = IsDoubled(outputs.kind) ? 1 : 0;
  const Rescale rescale = outputs.rescale;
  const int end = outputs.count / 2 * 2;
  uint8_t* y = gemm.output;
  const uint8_t* row = outputs.w;
  const ptrdiff_t depth = outputs.depth;
  // Behind the rows before this one are as many bytes as are read.
  const int direct = outputs.count - (words * kStepInputs - 1) / outputs.depth;
  for (int first = 0; first < end; first += 2, y += 2, row += 2 * depth) {
    if (first + 1 < direct) {
      WidenTwo(widening, row, row + depth, words, w);
    } else {
      WidenTwo(widening, RowOf(outputs, first, words, bytes),
               RowOf(outputs, first + 1, words, bytes + words * kStepInputs), words, w);
    }
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const uint32_t bias =
          rescale.bias == nullptr ? 0 : static_cast<uint32_t>(rescale.bias[first + i]);
      gemm.bias[i] = gemm.bias[2 + i] = bias << doubling;
      gemm.requantizer[i].Set(rescale, first + i);
    }
    gemm.output = y;
    MultiplyPairs(gemm);
  }
  return end;
}

/// Computes two outputs of any kind, or the last one.
void RunAnyPair(const Outputs& outputs, int first, int pixels, int16_t* w, uint8_t* bytes,
                PairGemm& gemm) {
  const int count = first + 1 < outputs.count ? 2 : 1;
  const bool is_simple = outputs.kind != RequantizeKind::kAny && count == 2;
  const bool doubles_weights = is_simple && outputs.doubles_weights;
  const bool doubled = outputs.doubles_inputs || doubles_weights;
  const int words = static_cast<int>(gemm.w_end - w) / (2 * kStepInputs);
  for (int i = 0; i < 2; ++i) {
    const int output = first + (i < count ? i : 0);
    const int32_t* const bias = outputs.rescale.bias;
    const uint32_t begin = bias == nullptr ? 0 : static_cast<uint32_t>(bias[output]);
    gemm.bias[i] = gemm.bias[2 + i] = doubled ? begin * 2 : begin;
    if (is_simple) gemm.requantizer[i].Set(outputs.rescale, output);
    WidenWeights(outputs, output, doubles_weights, words, bytes, w + i * kStepInputs);
  }
  if (is_simple) return MultiplyPairs(gemm);
  uint32_t sums[2 * kMostPassPixels];
  gemm.sums = sums;
  MultiplyPairs(gemm);
  gemm.sums = nullptr;
  for (int i = 0; i < count; ++i) {
    StoreSums(outputs.rescale, first + i,
              {sums + i, 2, pixels, doubled, gemm.output + i, gemm.y, 0});
  }
}

}  // namespace

Outputs OutputsOf(const OpCall& op, const QuantizedOutput& output, int count, int depth) {
  Outputs outputs;
  outputs.rescale = RescaleOf(op, output, depth);
  outputs.w = op.Input(In::kWeights).As<const uint8_t>();
  outputs.count = count;
  outputs.depth = depth;
  outputs.is_signed = op.Input(In::kWeights).dtype == DType::kI8;
  if (op.HasInput(In::kWeightsZeroPoint)) {
    outputs.zero_points = op.Input(In::kWeightsZeroPoint).As<const uint8_t>();
    outputs.zero_point_step = op.Input(In::kWeightsZeroPoint).dims[0] > 1 ? 1 : 0;
  }
  outputs.kind = RequantizeKindOf(outputs.rescale, count);
  // What there is less of: weights are widened once for each pass.
  constexpr int kManyOutputs = 32;
  outputs.doubles_inputs = IsDoubled(outputs.kind) && count >= kManyOutputs;
  outputs.doubles_weights = IsDoubled(outputs.kind) && !outputs.doubles_inputs;
  return outputs;
}

void RunOutputs(const Outputs& outputs, int pixels, int16_t* w, uint8_t* bytes, PairGemm& gemm) {
  gemm.kind = outputs.kind;
  uint8_t* const y = gemm.output;
  int first = outputs.IsSimple() ? RunSimplePairs(outputs, w, bytes, gemm) : 0;
  for (gemm.output = y + first; first < outputs.count; first += 2, gemm.output += 2) {
    RunAnyPair(outputs, first, pixels, w, bytes, gemm);
  }
  gemm.output = y;
}

}  // namespace tenon::cpu::dsp
