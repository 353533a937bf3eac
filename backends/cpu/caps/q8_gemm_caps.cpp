#include "backends/cpu/caps/q8_gemm_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"
#include "runtime/ops/kernel_refusals.hpp"

namespace tenon::cpu::q8 {
namespace {

using In = QuantizedGemmInput;

// Of the kernels' blocks: arrays begin at cache lines, a header and a descriptor for each group of
// channels stand in front.
constexpr int64_t kHeaderBytes = 64;
constexpr int64_t kGroupBytes = 88;
/// Fewer rows do not pay for packing the second factor.
constexpr int kFewestPackingRows = 4;

/// `first_constant`: the first input that must be constant.
const char* GemmRefusal(const OpCall& call, int first_constant = In::kWeights) {
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    if (call.Input(i).Elements() == 0) return "fast products are not used for empty tensors";
    if (i >= first_constant && call.Input(i).data == nullptr) {
      return "fast products pack weights, factors and zero points when the plan is loaded: they "
             "must be constant";
    }
  }
  if (call.Output().Elements() == 0) return "fast products are not used for empty tensors";
  return nullptr;
}

int32_t ByteAt(const TensorView& view, int64_t offset) {
  return view.dtype == DType::kI8 ? view.As<const int8_t>()[offset]
                                  : view.As<const uint8_t>()[offset];
}

/// The passes that a weight less its zero point takes: it is the sum of as many i8.
int PassesOf(int32_t difference) {
  if (difference >= -128 && difference <= 127) return 1;
  return difference <= 2 * 127 ? 2 : 3;  // the least is -255
}

/// `convolutions` times `outputs` channels, each from `taps` of `depth` bytes.
size_t PackedBytes(const OpCall& call, int64_t convolutions, int64_t outputs, int64_t depth,
                   int64_t taps, int64_t x_channels, int passes) {
  const int64_t groups = convolutions * RoundUp<int64_t>(outputs, kMostWidth) / kMostWidth;
  const int64_t width = convolutions * RoundUp<int64_t>(outputs, kWidthStep);
  int64_t arrays = 1;  // bias, multiplier, shift and the three floats of a fixed-point factor
  if (call.HasInput(In::kMultiplier)) arrays = call.HasInput(In::kShift) ? 6 : 2;
  if (passes > 1) ++arrays;  // what sums take of x
  return static_cast<size_t>(
      kHeaderBytes + RoundUp<int64_t>(groups * kGroupBytes, kLineBytes) +
      RoundUp<int64_t>(x_channels, kLineBytes) +
      RoundUp<int64_t>(width * RoundUp<int64_t>(depth, kDepthStep) * taps * passes, kLineBytes) +
      arrays * RoundUp<int64_t>(width * 4, kLineBytes));
}

void AddConstants(const OpCall& call, const QuantizedOutput& output, PackingKey* key) {
  key->Add(output.to);
  key->Add(static_cast<int32_t>(output.rounding));
  key->Add(static_cast<int32_t>(call.Input(In::kX).dtype));
  for (int i = In::kWeights; i <= In::kWeightsZeroPoint; ++i) {
    key->Add(call.HasInput(i) ? 1 : 0);
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
}

}  // namespace

int WeightPasses(const OpCall& call, int output_axis) {
  const TensorView& w = call.Input(In::kWeights);
  const bool has_zero_points = call.HasInput(In::kWeightsZeroPoint);
  if (w.dtype == DType::kI8 && !has_zero_points) return 1;
  int64_t inner = 1;  // elements from one output channel to the next in row-major order
  for (int i = output_axis + 1; i < w.rank; ++i) inner *= w.dims[i];
  const int64_t outputs = w.dims[output_axis];
  const int64_t elements = w.Elements();
  int most = 1;
  for (int64_t index = 0; index < elements; ++index) {
    int64_t offset = 0;
    int64_t rest = index;
    for (int i = w.rank - 1; i >= 0; --i) {
      offset += rest % w.dims[i] * w.strides[i];
      rest /= w.dims[i];
    }
    int32_t zero_point = 0;
    if (has_zero_points) {
      const TensorView& zero_points = call.Input(In::kWeightsZeroPoint);
      zero_point = ByteAt(zero_points, zero_points.dims[0] == 1 ? 0 : index / inner % outputs);
    }
    const int passes = PassesOf(ByteAt(w, offset) - zero_point);
    if (passes > most) most = passes;
  }
  return most;
}

int MostWeightPasses(const OpCall& call) {
  const bool is_signed = call.Input(In::kWeights).dtype == DType::kI8;
  const int32_t least = is_signed ? -128 : 0;
  int32_t zero_point = 0;
  if (call.HasInput(In::kWeightsZeroPoint)) {
    zero_point = ByteAt(call.Input(In::kWeightsZeroPoint), 0);
  }
  const int at_least = PassesOf(least - zero_point);
  const int at_most = PassesOf(least + 255 - zero_point);
  return at_least > at_most ? at_least : at_most;
}

int MatMulOutputAxis(const OpCall& call) {
  const bool transposed = call.AttributesAs<MatMulAttributes>().transpose_b != 0;
  return call.Input(In::kWeights).rank - (transposed ? 2 : 1);
}

bool IsDirect(const OpCall& conv) {
  return IsPointwiseConv(conv) && conv.Input(In::kWeights).dims[1] >= kFewestDirectChannels;
}

int64_t ColumnsOfTap(const OpCall& conv) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  const bool are_contiguous = attributes.group == 1 && attributes.dilations[1] == 1;
  return are_contiguous ? conv.Input(In::kWeights).dims[3] : 1;
}

const char* ConvSupports(const OpCall& call) {
  if (const char* reason = GemmRefusal(call)) return reason;
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  if (attributes.group > 1 && w.dims[1] < kFewestDirectChannels) {
    return "groups of fewer input channels than a step multiplies";
  }
  if (IsDirect(call)) return nullptr;
  if (ConvTaps(call) > kMostTaps) return "more taps than the fast convolution keeps offsets of";
  const int64_t columns = int64_t{w.dims[3] - 1} * attributes.dilations[1] + 1;
  const int64_t pixel_bytes = int64_t{w.dims[2]} * call.Input(In::kX).dims[1];
  if (columns > kMostBandBytes || pixel_bytes > kMostBandBytes ||
      columns * pixel_bytes + kDepthStep > kMostBandBytes) {
    return "what one output pixel reads is too large for the stack";
  }
  return nullptr;
}

const char* MatMulSupports(const OpCall& call) {
  if (const char* reason = GemmRefusal(call)) return reason;
  if (call.AttributesAs<MatMulAttributes>().transpose_a != 0) {
    return "the fast product takes its first factor as it is";
  }
  const TensorView& a = call.Input(In::kX);
  if (!HasOneMatrix(call)) return "the fast product takes one matrix for all batches";
  if (a.dims[a.rank - 1] < kFewestDirectChannels) return "rows shorter than a step multiplies";
  return nullptr;
}

const char* PackingMatMulSupports(const OpCall& call) {
  if (const char* reason = GemmRefusal(call, In::kBias)) return reason;
  if (call.AttributesAs<MatMulAttributes>().transpose_a != 0) {
    return "the fast product takes its first factor as it is";
  }
  for (const int i : {In::kXZeroPoint, In::kWeightsZeroPoint}) {
    if (call.HasInput(i) && call.Input(i).dims[0] != 1) {
      return "where the second factor is packed each time, zero points are one for all channels";
    }
  }
  const TensorView& a = call.Input(In::kX);
  if (a.dims[a.rank - 1] < kFewestDirectChannels) return "rows shorter than a step multiplies";
  return a.dims[a.rank - 2] < kFewestPackingRows ? "too few rows to pay for packing the factors"
                                                 : nullptr;
}

const char* DynamicMatMulSupports(const OpCall& call) {
  using Dynamic = DynamicMatMulInput;
  const TensorView& a = call.Input(Dynamic::kX);
  const TensorView& y = call.Output();
  if (y.Elements() == 0) return "fast products are not used for empty tensors";
  for (const int i : {Dynamic::kWeights, Dynamic::kWeightsScale, Dynamic::kWeightsZeroPoint}) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) {
      return "fast products pack weights, factors and zero points when the plan is loaded: they "
             "must be constant";
    }
  }
  if (a.dims[a.rank - 1] < kFewestDirectChannels) return "rows shorter than a step multiplies";
  if (a.Elements() > INT32_MAX) return "more elements than the fast product counts";
  if (!call.HasInput(Dynamic::kBias)) return nullptr;
  const TensorView& bias = call.Input(Dynamic::kBias);
  const int64_t columns = y.dims[y.rank - 1];
  const bool has_columns = bias.rank > 0 && bias.dims[bias.rank - 1] == columns;
  const bool fits = bias.Elements() == columns || bias.Elements() == y.Elements();
  return has_columns && fits ? nullptr : "the fast product adds a bias of a row, or of each output";
}

InnerProduct::InnerProduct(const OpCall& dynamic) {
  using Dynamic = DynamicMatMulInput;
  attributes_.output.to = static_cast<int32_t>(DType::kI32);
  tensors_[0] = dynamic.Input(Dynamic::kX);
  tensors_[0].dtype = DType::kU8;
  tensors_[1] = dynamic.Input(Dynamic::kWeights);
  const bool has_zero_point = dynamic.HasInput(Dynamic::kWeightsZeroPoint);
  if (has_zero_point) tensors_[2] = dynamic.Input(Dynamic::kWeightsZeroPoint);
  tensors_[3] = dynamic.Output();
  for (int32_t& id : ids_) id = -1;
  ids_[In::kX] = 0;
  ids_[In::kWeights] = 1;
  if (has_zero_point) ids_[In::kWeightsZeroPoint] = 2;
  call_.tensors = tensors_;
  call_.input_ids = {ids_, 8};
  call_.output_ids = {&output_, 1};
  call_.attributes = &attributes_;
}

void DynamicMatMulPackingKey(const OpCall& call, PackingKey* key) {
  for (int i = DynamicMatMulInput::kWeights; i <= DynamicMatMulInput::kWeightsZeroPoint; ++i) {
    if (i == DynamicMatMulInput::kBias) continue;
    key->Add(call.HasInput(i) ? 1 : 0);
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
}

size_t DynamicMatMulPackedBytes(const OpCall& call) {
  const InnerProduct product(call);
  const TensorView& y = call.Output();
  const auto row = RoundUp<int64_t>(int64_t{y.dims[y.rank - 1]} * 4, kLineBytes);
  return MatMulPackedBytes(product.call()) + static_cast<size_t>(2 * row + kHeaderBytes);
}

size_t DynamicMatMulWorkspace(const OpCall& call, int /*threads*/) {
  return static_cast<size_t>(call.Input(DynamicMatMulInput::kX).Elements() + kLineBytes);
}

void ConvPackingKey(const OpCall& call, PackingKey* key) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  key->Add(attributes.conv.group);
  key->Add(attributes.conv.dilations[1] == 1 ? 1 : 0);
  key->Add(call.Input(In::kX).dims[1]);
  key->Add(IsDirect(call) ? 1 : 0);
  AddConstants(call, attributes.output, key);
}

void MatMulPackingKey(const OpCall& call, PackingKey* key) {
  const auto& attributes = call.AttributesAs<QuantizedMatMulAttributes>();
  key->Add(attributes.matmul.transpose_b);
  AddConstants(call, attributes.output, key);
}

size_t ConvPackedBytes(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(In::kWeights);
  const int64_t columns = ColumnsOfTap(call);
  return PackedBytes(call, attributes.group, w.dims[0] / attributes.group, columns * w.dims[1],
                     ConvTaps(call) / columns, call.Input(In::kX).dims[1], WeightPasses(call, 0));
}

size_t MatMulPackedBytes(const OpCall& call) {
  const TensorView& a = call.Input(In::kX);
  const TensorView& y = call.Output();
  return PackedBytes(call, 1, y.dims[y.rank - 1], a.dims[a.rank - 1], 1, 1,
                     WeightPasses(call, MatMulOutputAxis(call)));
}

size_t PackingMatMulPackedBytes(const OpCall& call) {
  const TensorView& y = call.Output();
  return PackedBytes(call, 1, y.dims[y.rank - 1], /*depth=*/0, 1, 1, MostWeightPasses(call));
}

PackingWorkspace PackingWorkspaceOf(const OpCall& call) {
  const TensorView& a = call.Input(In::kX);
  const TensorView& y = call.Output();
  const int64_t outputs = y.dims[y.rank - 1];
  const int64_t depth = a.dims[a.rank - 1];
  const auto width = RoundUp<int64_t>(outputs, kWidthStep);
  PackingWorkspace workspace;
  workspace.batches = y.Elements() / (int64_t{y.dims[y.rank - 2]} * outputs);
  workspace.bias_offset =
      RoundUp<int64_t>(CeilDiv<int64_t>(outputs, kMostWidth) * kGroupBytes, kLineBytes);
  workspace.weights_offset = workspace.bias_offset + RoundUp<int64_t>(width * 4, kLineBytes);
  workspace.stride =
      workspace.weights_offset +
      RoundUp<int64_t>(width * RoundUp<int64_t>(depth, kDepthStep) * MostWeightPasses(call),
                       kLineBytes);
  return workspace;
}

size_t PackingMatMulWorkspace(const OpCall& call, int /*threads*/) {
  const PackingWorkspace workspace = PackingWorkspaceOf(call);
  // It begins at the first cache line.
  return static_cast<size_t>(workspace.batches * workspace.stride + kLineBytes);
}

}  // namespace tenon::cpu::q8
