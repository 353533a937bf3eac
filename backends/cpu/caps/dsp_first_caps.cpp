#include "backends/cpu/caps/dsp_caps.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;

constexpr int32_t kWord = 4;  // bytes
constexpr int32_t kQuad = 4;  // outputs at once
constexpr int64_t kHalfBytes = 2;
/// With more pixels pairs of widened windows take less, and with more outputs too: windows at the
/// sides of x are gathered for each four.
constexpr int64_t kFewPixels = 48;
constexpr int32_t kFewOutputs = 16;

int64_t RowWords(const TensorView& w) {
  return (int64_t{w.dims[1]} * w.dims[3] + kWord - 1) / kWord;
}

}  // namespace

Reason FirstSupports(const OpCall& call) {
  if (const Reason reason = ConvSupports(call)) return reason;
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  const TensorView& y = call.Output();
  if (w.dims[1] % kWord == 0) return "channels in fours";
  const ConvAttributes& conv = attributes.conv;
  if (conv.dilations[0] != 1 || conv.dilations[1] != 1) return "taps apart";
  if (int64_t{w.dims[1]} * w.dims[3] < kWord || RowWords(w) > kMostWindowWords) {
    return "rows of taps of 4 to 32 bytes";
  }
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  if (w.dims[0] % kQuad != 0 || w.dims[0] > kFewOutputs || pixels > kFewPixels) {
    return "few outputs, in fours, of few pixels";
  }
  if (call.Input(In::kX).dtype != DType::kI8 || w.dtype != DType::kI8 ||
      call.HasInput(In::kWeightsZeroPoint)) {
    return "bytes of i8, weights without zero points";
  }
  const QuantizedOutput& output = attributes.output;
  if (output.min != INT8_MIN || output.max != INT8_MAX ||
      output.rounding == Rounding::kFixedPointOnce) {
    return "outputs of all of i8, rounded twice or to even";
  }
  return nullptr;
}

int64_t FirstWeightHalves(const OpCall& call) {
  const TensorView& w = call.Input(In::kWeights);
  return w.dims[2] * RowWords(w) * kWord * kQuad;
}

size_t FirstBytes(const OpCall& call) {
  const TensorView& w = call.Input(In::kWeights);
  const int64_t window = int64_t{w.dims[2]} * w.dims[3] * w.dims[1];
  return static_cast<size_t>(FirstWeightHalves(call) * kHalfBytes + window);
}

size_t FirstWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const size_t own = FirstBytes(call);
  const size_t least = ConvLeastWorkspaceBytes(call);
  return own > least ? own : least;
}

}  // namespace tenon::cpu::dsp
