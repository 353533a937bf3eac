#include "backends/cpu/caps/cortex_m_caps.hpp"

#include <cstring>

#include "backends/cpu/caps/dsp_caps.hpp"
#include "backends/cpu/caps/in_place_caps.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/constant_caps.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu {
namespace cortex_m {
namespace {

using In = QuantizedGemmInput;
constexpr size_t kSumBytes = sizeof(int32_t);
constexpr int64_t kFewestPixels = 3;  // of a convolution that gathers windows

/// Accepts i8 with constant parameters, one zero point of x and none of the weights, and byte
/// outputs.
Reason GemmRefusal(const OpCall& call, const QuantizedOutput& output) {
  for (int i = In::kWeights; i <= In::kFoldedBias; ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      return "weights and parameters must be constant";
    }
  }
  if (call.Input(In::kX).dtype != DType::kI8 || call.Input(In::kWeights).dtype != DType::kI8) {
    return "the Cortex-M kernels multiply i8 by i8";
  }
  if (call.HasInput(In::kWeightsZeroPoint))
    return "the Cortex-M kernels take weights without zero points";
  if (call.HasInput(In::kXZeroPoint) && call.Input(In::kXZeroPoint).dims[0] != 1) {
    return "the Cortex-M kernels take one zero point for all channels";
  }
  if (output.to != static_cast<int32_t>(DType::kI8) &&
      output.to != static_cast<int32_t>(DType::kU8)) {
    return "the Cortex-M kernels give i8 or u8";
  }
  return nullptr;
}

/// Input elements that one output of a convolution sums.
int64_t DepthOf(const OpCall& conv) {
  const TensorView& w = conv.Input(In::kWeights);
  return int64_t{w.dims[1]} * w.dims[2] * w.dims[3];
}

/// Bytes of the constant part of each sum, where no operand is just that.
size_t BiasBytes(const OpCall& call, int32_t outputs) {
  return HasFinalBias(call) ? 0 : RoundUpToStep(kSumBytes * static_cast<size_t>(outputs));
}

/// Windows that a convolution gathers at once.
int WantedPixels(const OpCall& conv) {
  // Few more than share each vector of weights, but of small windows enough to pay for a start.
  constexpr int64_t kMost = 64;
  constexpr int64_t kSmall = 64;
  const int64_t depth = DepthOf(conv);
  const int64_t bytes = IsPointwiseConv(conv) ? 2048 : (depth <= kSmall ? 1024 : 512);
  const int64_t pixels = bytes / depth;
  return static_cast<int>(pixels < kFewestPixels ? kFewestPixels
                                                 : (pixels > kMost ? kMost : pixels));
}

}  // namespace

bool HasFinalBias(const OpCall& call) {
  return call.HasInput(In::kFoldedBias) ||
         (call.HasInput(In::kBias) && !call.HasInput(In::kXZeroPoint));
}

Reason ConvSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (attributes.conv.group != 1) return "the Cortex-M convolution has one group";
  if (DepthOf(call) > kMostDepth) return "windows larger than the Cortex-M convolution gathers";
  return nullptr;
}

Reason DepthwiseSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  if (w.dims[1] != 1 || w.dims[0] != attributes.conv.group) return "not depthwise";
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (DepthOf(call) > kMostDepthwiseTaps) {
    return "more taps than the Cortex-M kernel keeps pointers to";
  }
  return nullptr;
}

Reason MatMulSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  if (const Reason reason = GemmRefusal(call, attributes.output)) return reason;
  if (attributes.matmul.transpose_a != 0) return "the Cortex-M product takes a as it is";
  if (!HasOneMatrix(call)) return "the Cortex-M product takes one matrix for all batches";
  return nullptr;
}

Reason BinarySupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedBinaryAttributes>();
  const TensorView& z = call.Output();
  if (attributes.function != BinaryFunction::kAdd && attributes.function != BinaryFunction::kSub) {
    return "the Cortex-M kernel adds and subtracts";
  }
  if (attributes.output.rounding != Rounding::kFixedPoint) {
    return "the Cortex-M sums are rounded in fixed point";
  }
  if (DTypeBytes(z.dtype) != 1) return "the Cortex-M kernel gives i8 and u8";
  for (int i = 0; i < 2; ++i) {
    const TensorView& operand = call.Input(i);
    if (operand.dtype != DType::kI8) return "the Cortex-M kernel adds i8";
    if (operand.shape() != z.shape()) return "the Cortex-M kernel adds operands of equal shape";
  }
  return nullptr;
}

Reason LookupSupports(const OpCall& call) {
  return DTypeBytes(call.Output().dtype) == 1 ? Reason()
                                              : Reason("the Cortex-M lookup takes tables of bytes");
}

Reason PoolSupports(const OpCall& call) {
  if (call.Input(0).dtype != DType::kI8) return "the Cortex-M pooling takes i8";
  const auto& pool = call.AttributesAs<PoolAttributes>();
  if (int64_t{pool.kernel[0]} * pool.kernel[1] >= kMostPoolTaps) {
    return "windows of more taps than the Cortex-M pooling counts";
  }
  return nullptr;
}

bool IsInPlacePointwise(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return IsPointwiseConv(conv) && attributes.strides[0] == 1 && attributes.strides[1] == 1;
}

size_t ConvBiasBytes(const OpCall& call) {
  return BiasBytes(call, call.Input(In::kWeights).dims[0]);
}

int GatheredPixels(const OpCall& conv, size_t bytes) {
  const int wanted = WantedPixels(conv);
  const auto room = (bytes - ConvBiasBytes(conv)) / static_cast<size_t>(DepthOf(conv));
  return room < static_cast<size_t>(wanted) ? static_cast<int>(room) : wanted;
}

size_t ConvWorkspaceBytes(const OpCall& call, int) {
  if (IsInPlacePointwise(call)) return ConvBiasBytes(call);
  return ConvBiasBytes(call) + static_cast<size_t>(WantedPixels(call) * DepthOf(call));
}

size_t ConvLeastBytes(const OpCall& call, int) {
  if (IsInPlacePointwise(call)) return ConvBiasBytes(call);
  return ConvBiasBytes(call) + static_cast<size_t>(kFewestPixels * DepthOf(call));
}

size_t DepthwiseWorkspaceBytes(const OpCall& call, int) {
  const int32_t channels = call.Input(In::kWeights).dims[0];
  // Sums are written 16 channels at a time.
  const int32_t whole = static_cast<int32_t>(RoundUpToStep(static_cast<size_t>(channels)));
  const size_t padding = channels > kOwnPaddingChannels ? static_cast<size_t>(channels) : 0;
  return BiasBytes(call, whole) + padding;
}

size_t InPlaceWorkspaceBytes(const OpCall& call, size_t (*own)(const OpCall& call, int threads)) {
  return RoundUpToStep(InPlaceRowsBytes(call, InPlaceNewRows(call))) + own(call, 1);
}

size_t InPlaceLeastBytes(const OpCall& call, size_t (*own)(const OpCall& call, int threads)) {
  return RoundUpToStep(InPlaceRowsBytes(call, 1)) + own(call, 1);
}

size_t MatMulWorkspaceBytes(const OpCall& call, int) {
  const TensorView& y = call.Output();
  return BiasBytes(call, y.dims[y.rank - 1]);
}

size_t ConvLeast(const OpCall& call) { return ConvLeastBytes(call, 1); }

size_t ConvInPlaceWorkspace(const OpCall& call, int) {
  return InPlaceWorkspaceBytes(call, ConvWorkspaceBytes);
}
size_t ConvInPlaceLeast(const OpCall& call) { return InPlaceLeastBytes(call, ConvLeastBytes); }

size_t DepthwiseInPlaceWorkspace(const OpCall& call, int) {
  return InPlaceWorkspaceBytes(call, DepthwiseWorkspaceBytes);
}
size_t DepthwiseInPlaceLeast(const OpCall& call) {
  return InPlaceLeastBytes(call, DepthwiseWorkspaceBytes);
}

}  // namespace cortex_m

Span<const KernelCaps> CortexMCaps(const char* set) {
#define TENON_KERNEL(...) TENON_KERNEL_CAPS("cpu", __VA_ARGS__),
#define TENON_CORTEX_M_SET(rest) helium##rest
  static constexpr KernelCaps kHelium[] = {
#include "backends/cpu/caps/cortex_m.inc"
  };
#undef TENON_CORTEX_M_SET
  static constexpr KernelCaps kDsp[] = {
#include "backends/cpu/caps/dsp.inc"
  };
#undef TENON_KERNEL
  if (std::strcmp(set, "helium") == 0) return kHelium;
  if (std::strcmp(set, "dsp") == 0) return kDsp;
  return {};
}

}  // namespace tenon::cpu
