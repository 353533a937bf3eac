#include "backends/cpu/caps/onednn_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/functions.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::onednn {
namespace {

constexpr const char* kNeedsF32 = "oneDNN's kernel is used for f32 only";
constexpr const char* kEmpty = "oneDNN's kernel is not used for empty tensors";
constexpr const char* kActivation = "oneDNN has no post-op for this activation";

// The largest blocks of inputs and outputs that oneDNN packs weights in.
constexpr int64_t kInputBlock = 16;
constexpr int64_t kOutputBlock = 64;

size_t PackedMatrixBytes(int64_t rows, int64_t columns) {
  return static_cast<size_t>(RoundUp<int64_t>(rows, kInputBlock) *
                             RoundUp<int64_t>(columns, kOutputBlock) * int64_t{sizeof(float)});
}

/// The refusals that all kernels share.
const char* CommonRefusal(const OpCall& call) { return F32Refusal(call, {kNeedsF32, kEmpty}); }

/// Grouped convolutions pad each group's channels to whole vectors of 16. True where that makes
/// them so many times larger that plain loops are faster (depthwise has kernels of its own).
bool GroupsTooNarrow(const OpCall& call) {
  const int32_t group = call.AttributesAs<ConvAttributes>().group;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int64_t inputs = w.dims[1];
  const int64_t outputs = w.dims[0] / group;
  if (group == 1 || (inputs == 1 && outputs == 1)) return false;
  constexpr int64_t kVector = 16;
  constexpr int64_t kMostWaste = 32;
  return RoundUp<int64_t>(inputs, kVector) * RoundUp<int64_t>(outputs, kVector) >
         kMostWaste * inputs * outputs;
}

const char* PoolSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  for (int i = 0; i < 2; ++i) {
    if (attributes.dilations[i] != 1 && attributes.kernel[i] != 1) {
      return "oneDNN pools with dilation in its slow reference code only";
    }
  }
  return nullptr;
}

/// True if the last window of some dimension reaches beyond the declared padding (ceil_mode).
bool WindowsLeavePadding(const OpCall& call) {
  const auto& attributes = call.AttributesAs<PoolAttributes>();
  for (int i = 0; i < 2; ++i) {
    const int64_t last_start = int64_t{call.Output().dims[2 + i] - 1} * attributes.strides[i];
    const int64_t extent =
        int64_t{attributes.pads[i]} + call.Input(0).dims[2 + i] + attributes.pads[2 + i];
    if (last_start + attributes.kernel[i] > extent) return true;
  }
  return false;
}

}  // namespace

bool HasPostOps(const Activation& activation) {
  switch (activation.function) {
    case UnaryFunction::kIdentity:
    case UnaryFunction::kRelu:
    case UnaryFunction::kClip:
    case UnaryFunction::kLeakyRelu:
    case UnaryFunction::kSigmoid:
    case UnaryFunction::kTanh:
    case UnaryFunction::kHardSigmoid:
    case UnaryFunction::kHardSwish:
    case UnaryFunction::kElu:
    case UnaryFunction::kSelu:
    case UnaryFunction::kSilu:
    case UnaryFunction::kGelu:
    case UnaryFunction::kSoftplus:
    case UnaryFunction::kMish:
    case UnaryFunction::kAbs:
    case UnaryFunction::kNeg:
      return true;
    default:
      return false;
  }
}

const char* ConvSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (!HasPostOps(call.AttributesAs<ConvAttributes>().activation)) return kActivation;
  if (GroupsTooNarrow(call)) return "groups of so few channels that oneDNN would mostly pad";
  return nullptr;
}

const char* ConvMatMulSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  if (!HasPostOps(attributes.activation)) return kActivation;
  if (attributes.group != 1) return "a grouped convolution is no single matrix product";
  if (!IsPointwiseConv(call) || attributes.strides[0] != 1 || attributes.strides[1] != 1) {
    return "only a 1x1 convolution without stride and padding is one";
  }
  if (call.HasInput(ConvInput::kResidual)) {
    return "with a residual, oneDNN's strided product wants scratch as large as the output";
  }
  return nullptr;
}

const char* MatMulSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (!HasPostOps(call.AttributesAs<MatMulAttributes>().activation)) return kActivation;
  if (!HasBiasAlongLast(call)) {
    return "oneDNN's fast products take a bias along the last dimension only";
  }
  return nullptr;
}

const char* MaxPoolSupports(const OpCall& call) { return PoolSupports(call); }

const char* AveragePoolSupports(const OpCall& call) {
  if (const char* reason = PoolSupports(call)) return reason;
  if (call.AttributesAs<PoolAttributes>().count_include_pad != 0 && WindowsLeavePadding(call)) {
    return "oneDNN would count what lies beyond the padding (ceil_mode, count_include_pad)";
  }
  return nullptr;
}

const char* SoftmaxSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.AttributesAs<SoftmaxAttributes>().axis != call.Input(0).rank - 1) {
    return "oneDNN's softmax is fast along the innermost dimension only";
  }
  return nullptr;
}

const char* ChannelSoftmaxSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4 || call.AttributesAs<SoftmaxAttributes>().axis != 1) {
    return "oneDNN's softmax is fast along the innermost dimension only";
  }
  return nullptr;
}

const char* LrnSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4) return "oneDNN's local response normalisation takes rank 4";
  if (call.AttributesAs<LrnAttributes>().size % 2 == 0) {
    return "oneDNN centres the window, which an even size cannot be";
  }
  constexpr int32_t kVector = 16;
  if (call.Input(0).dims[1] % kVector != 0) {
    return "oneDNN's local response normalisation is fast for whole vectors of 16 channels only";
  }
  return nullptr;
}

size_t ConvWorkspaceBytes(const OpCall& call, int threads) {
  // Per thread a list of kernel taps, and once a page for padding; a 1x1 over many channels adds an
  // accumulator per thread.
  constexpr int64_t kPage = 4096;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int64_t taps = ConvTaps(call);
  const int64_t tap_lists = RoundUp<int64_t>(32 * taps, kPage);
  const int64_t accumulator = taps == 1 && w.dims[1] >= 1024 ? 2 * kPage : 0;
  return static_cast<size_t>(kPage + threads * (tap_lists + accumulator));
}

size_t MatMulWorkspaceBytes(const OpCall&, int threads) {
  return 128 + 512 * static_cast<size_t>(threads);
}

size_t ConvPackedBytes(const OpCall& call) {
  // Blocked forms pad inputs and outputs of each group to whole blocks, and depthwise ones the
  // groups.
  const int32_t group = call.AttributesAs<ConvAttributes>().group;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int64_t outputs = w.dims[0] / group;
  const int64_t per_group =
      outputs == 1 && w.dims[1] == 1
          ? 1
          : RoundUp<int64_t>(outputs, kOutputBlock) * RoundUp<int64_t>(w.dims[1], kInputBlock);
  const int64_t groups = group == 1 ? 1 : RoundUp<int64_t>(group, kInputBlock);
  return kObjectBytes +
         static_cast<size_t>(groups * per_group * w.dims[2] * w.dims[3] * int64_t{sizeof(float)});
}

size_t ConvMatMulPackedBytes(const OpCall& call) {
  const TensorView& w = call.Input(GemmInput::kWeights);
  return kObjectBytes + PackedMatrixBytes(w.dims[1], w.dims[0]);
}

size_t MatMulPackedBytes(const OpCall& call) {
  const TensorView& b = call.Input(GemmInput::kWeights);
  const bool transposed = call.AttributesAs<MatMulAttributes>().transpose_b != 0;
  const int32_t rows = b.dims[b.rank - (transposed ? 1 : 2)];
  const int32_t columns = b.dims[b.rank - (transposed ? 2 : 1)];
  // Only constants are packed, and only one matrix for all batches. Other products may be two
  // primitives, the second with scratch of its own.
  if (b.data != nullptr) return kObjectBytes + PackedMatrixBytes(rows, columns);
  return 2 * kObjectBytes + MatMulWorkspaceBytes(call, 1);
}

size_t ObjectBytes(const OpCall&) { return kObjectBytes; }

}  // namespace tenon::cpu::onednn
