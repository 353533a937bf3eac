#include "runtime/ops/kernel_refusals.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon {
namespace {

bool TakesDType(const OpCall& call, int input, const F32Operands& takes) {
  const TensorView& operand = call.Input(input);
  if (operand.dtype == DType::kF32) return true;
  if (input == GemmInput::kX) return takes.byte_input && operand.dtype == DType::kU8;
  return takes.stored_weights && input == GemmInput::kWeights && operand.data != nullptr &&
         (operand.dtype == DType::kF16 || operand.dtype == DType::kI8);
}

}  // namespace

const char* F32Refusal(const OpCall& call, const F32Operands& takes) {
  for (int i = 0; i < call.InputCount(); ++i) {
    if (!call.HasInput(i)) continue;
    if (!TakesDType(call, i, takes)) return takes.not_f32;
    if (call.Input(i).Elements() == 0) return takes.empty;
    const bool is_constant = ((takes.constants >> i) & 1) != 0;
    if (is_constant && call.Input(i).data == nullptr) return takes.not_constant;
  }
  if (call.Output().dtype != DType::kF32) return takes.not_f32;
  return call.Output().Elements() == 0 ? takes.empty : nullptr;
}

int64_t ConvTaps(const OpCall& conv) {
  return int64_t{conv.Input(GemmInput::kWeights).dims[2]} * conv.Input(GemmInput::kWeights).dims[3];
}

bool IsPointwiseConv(const OpCall& conv) {
  for (const int32_t pad : conv.AttributesAs<ConvAttributes>().pads) {
    if (pad != 0) return false;
  }
  return conv.Input(GemmInput::kWeights).dims[2] == 1 &&
         conv.Input(GemmInput::kWeights).dims[3] == 1;
}

int32_t ChannelMultiplier(const OpCall& conv) {
  const int32_t group = conv.AttributesAs<ConvAttributes>().group;
  const TensorView& w = conv.Input(GemmInput::kWeights);
  return group > 1 && w.dims[1] == 1 ? w.dims[0] / group : 0;
}

bool IsDepthwiseConv(const OpCall& conv) { return ChannelMultiplier(conv) == 1; }

const char* WinogradRefusal(const OpCall& conv, bool grouped) {
  const auto& attributes = conv.AttributesAs<ConvAttributes>();
  const TensorView& w = conv.Input(GemmInput::kWeights);
  const bool is_3x3 = w.dims[2] == 3 && w.dims[3] == 3;
  for (int i = 0; i < 2; ++i) {
    if (!is_3x3 || attributes.strides[i] != 1 || attributes.dilations[i] != 1) {
      return "Winograd's way is for 3x3 with stride 1";
    }
  }
  if (attributes.group != 1 && !grouped) return "Winograd's way is for one group";
  if (w.dims[0] / attributes.group < 8 || w.dims[1] < 8)
    return "too few channels to pay for Winograd's transforms";
  // It gains 3 to 4 times where its tiles of 4x4 outputs are full. A single row, the thinnest part
  // of a split image, fills a quarter of them.
  const TensorView& y = conv.Output();
  const int64_t computed =
      int64_t{RoundUp(y.dims[2], kWinogradOutputs)} * RoundUp(y.dims[3], kWinogradOutputs);
  if (computed > 3 * int64_t{y.dims[2]} * y.dims[3]) {
    return "so few rows or columns that Winograd's tiles would be mostly empty";
  }
  return nullptr;
}

bool HasOneMatrix(const OpCall& matmul) {
  const TensorView& b = matmul.Input(GemmInput::kWeights);
  for (int i = 0; i + 2 < b.rank; ++i) {
    if (b.dims[i] != 1) return false;
  }
  return b.rank <= matmul.Input(GemmInput::kX).rank;
}

bool HasBiasAlongLast(const OpCall& matmul) {
  if (!matmul.HasInput(GemmInput::kBias)) return true;
  const TensorView& bias = matmul.Input(GemmInput::kBias);
  const TensorView& y = matmul.Output();
  for (int i = 0; i + 1 < bias.rank; ++i) {
    if (bias.dims[i] != 1) return false;
  }
  return bias.rank > 0 && bias.dims[bias.rank - 1] == y.dims[y.rank - 1];
}

}  // namespace tenon
