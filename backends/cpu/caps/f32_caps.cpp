#include "backends/cpu/caps/f32_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::f32 {
namespace {

constexpr char kOneShape[] = "portable code is as fast for operands of one shape";
constexpr char kF32Only[] = "vector kernels run f32 only";
constexpr char kEmpty[] = "vector kernels are not used for empty tensors";
constexpr char kPacked[] =
    "vector kernels pack weights and bias when the plan is loaded: they must be constant";

/// The refusals that all kernels without weights share.
const char* CommonRefusal(const OpCall& call) { return F32Refusal(call, {kF32Only, kEmpty}); }

/// And those of kernels with weights, which may have a scale.
const char* WeightsRefusal(const OpCall& call, int scale, bool bytes = false) {
  const uint32_t constants = 1U << 1 | 1U << 2 | 1U << scale;
  return F32Refusal(call, {kF32Only, kEmpty, kPacked, constants, /*stored_weights=*/true, bytes});
}

/// Returns true where one operand of a binary op repeats along some dimensions and not along all:
/// in one layout or another its rows are short, and starting one costs much beside its work.
bool RepeatsInParts(const OpCall& call) {
  const TensorView& z = call.Output();
  for (int input = 0; input < 2; ++input) {
    const TensorView& view = call.Input(input);
    bool repeats = false;
    bool moves = false;
    for (int axis = 0; axis < z.rank; ++axis) {
      if (z.dims[axis] == 1) continue;
      const int own = axis - (z.rank - view.rank);
      const bool is_one = own < 0 || view.dims[own] == 1;
      repeats = repeats || is_one;
      moves = moves || !is_one;
    }
    if (repeats && moves) return true;
  }
  return false;
}

/// Weights of other types are made panels by every kernel, and small ones stay in the caches.
const char* PanelsRefusal(const TensorView& weights, int32_t outputs) {
  if (weights.dtype != DType::kF32) return "weights of fewer bits are unpacked by the next kernel";
  if (outputs <= kMostWidth || weights.Elements() * int64_t{sizeof(float)} < kPanelBytes) {
    return "small weights are read where they lie";
  }
  return nullptr;
}

/// Refuses large windows by constant weights that cut the image into patches: each is a row of a
/// matrix product, whose tiles have more pixels (kMostTapPointers).
const char* PatchesRefusal(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  if (ConvTaps(conv) * kMostPixels <= kMostTapPointers || attributes.group != 1 ||
      conv.Input(GemmInput::kWeights).data == nullptr || conv.HasInput(ConvInput::kResidual)) {
    return nullptr;
  }
  for (int i = 0; i < 2; ++i) {
    const int32_t taps = conv.Input(GemmInput::kWeights).dims[2 + i];
    const bool is_cut = taps == attributes.strides[i] && attributes.dilations[i] == 1 &&
                        attributes.pads[i] == 0 && attributes.pads[2 + i] == 0 &&
                        conv.Input(GemmInput::kX).dims[2 + i] % taps == 0;
    if (!is_cut) return nullptr;
  }
  return "large patches are better rows of a matrix product";
}

/// Refuses convolutions that register tiles cannot compute, whatever their weights.
const char* RegisterTilesRefusal(const OpCall& call) {
  if (ConvTaps(call) > kMostTaps) return "more taps than the vector kernel keeps pointers to";
  if (const char* reason = PatchesRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const int outputs = call.Input(GemmInput::kWeights).dims[0] / attributes.group;
  if (attributes.group > 1 && outputs < 2 * kWidthStep && outputs != kWidthStep) {
    return "groups too narrow for vectors";
  }
  return nullptr;
}

/// And such products.
const char* MatMulRefusal(const OpCall& call) {
  if (call.AttributesAs<MatMulAttributes>().transpose_a != 0) {
    return "the vector product takes its first factor as it is";
  }
  if (!HasBiasAlongLast(call)) {
    return "the vector product takes a bias along the last dimension only";
  }
  return nullptr;
}

constexpr const char* kFewRowsRefusal = "few rows read large weights in the order of the plan";

}  // namespace

const char* ConvRefusal(const OpCall& call, bool bytes) { return WeightsRefusal(call, 4, bytes); }

bool HasColumnsAsOne(const ConvGeometry& conv) {
  const bool is_dense = conv.convolutions == 1 && conv.dilations[1] == 1 &&
                        conv.x.pixel == conv.inputs && (conv.inputs == 1 || conv.x.channel == 1);
  if (conv.kernel[1] == 1 || !is_dense) return false;
  for (int i = 0; i < 2; ++i) {
    const int64_t last = int64_t{conv.out_extent[i] - 1} * conv.strides[i] +
                         int64_t{conv.kernel[i] - 1} * conv.dilations[i];
    if (conv.pads[i] != 0 || last >= conv.in_extent[i]) return false;
  }
  return true;
}

const char* ConvSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  return RegisterTilesRefusal(call);
}

const char* ConvPanelsSupports(const OpCall& call) {
  if (const char* reason = ConvSupports(call)) return reason;
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int group = call.AttributesAs<ConvAttributes>().group;
  const TensorView& y = call.Output();
  const bool few_rows = y.Elements() <= int64_t{kMostFewRows} * y.dims[1] && ConvTaps(call) == 1;
  if (few_rows && group == 1 && !call.HasInput(ConvInput::kResidual)) return kFewRowsRefusal;
  return PanelsRefusal(w, w.dims[0] / group);
}

const char* FirstConvSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call, /*bytes=*/true)) return reason;
  if (call.AttributesAs<ConvAttributes>().group != 1 ||
      call.Input(0).dims[1] > kMostFirstChannels) {
    return "for the few channels of a first layer only";
  }
  if (ConvTaps(call) == 1) return "a 1x1 convolution needs no copy of its rows";
  if (const char* reason = PatchesRefusal(call)) return reason;
  const int64_t taps = ConvTaps(call) * call.Input(0).dims[1];
  const int64_t rows = int64_t{call.Input(GemmInput::kWeights).dims[2]} * call.Input(0).dims[1];
  if (taps > kMostFirstTaps || PaddedRow(call) * rows > kMostRowFloats) {
    return "rows or kernel too large for the stack";
  }
  return nullptr;
}

const char* NarrowConvSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  if (call.AttributesAs<ConvAttributes>().group != 1 ||
      call.Output().dims[1] > kMostNarrowOutputs) {
    return "for the few outputs of a last layer only";
  }
  // Of register tiles, of 8 or 16 outputs, one output takes as long as so many products.
  constexpr int64_t kOfTap = 10;
  constexpr int64_t kOfPixel = 200;
  const TensorView& w = call.Input(GemmInput::kWeights);
  if (NarrowConvProducts(call) > kOfPixel + kOfTap * w.dims[1] * ConvTaps(call)) {
    return "windows so small that adding up lanes takes longer than empty lanes";
  }
  return nullptr;
}

int64_t NarrowConvProducts(const OpCall& call) {
  constexpr int64_t kLanes = 16;
  constexpr int64_t kOfSum = 45;
  constexpr int64_t kOfProduct = 14;  // of one vector
  constexpr int64_t kOfLoad = 28;     // of a pixel's vector, which may lie across two lines
  const TensorView& w = call.Input(GemmInput::kWeights);
  const int64_t rows =
      call.AttributesAs<ConvAttributes>().dilations[1] == 1 ? w.dims[2] : ConvTaps(call);
  const int64_t vectors = rows * CeilDiv(w.dims[1] * ConvTaps(call) / rows, kLanes);
  const int64_t of_vector = kOfProduct * w.dims[0];
  return kOfSum * w.dims[0] + vectors * (of_vector > kOfLoad ? of_vector : kOfLoad);
}

int64_t PaddedRow(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  return int64_t{conv.Output().dims[3] - 1} * attributes.strides[1] +
         int64_t{conv.Input(GemmInput::kWeights).dims[3] - 1} * attributes.dilations[1] + 1;
}

int FirstBandRows(const OpCall& conv) {
  // Such a copy stays in the first-level cache beside weights.
  constexpr int64_t kBandFloats = 6144;
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  if (attributes.dilations[0] != 1) return 1;
  const int64_t kernel_rows = conv.Input(GemmInput::kWeights).dims[2];
  const int64_t fitting = kBandFloats / (PaddedRow(conv) * conv.Input(0).dims[1]);
  const int64_t more = (fitting - kernel_rows) / attributes.strides[0];
  if (fitting < kernel_rows || more < 1) return 1;
  const int most = (conv.Output().dims[2] + 1) / 2;  // for two threads
  return more < most ? static_cast<int>(more) + 1 : most;
}

int FewGroupChannels(const OpCall& conv) {
  const int group = conv.AttributesAs<ConvAttributes>().group;
  const TensorView& w = conv.Input(GemmInput::kWeights);
  if (ChannelMultiplier(conv) > 0) return 1;
  const bool known = group > 1 && (w.dims[1] == 2 || w.dims[1] == 4);
  return known && w.dims[0] == group * w.dims[1] ? w.dims[1] : 0;
}

const char* DepthwiseSupports(const OpCall& call) {
  if (const char* reason = ConvRefusal(call)) return reason;
  if (ChannelMultiplier(call) == 0 && FewGroupChannels(call) == 0) return "not depthwise";
  if (ConvTaps(call) > kMostDepthwiseTaps)
    return "more taps than the vector kernel keeps pointers to";
  return nullptr;
}

const char* MatMulSupports(const OpCall& call) {
  if (const char* reason = WeightsRefusal(call, 3)) return reason;
  if (!HasOneMatrix(call)) return "the vector product takes one matrix for all batches";
  return MatMulRefusal(call);
}

const char* MatMulPanelsSupports(const OpCall& call) {
  if (const char* reason = MatMulSupports(call)) return reason;
  const TensorView& y = call.Output();
  if (y.Elements() <= int64_t{kMostFewRows} * y.dims[y.rank - 1]) return kFewRowsRefusal;
  return PanelsRefusal(call.Input(GemmInput::kWeights), y.dims[y.rank - 1]);
}

const char* MatMulColumnSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<MatMulAttributes>();
  const TensorView& y = call.Output();
  if (attributes.transpose_a != 0 || y.dims[y.rank - 1] != 1) {
    return "for rows that are multiplied by one column only";
  }
  if (call.HasInput(MatMulInput::kBias) && call.Input(MatMulInput::kBias).Elements() != 1) {
    return "products with one column take one number as bias";
  }
  return nullptr;
}

const char* ComputedConvSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  return RegisterTilesRefusal(call);
}

const char* ComputedMatMulSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  return MatMulRefusal(call);
}

const char* PoolSupports(const OpCall& call) { return CommonRefusal(call); }

const char* SoftmaxSupports(const OpCall& call) {
  constexpr int64_t kFewColumns = 16;
  if (const char* reason = CommonRefusal(call)) return reason;
  const TensorView& x = call.Input(0);
  const int axis = call.AttributesAs<SoftmaxAttributes>().axis;
  if (axis == x.rank - 1) return nullptr;
  if (x.rank == 4 && axis == 1) return "softmax of images' channels takes these innermost";
  int64_t columns = 1;
  for (int k = axis + 1; k < x.rank; ++k) columns *= x.dims[k];
  if (columns < kFewColumns) return "the vector softmax takes 16 columns and more at once";
  return nullptr;
}

const char* ChannelSoftmaxSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4 || call.AttributesAs<SoftmaxAttributes>().axis != 1) {
    return "the vector softmax runs along the innermost dimension only";
  }
  return nullptr;
}

const char* LayerNormSupports(const OpCall& call) { return CommonRefusal(call); }

const char* AttentionSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  const TensorView& q = call.Input(AttentionInput::kQ);
  const TensorView& v = call.Input(AttentionInput::kV);
  if (v.dims[v.rank - 2] > kMostKeys || q.dims[q.rank - 1] > kMostQueryElements) {
    return "more keys or elements of a query than the vector kernel's buffers take";
  }
  return nullptr;
}

int64_t PackedKeyFloats(const OpCall& attention) {
  const TensorView& q = attention.Input(AttentionInput::kQ);
  const TensorView& v = attention.Input(AttentionInput::kV);
  return int64_t{RoundUp(v.dims[v.rank - 2], kWidthStep)} * q.dims[q.rank - 1];
}

int64_t PackedValueFloats(const OpCall& attention) {
  const TensorView& v = attention.Input(AttentionInput::kV);
  return int64_t{v.dims[v.rank - 2]} * RoundUp(v.dims[v.rank - 1], kWidthStep);
}

size_t AttentionWorkspaceBytes(const OpCall& call, int /*threads*/) {
  const TensorView& y = call.Output();
  const int64_t batches = y.Elements() / (int64_t{y.dims[y.rank - 2]} * y.dims[y.rank - 1]);
  return static_cast<size_t>(batches * (PackedKeyFloats(call) + PackedValueFloats(call)) *
                             int64_t{sizeof(float)});
}

bool HasVectorForm(UnaryFunction function) {
  switch (function) {
#define TENON_VECTOR_FUNCTION(Kind) case UnaryFunction::k##Kind:
#include "backends/cpu/caps/vector_functions.inc"
    return true;
    default:
      return false;
  }
}

const char* UnarySupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (!HasVectorForm(call.AttributesAs<UnaryAttributes>().function)) {
    return "the vector unary has no formula of this function, or portable code is as fast";
  }
  return nullptr;
}

const char* ElementwiseSupports(const OpCall& call) { return CommonRefusal(call); }

const char* BinarySupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<BinaryAttributes>();
  if (GivesBool(attributes.function) && call.Input(BinaryInput::kX).dtype == DType::kF32) {
    if (call.Output().Elements() == 0) return kEmpty;
    return RepeatsInParts(call) ? nullptr : kOneShape;
  }
  if (const char* reason = CommonRefusal(call)) return reason;
  switch (attributes.function) {
    case BinaryFunction::kAdd:
    case BinaryFunction::kSub:
    case BinaryFunction::kMul:
    case BinaryFunction::kDiv:
    case BinaryFunction::kMax:
    case BinaryFunction::kMin:
      break;
    default:
      return "the vector binary has no formula of this function";
  }
  if (RepeatsInParts(call) || HasVectorForm(attributes.activation.function)) return nullptr;
  return kOneShape;
}

const char* GridSampleSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.AttributesAs<GridSampleAttributes>().mode != ResizeMode::kLinear) {
    return "the vector grid_sample is linear";
  }
  return nullptr;
}

const char* LrnSupports(const OpCall& call) {
  if (const char* reason = CommonRefusal(call)) return reason;
  if (call.Input(0).rank != 4) return "the vector local response normalisation takes rank 4";
  if (call.AttributesAs<LrnAttributes>().size > kMostLrnWindow ||
      call.Input(0).dims[1] > kMostLrnDepth) {
    return "a wider window or more channels than the vector kernel's buffer takes";
  }
  return nullptr;
}

}  // namespace tenon::cpu::f32
