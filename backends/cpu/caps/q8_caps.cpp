#include "backends/cpu/caps/q8_caps.hpp"

#include "runtime/base/round_up.hpp"
#include "runtime/ops/attributes.hpp"

namespace tenon::cpu::q8 {
namespace {

constexpr int64_t kLine = 64;
constexpr int64_t kHeaderBytes = 128;
constexpr int64_t kBlock = 16;

constexpr bool IsByte(DType dtype) { return dtype == DType::kI8 || dtype == DType::kU8; }

constexpr bool IsWord(DType dtype) { return dtype == DType::kI16 || dtype == DType::kU16; }

const char* OneScaleReason(const OpCall& call) {
  return call.Input(QuantizeInput::kScale).dims[0] == 1
             ? nullptr
             : "the fast kernel takes one scale for all elements";
}

/// Inputs 1 to 6 of a quantized GEMM that are there are constant.
bool HasConstants(const OpCall& call) {
  for (int i = 1; i < 7; ++i) {
    if (call.HasInput(i) && call.Input(i).data == nullptr) return false;
  }
  return true;
}

}  // namespace

bool IsDepthwise3x3(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(ConvInput::kWeights);
  return w.dims[2] == 3 && w.dims[3] == 3 && attributes.strides[0] == attributes.strides[1] &&
         attributes.strides[0] <= 2 && attributes.dilations[0] == 1 && attributes.dilations[1] == 1;
}

bool PairsRows(const OpCall& call) {
  const auto& attributes = call.AttributesAs<ConvAttributes>();
  const TensorView& w = call.Input(ConvInput::kWeights);
  const int columns = w.dims[3];
  return (columns == 3 || columns == 5 || columns == 7) && w.dims[2] > 1 &&
         attributes.strides[1] <= 2 && attributes.dilations[1] == 1;
}

const char* DepthwiseSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedConvAttributes>();
  const TensorView& w = call.Input(ConvInput::kWeights);
  if (w.dims[1] != 1 || w.dims[0] != attributes.conv.group) return "not depthwise";
  if (!HasConstants(call)) return "weights and parameters must be constant";
  if (attributes.output.to != static_cast<int32_t>(DType::kI8) &&
      attributes.output.to != static_cast<int32_t>(DType::kU8)) {
    return "the fast depthwise convolution gives i8 or u8";
  }
  if (int64_t{w.dims[2]} * w.dims[3] > kMostDepthwiseTaps) {
    return "more taps than the fast depthwise convolution keeps pointers to";
  }
  return nullptr;
}

void DepthwisePackingKey(const OpCall& call, PackingKey* key) {
  key->Add(static_cast<int32_t>(call.Input(0).dtype));
  key->Add(IsDepthwise3x3(call) ? 1 : 0);
  key->Add(PairsRows(call) ? 1 : 0);
  for (int i = 1; i < 6; ++i) {
    key->Add(call.HasInput(i) ? 1 : 0);
    if (call.HasInput(i)) key->AddTensor(call.Input(i));
  }
}

size_t DepthwisePackedBytes(const OpCall& call) {
  const TensorView& w = call.Input(ConvInput::kWeights);
  const int64_t channels = RoundUp<int64_t>(w.dims[0], kBlock);
  const int64_t rows = PairsRows(call) ? RoundUp<int64_t>(w.dims[2], 2) : w.dims[2];
  const int64_t taps = rows * w.dims[3];
  // Weights of at most 16 bits, taps in pairs; bias, multiplier and its shifts; the padding.
  return static_cast<size_t>(kHeaderBytes + RoundUp<int64_t>(channels * 2 * (taps + 1), kLine) +
                             6 * RoundUp<int64_t>(channels * 4, kLine) +
                             RoundUp<int64_t>(channels, kLine));
}

const char* LookupSupports(const OpCall& call) {
  return IsByte(call.Input(LookupInput::kTable).dtype)
             ? nullptr
             : "the fast lookup takes tables of i8 and u8";
}

const char* BinarySupports(const OpCall& call) {
  const bool bytes = IsByte(call.Input(BinaryInput::kX).dtype) &&
                     IsByte(call.Input(BinaryInput::kY).dtype) && IsByte(call.Output().dtype);
  if (!bytes) return "the fast kernel computes with i8 and u8";
  switch (call.AttributesAs<QuantizedBinaryAttributes>().function) {
    case BinaryFunction::kAdd:
    case BinaryFunction::kSub:
    case BinaryFunction::kMul:
      return nullptr;
    default:
      return "the fast kernel adds, subtracts and multiplies only";
  }
}

const char* QuantizeSupports(const OpCall& call) {
  if (!IsByte(call.Output().dtype)) return "the fast kernel gives i8 and u8";
  return OneScaleReason(call);
}

const char* DequantizeSupports(const OpCall& call) {
  if (!IsByte(call.Input(0).dtype)) return "the fast kernel takes i8 and u8";
  return OneScaleReason(call);
}

const char* QuantizeWordsSupports(const OpCall& call) {
  if (!IsWord(call.Output().dtype)) return "the fast kernel of words gives i16 and u16";
  return OneScaleReason(call);
}

const char* DequantizeWordsSupports(const OpCall& call) {
  if (!IsWord(call.Input(0).dtype)) return "the fast kernel of words takes i16 and u16";
  return OneScaleReason(call);
}

const char* LayerNormSupports(const OpCall& call) {
  return IsByte(call.Input(0).dtype) ? nullptr : "not of i8 or u8";
}

const char* SoftmaxSupports(const OpCall& call) {
  const auto& attributes = call.AttributesAs<QuantizedSoftmaxAttributes>();
  if (!IsByte(call.Input(0).dtype)) return "not of i8 or u8";
  if (call.Input(0).Elements() == 0) return "the fast kernel is not used for empty tensors";
  return attributes.softmax.axis == call.Input(0).rank - 1
             ? nullptr
             : "the fast kernel takes rows along the last axis";
}

const char* MaxPoolSupports(const OpCall& call) {
  return IsByte(call.Input(0).dtype) ? nullptr : "not of i8 or u8";
}

const char* AveragePoolSupports(const OpCall& call) {
  const bool sums =
      call.HasInput(QuantizedAveragePoolInput::kSums) || DTypeBytes(call.Output().dtype) != 1;
  return sums ? "sums of parts are for the portable kernel" : nullptr;
}

const char* ImageSumSupports(const OpCall& call) {
  constexpr int32_t kRowsAndColumns = (1 << 2) | (1 << 3);
  const bool images =
      call.Input(0).rank == 4 && call.AttributesAs<ReduceAttributes>().axes_mask == kRowsAndColumns;
  return images ? nullptr : "the fast kernel sums over the rows and columns of images";
}

}  // namespace tenon::cpu::q8
