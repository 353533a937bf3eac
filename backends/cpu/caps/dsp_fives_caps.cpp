#include "backends/cpu/caps/dsp_caps.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::dsp {
namespace {

using In = QuantizedGemmInput;
constexpr int64_t kStep = 4;  // elements
constexpr int64_t kHalfBytes = 2;
/// With more pixels widened weights cost less.
constexpr int64_t kMostPixels = 15;
/// Of more pixels in several rows, two rows at once take less; rounded to even, which has no such
/// way, planes do where rows are long and steps 1.
constexpr int64_t kMostRowPixels = 6;
constexpr int32_t kMostShortRow = 12;
/// Where a window is longer, so is its workspace than that of others.
constexpr int64_t kMostFivesDepth = 1024;

int64_t DepthOf(const TensorView& w) { return int64_t{w.dims[1]} * w.dims[2] * w.dims[3]; }

}  // namespace

bool HasFastFactors(const OpCall& call, const QuantizedOutput& output, int64_t depth) {
  constexpr int64_t kMostProduct = 255 * 255;
  constexpr int64_t kMostSum = int64_t{1} << 30;
  constexpr int32_t kMostRight = 22;
  if (output.min != INT8_MIN || output.max != INT8_MAX || !call.HasInput(In::kBias)) return false;
  const int64_t outputs = call.Output().dims[1];
  if (call.Input(In::kMultiplier).Elements() != outputs) return false;
  if (output.rounding == Rounding::kHalfEven) return true;
  if (output.rounding != Rounding::kFixedPoint || depth * kMostProduct >= kMostSum) return false;
  const auto* const bias = call.Input(In::kBias).As<const int32_t>();
  const auto* const multiplier = call.Input(In::kMultiplier).As<const int32_t>();
  const auto* const shift = call.Input(In::kShift).As<const int8_t>();
  const auto most = static_cast<int32_t>(kMostSum - 1 - depth * kMostProduct);
  for (int64_t i = 0; i < outputs; ++i) {
    if (multiplier[i] < 0 || shift[i] >= 0 || shift[i] < -kMostRight) return false;
    if (bias[i] > most || bias[i] < -most) return false;
  }
  return true;
}

Reason FivesSupports(const OpCall& call) {
  if (const Reason reason = ConvSupports(call)) return reason;
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  const TensorView& y = call.Output();
  const int64_t depth = DepthOf(w);
  if (depth % kStep != 0 || depth > kMostFivesDepth) return "windows of few inputs, in fours";
  const int64_t pixels = int64_t{y.dims[0]} * y.dims[2] * y.dims[3];
  if (y.dims[3] % kFivePixels != 0 || pixels > kMostPixels) return "few pixels, in rows of fives";
  if (call.Input(In::kX).dtype != DType::kI8 || w.dtype != DType::kI8 ||
      call.HasInput(In::kWeightsZeroPoint)) {
    return "bytes of i8, weights without zero points";
  }
  if (!HasFastFactors(call, attributes.output, depth)) {
    return "biases, and factors of a usual size for each output, to all of i8";
  }
  return nullptr;
}

size_t FivesWorkspaceBytes(const OpCall& call, int) {
  if (call.Output().Elements() == 0) return 0;
  const int64_t depth = DepthOf(call.Input(In::kWeights));
  const int64_t window = IsPointwiseConv(call) ? 0 : depth;
  return static_cast<size_t>(kFivePixels * depth * kHalfBytes + window);
}

Reason DepthwiseRowSupports(const OpCall& call) {
  if (const Reason reason = DepthwiseSupports(call)) return reason;
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  const TensorView& y = call.Output();
  const ConvAttributes& conv = attributes.conv;
  for (int i = 0; i < 2; ++i) {
    if (w.dims[2 + i] != 3 || conv.dilations[i] != 1 || conv.strides[i] > 2) {
      return "3x3 windows with steps of 1 or 2";
    }
  }
  if (w.dims[0] % kDepthwisePlanes != 0) return "channels in fours";
  const bool is_even = attributes.output.rounding == Rounding::kHalfEven;
  const int64_t pixels = int64_t{y.dims[2]} * y.dims[3];
  const bool is_short = is_even && (y.dims[3] <= kMostShortRow || conv.strides[1] == 2);
  if (y.dims[3] < 2 || (y.dims[2] > 1 && pixels > kMostRowPixels && !is_short)) {
    return "rows of two outputs and more, one of them or few pixels";
  }
  if (call.Input(In::kX).dtype != DType::kI8 || w.dtype != DType::kI8 ||
      call.HasInput(In::kWeightsZeroPoint)) {
    return "bytes of i8, weights without zero points";
  }
  constexpr int64_t kTaps = 9;
  if (!HasFastFactors(call, attributes.output, kTaps)) {
    return "biases, and factors of a usual size for each output, to all of i8";
  }
  return nullptr;
}

}  // namespace tenon::cpu::dsp
